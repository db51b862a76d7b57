// SPDX-License-Identifier: Apache-2.0
#include "experiments/p3/p3.hpp"

void nodup::lab::run(const Experiment& lab) {
  tables(lab);
  figures(lab);
  accesses(lab);
  blocks(lab);
}
