// SPDX-License-Identifier: Apache-2.0
#include "experiments/p3/p3.hpp"
namespace nodup::lab {
void figures(const Experiment&) {}
}  // namespace nodup::lab
