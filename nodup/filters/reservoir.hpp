// SPDX-License-Identifier: Apache-2.0
//
// reservoir (RSBF, reservoir sampling based Bloom filter), as the paper's text describes it: of the first s records (s
// = the length of an array) all new keys are inserted and nothing is reset. Of the later ones, record number i is
// inserted with the chance s / i if it is judged new, as in reservoir sampling; once that chance has come down to p* =
// 0.03, always. Each insertion resets one random bit in each array first. filters/sampled.hpp has all the rest.
//
// The tables printed in the paper are those of another algorithm, which inserts duplicates too and resets from the
// first record on; it is in experiments/p1.
//
// Errors: as `biased` in the long run. Between s and 33 s records most new keys pass without being remembered: a
// duplicate of such a key PASSES even if it comes at once.
//
// Cost: a cache line per array, and another per array for a new key that is inserted.
#pragma once

#include "nodup/filters/sampled.hpp"

namespace nodup {

struct ReservoirRule {
  static constexpr std::string_view kName = "reservoir";
  static constexpr std::string_view kSummary = "fixed memory: new keys are sampled like a reservoir (RSBF)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate may pass (false negative), even of the last event";
  static constexpr theory::Resetting kResetting = theory::Resetting::reservoir;

  // While s / i is above p* = 3 / 100 (theory::kReservoirFloor).
  static bool samples(std::uint64_t length, std::uint64_t record) noexcept { return 3 * record < 100 * length; }

  static std::uint64_t draws(std::uint64_t arrays) { return arrays + 1; }
  static double resets(std::uint64_t arrays) { return static_cast<double>(arrays); }
  static bool make_room(SampledArrays& arrays, std::uint64_t record, bool is_new) noexcept {
    if (!is_new || record <= arrays.length()) return is_new;
    const bool chosen = arrays.chance(arrays.length(), record) || !samples(arrays.length(), record);
    if (chosen)
      for (std::uint64_t i = 0; i < arrays.count(); ++i) arrays.reset(arrays.draw_place(i));
    else
      arrays.skip_draws(arrays.count());
    return chosen;
  }
};

using Reservoir = Sampled<ReservoirRule>;

static_assert(Forgetting<Reservoir>);

}  // namespace nodup
