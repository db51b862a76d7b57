// SPDX-License-Identifier: Apache-2.0
//
// Where the bits of a key go in 64-byte lines: the portable truth that every kernel must equal.
//
// A line is one cache line, 512 bits, in one of two shapes:
//   8 bits per key:   8 lanes of 64 bits, one bit in each, places from 48 bits of a word;
//   16 bits per key: 16 lanes of 32 bits, one bit in each, places from the two halves of a word, each multiplied by
//                    eight odd constants (the top 5 bits of the products).
// One bit in every lane lets SIMD make the whole mask at once. A key has bits in one or in two lines.
#pragma once

#include <bit>
#include <cstdint>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"

namespace nodup {

inline constexpr std::uint64_t kLineBytes = 64;
inline constexpr std::uint64_t kLineWords = 8;

struct LineShape {
  unsigned lines = 1;  // per key: 1 or 2
  unsigned bits = 8;   // per line and key: 8 or 16
};

// Odd, otherwise arbitrary. Saved filters depend on them.
inline constexpr std::uint32_t kLaneFactors[8] = {0x9E3779B1u, 0x85EBCA77u, 0xC2B2AE3Du, 0x27D4EB2Fu,
                                                  0x165667B1u, 0xD1B54A33u, 0xABC98389u, 0x8CB92BA7u};

// The line of a key: `which` is 0 or 1. The second line's place depends on all bits of lo, the first one's on the
// high bits only, so the two are independent.
[[gnu::always_inline]] inline std::uint64_t line_place(Digest d, unsigned which, std::uint64_t lines) {
  return fastrange(which == 0 ? d.lo : remix(d.lo), lines);
}

// The bits that choose the places inside a line. Rotated, so that the low 48 bits, which the 8-bit shape uses, are
// the well mixed ones.
[[gnu::always_inline]] inline std::uint64_t line_word(Digest d, unsigned which) {
  return which == 0 ? d.hi : std::rotr(remix(d.hi), 16);
}

// Lanes as the 8-bit shape sees them.
struct PortableLine8 {
  // Sets the key's bits; true if one of them was not set.
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    std::uint64_t missing = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      const std::uint64_t bit = std::uint64_t{1} << (word >> (6 * lane) & 63);
      missing |= bit & ~line[lane];
      line[lane] |= bit;
    }
    return missing != 0;
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    std::uint64_t missing = 0;
    for (unsigned lane = 0; lane < 8; ++lane) missing |= (std::uint64_t{1} << (word >> (6 * lane) & 63)) & ~line[lane];
    return missing == 0;
  }
};

// Two 32-bit lanes share a word of the line: lane 2i is its low half.
struct PortableLine16 {
  [[gnu::always_inline]] static std::uint64_t mask(std::uint64_t word, unsigned i) {
    const auto half = static_cast<std::uint32_t>(i < 4 ? word : word >> 32);
    const std::uint32_t low = (half * kLaneFactors[2 * i % 8]) >> 27;
    const std::uint32_t high = (half * kLaneFactors[(2 * i + 1) % 8]) >> 27;
    return std::uint64_t{1} << low | std::uint64_t{1} << (32 + high);
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    std::uint64_t missing = 0;
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint64_t bits = mask(word, i);
      missing |= bits & ~line[i];
      line[i] |= bits;
    }
    return missing != 0;
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    std::uint64_t missing = 0;
    for (unsigned i = 0; i < 8; ++i) missing |= mask(word, i) & ~line[i];
    return missing == 0;
  }
};

// The chance that a key never inserted finds its bits set in this line, of lanes of 64 or 32 bits.
inline double line_match(const std::uint64_t* line, unsigned lane_bits) {
  double all = 1;
  for (unsigned lane = 0; lane < 512 / lane_bits; ++lane) {
    const std::uint64_t word = line[lane * lane_bits / 64];
    const std::uint64_t bits = lane_bits == 64 ? word : static_cast<std::uint32_t>(word >> (lane % 2 * 32));
    all *= static_cast<double>(std::popcount(bits)) / lane_bits;
  }
  return all;
}

}  // namespace nodup
