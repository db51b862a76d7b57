// SPDX-License-Identifier: Apache-2.0
//
// What the paper's tables need and the library has no use for: RSBF as it was really run, and the settings and the slip
// of its SBF.
#pragma once

#include <span>

#include "nodup/bits/bit_array.hpp"
#include "nodup/filters/reservoir.hpp"
#include "nodup/filters/stable.hpp"

namespace nodup::lab {

// The RSBF that gives the printed tables. It differs from the text (the library's `reservoir`) in two ways: a record is
// inserted whatever its judgement, also a duplicate; and insertions reset bits from the first record on. (The p* of the
// text is out of reach here: the chance s / i of record number i, s the length of an array, never falls below 0.26.)
struct PublishedReservoirRule : ReservoirRule {
  static constexpr std::string_view kName = "published_reservoir";

  static bool make_room(SampledArrays& arrays, std::uint64_t record, bool) noexcept {
    const bool chosen = arrays.chance(arrays.length(), record);
    if (chosen)
      for (std::uint64_t i = 0; i < arrays.count(); ++i) arrays.reset(arrays.draw_place(i));
    else
      arrays.skip_draws(arrays.count());
    return chosen;
  }
};
using PublishedReservoir = Sampled<PublishedReservoirRule>;

// SBF with the paper's settings: cells of one bit, K = 2, P = 4 (their formula gives 4.32 for a rate of 0.1).
inline StableParams paper_stable(std::uint64_t bits) {
  return {.cells = bits, .cell_bits = 1, .probes = 2, .resets = 4};
}

// The same, but cells to reset come from the lower half only: what random numbers of 31 bits reach of 2^32 cells.
class StableOf31Bits {
 public:
  explicit StableOf31Bits(std::uint64_t bits) : bits_(bits) {}

  bool insert(Digest d) noexcept {
    const bool seen = bits_.test(position(d, 0, bits_.size())) && bits_.test(position(d, 1, bits_.size()));
    for (int i = 0; i < 4; ++i) {
      bits_.prefetch(fastrange(draws_.peek(64), bits_.size() / 2));
      bits_.reset(fastrange(draws_.next(), bits_.size() / 2));
    }
    for (const std::uint64_t i : {0, 1}) bits_.set(position(d, i, bits_.size()));
    return !seen;
  }
  void prefetch(Digest d) const noexcept {
    for (const std::uint64_t i : {0, 1}) bits_.prefetch(position(d, i, bits_.size()));
  }
  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
    visit_prefetched(
        keys.size(), [&](std::size_t i) { prefetch(keys[i]); }, [&](std::size_t i) { is_new[i] = insert(keys[i]); });
  }

 private:
  BitArray bits_;
  Draws draws_;
};

}  // namespace nodup::lab
