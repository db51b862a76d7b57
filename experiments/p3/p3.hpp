// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "experiments/experiment.hpp"

namespace nodup::lab {

struct Shape {
  std::uint64_t k, l;
  std::string name() const { return fmt::format("({},{})", k, l); }
};

void tables(const Experiment& lab);    // computed: Tables 1 to 4
void figures(const Experiment& lab);   // simulated: the rates of Table 2, figures 4, 6, 7, 8
void accesses(const Experiment& lab);  // simulated: the accesses of Table 2
void blocks(const Experiment& lab);    // simulated: Table 3

}  // namespace nodup::lab
