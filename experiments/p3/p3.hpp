// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "experiments/experiment.hpp"

namespace nodup::lab {

struct Shape {
  std::uint64_t k, l;
  std::string name() const { return fmt::format("({},{})", k, l); }
};

void tables(const Experiment& lab);   // computed: Tables 1 to 4
void figures(const Experiment& lab);  // simulated: figures 4, 6, 7, 8 and the rates of Tables 2 and 3

}  // namespace nodup::lab
