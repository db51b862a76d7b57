// SPDX-License-Identifier: Apache-2.0
//
// What every fit() asks of its goal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup {

inline void check_goal(const Goal& goal) {
  if (!(goal.error > 0 && goal.error < 1))
    throw Error(
        fmt::format("an error of {:g} cannot be planned for: it is a probability above 0 and below 1", goal.error));
}

// How many units of memory a fit may take: all the goal allows, at least one; without a limit more than any machine has
// but few enough for their bytes and bits to be counted in 64 bits.
inline std::uint64_t most_units(const Goal& goal, std::uint64_t unit_bytes) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
  return std::max<std::uint64_t>((goal.bytes == 0 ? kMostBytes : std::min(goal.bytes, kMostBytes)) / unit_bytes, 1);
}

// Of kinds that forget. Told neither how much memory to take nor how many duplicates may pass, their fits take what is
// needed for this share of them to pass, at most, when goal.keys have passed.
inline constexpr double kMostPassing = 0.1;
// A goal without keys means an endless stream: more keys per bit of memory than any rate still depends on.
inline constexpr double kEndlessKeysPerBit = 1000;

// The greatest x in [1e-12, 16] for which good(x) holds, where good is true up to some x; 0 if it holds nowhere.
template <class Good>
double greatest_ratio(Good&& good) {
  double low = 1e-12, high = 16;
  if (!good(low)) return 0;
  while (high > low * 1.000001) {
    const double middle = std::sqrt(low * high);
    (good(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace nodup
