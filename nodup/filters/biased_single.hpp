// SPDX-License-Identifier: Apache-2.0
//
// biased_single (BSBFSD, biased sampling with single deletion): every key that is judged new resets one random bit of
// one random array, which may be 0 already, and then sets its own. Duplicates change nothing. filters/sampled.hpp has
// all the rest.
//
// Errors: a key that is judged new sets at least one bit and resets at most one, so the load never stops rising:
// slowly, but on an endless stream nearly every new event is LOST in the end. Few duplicates pass. For streams whose
// length is known; there is no load at which it stays.
//
// Cost: a cache line per array, and one more for a new key.
#pragma once

#include "nodup/filters/sampled.hpp"

namespace nodup {

struct BiasedSingleRule {
  static constexpr std::string_view kName = "biased_single";
  static constexpr std::string_view kSummary = "fixed memory: a new key resets one random bit in all (BSBFSD)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive), more and more of them; an old duplicate may pass (false negative)";
  static constexpr theory::Resetting kResetting = theory::Resetting::one_array;

  static std::uint64_t draws(std::uint64_t) { return 1; }
  static double resets(std::uint64_t) { return 1; }
  static bool make_room(SampledArrays& arrays, std::uint64_t, bool is_new) noexcept {
    if (is_new) arrays.reset(arrays.draw_place());
    return is_new;
  }
};

using BiasedSingle = Sampled<BiasedSingleRule>;

static_assert(Forgetting<BiasedSingle>);

}  // namespace nodup
