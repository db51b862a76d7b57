// SPDX-License-Identifier: Apache-2.0
//
// load_balanced (RLBSBF, randomised load balanced biased sampling): every key that is judged new picks a random place
// in each array and resets it with the chance load / length of that array, and then sets its own bits. So an array that
// is nearly empty forgets nearly nothing. Duplicates change nothing. filters/sampled.hpp has all the rest.
//
// Errors: the arrays fill up to the load p of 1 - p = p^2 (1 - p^k): 0.75 for two arrays, 0.68 for three, towards 0.62.
// So more new events are LOST than with `biased` (0.57 for two arrays on an endless stream), and fewer duplicates pass.
//
// Cost: a cache line per array, and for a new key another in as many arrays as are reset.
#pragma once

#include "nodup/filters/sampled.hpp"

namespace nodup {

struct LoadBalancedRule {
  static constexpr std::string_view kName = "load_balanced";
  static constexpr std::string_view kSummary =
      "fixed memory: a new key resets a random bit in each array, the fuller the likelier (RLBSBF)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); an old duplicate may pass (false negative)";
  static constexpr theory::Resetting kResetting = theory::Resetting::by_load;

  static std::uint64_t draws(std::uint64_t arrays) { return arrays; }
  static double resets(std::uint64_t arrays) { return static_cast<double>(arrays); }
  static bool make_room(SampledArrays& arrays, std::uint64_t, bool is_new) noexcept {
    if (is_new)
      for (std::uint64_t i = 0; i < arrays.count(); ++i) arrays.reset_by_load(i);
    return is_new;
  }
};

using LoadBalanced = Sampled<LoadBalancedRule>;

static_assert(Forgetting<LoadBalanced>);

}  // namespace nodup
