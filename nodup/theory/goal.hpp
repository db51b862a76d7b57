// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nodup {

// What a user wants of a filter. `bytes` = 0 sets no limit; otherwise a fit never takes more, and gives the
// lowest error those bytes allow when `error` is out of reach.
struct Goal {
  std::uint64_t keys = 0;   // distinct keys to hold
  double error = 1e-6;      // chance that a new key is judged a duplicate once `keys` are held
  std::uint64_t bytes = 0;  // ceiling on memory
};

// How often a filter is wrong, for one event at one moment.
struct Rates {
  double false_positive = 0;  // a new event judged a duplicate: the event is LOST
  double false_negative = 0;  // a duplicate judged new: the duplicate PASSES
};

}  // namespace nodup
