// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <numbers>

namespace nodup::theory {

// A filter that grows by stages promises a TOTAL error: stage i (from 1) gets total * (6/pi^2) / i^2, and these sum to
// the total however many stages there are. The tenth stage is 160 times tighter than the total; by halving it would be
// 1000 times, 3.8 bits per key more.
inline double stage_error(double total, std::uint64_t i) {
  const double n = static_cast<double>(i);
  return total * 6 / (std::numbers::pi * std::numbers::pi) / (n * n);
}

// Each stage holds four times the keys of the one before: seven stages reach four thousand times the first guess, so a
// query asks few filters; and the newest stage, three quarters of everything, is rarely much too large.
inline constexpr std::uint64_t kStageGrowth = 4;

inline std::uint64_t stage_keys(std::uint64_t first, std::uint64_t i) {
  std::uint64_t keys = first;
  for (std::uint64_t stage = 1; stage < i; ++stage) {
    if (keys > std::numeric_limits<std::uint64_t>::max() / kStageGrowth / 2) return keys;
    keys *= kStageGrowth;
  }
  return keys;
}

}  // namespace nodup::theory
