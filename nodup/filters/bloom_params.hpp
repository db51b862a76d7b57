// SPDX-License-Identifier: Apache-2.0
//
// What the filters that set `probes` single bits per key have in common: their parameters, how these follow
// from a goal, and how they and the bits are saved. Where counters stand for bits, `bits` is their number.
#pragma once

#include <cstdint>
#include <string_view>

#include "nodup/bits/bit_array.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/bloom.hpp"

namespace nodup {

struct BloomParams {
  std::uint64_t bits = 0;
  std::uint64_t probes = 0;  // bits per key
  std::uint64_t keys = 0;    // it is meant to hold

  // Beyond 32 probes memory shrinks by nothing worth the cache misses: 32 is the best number at an error of
  // 2e-10.
  static constexpr std::uint64_t kMostProbes = 32;
  // 512 TiB. Every count up to it is exact in a double, so the formulas need no second thought. A goal beyond
  // it is fitted as if it set this limit.
  static constexpr std::uint64_t kMostBits = std::uint64_t{1} << 52;
  // Fits take no fewer unless a ceiling on memory tells them to: below, the formulas lie low by more than 4%.
  static constexpr std::uint64_t kFewestFittedBits = 4096;

  friend bool operator==(const BloomParams&, const BloomParams&) = default;

  // The least memory that reaches goal.error; all of goal.bytes, in whole cache lines, where that is less. A cell,
  // which stands for a bit, takes `cell_bits` of memory.
  static BloomParams fit(const Goal& goal, theory::Placing placing, std::uint64_t cell_bits = 1);

  // Throws Error naming the parameter that is out of range.
  const BloomParams& checked() const;
  // Throws Error naming the first difference.
  void require_same(const BloomParams& other, std::string_view kind) const;

  std::uint64_t bytes() const { return (bits + 63) / 64 * 8; }
  Rates rates(theory::Placing placing, std::uint64_t keys_held) const;
  Facts facts() const;

  // bits u64 | probes u64 | keys u64
  void save(Writer& out) const;
  static BloomParams load(Reader& in);
};

// Words as they lie in memory, little-endian; the bits from `used` on are zero, and bits are set where keys
// are held. Loading asks whether the bytes are there before it takes memory.
void save_bits(Writer& out, const BitArray& bits);
BitArray load_bits(Reader& in, std::uint64_t bits, std::uint64_t used, std::uint64_t keys);

// How many keys a merged filter holds, judged by its bits: at least as many as the larger part, at most the
// sum.
std::uint64_t merged_keys(double estimate, std::uint64_t a, std::uint64_t b);

}  // namespace nodup
