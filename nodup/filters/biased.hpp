// SPDX-License-Identifier: Apache-2.0
//
// biased (BSBF, biased sampling based Bloom filter): every key that is judged new resets one random bit in each array,
// which may be 0 already, and then sets its own. Duplicates change nothing. filters/sampled.hpp has all the rest.
//
// Errors: the arrays fill up to the load p at which a new key sets as many bits as it resets, 1 - p = p (1 - p^k): 0.62
// for two arrays, 0.54 for three, towards 1/2. So on an endless stream of new keys p^k of them are lost, 0.38 for two
// arrays, about 2^-k for many; and what it remembers is mostly the last length / k keys.
//
// Cost: a cache line per array, and another per array for a new key.
#pragma once

#include "nodup/filters/sampled.hpp"

namespace nodup {

struct BiasedRule {
  static constexpr std::string_view kName = "biased";
  static constexpr std::string_view kSummary = "fixed memory: a new key resets one random bit in each array (BSBF)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); an old duplicate may pass (false negative)";
  static constexpr theory::Resetting kResetting = theory::Resetting::each_array;

  static std::uint64_t draws(std::uint64_t arrays) { return arrays; }
  static double resets(std::uint64_t arrays) { return static_cast<double>(arrays); }
  static bool make_room(SampledArrays& arrays, std::uint64_t, bool is_new) noexcept {
    if (is_new)
      for (std::uint64_t i = 0; i < arrays.count(); ++i) arrays.reset(arrays.draw_place(i));
    return is_new;
  }
};

using Biased = Sampled<BiasedRule>;

static_assert(Forgetting<Biased>);

}  // namespace nodup
