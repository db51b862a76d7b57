// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// Zeroed counters of four bits, two to a byte, the even one in the low half. A counter that has reached kMost is
// saturated and stays there: what it stands for is no longer known. One thread at a time.
class CounterArray {
 public:
  static constexpr std::uint64_t kBitsPerCounter = 4;
  static constexpr unsigned kMost = 15;

  explicit CounterArray(std::uint64_t counters) : pages_(bytes_for(counters)) {}

  // Whole words.
  static constexpr std::uint64_t bytes_for(std::uint64_t counters) { return (counters + 15) / 16 * 8; }

  std::uint64_t bytes() const { return pages_.bytes(); }

  unsigned get(std::uint64_t i) const noexcept { return byte(i) >> shift(i) & kMost; }
  // Both return the value before.
  unsigned increment(std::uint64_t i) noexcept {
    const unsigned old = get(i);
    byte(i) = static_cast<unsigned char>(byte(i) + (static_cast<unsigned>(old < kMost) << shift(i)));
    return old;
  }
  unsigned decrement(std::uint64_t i) noexcept {
    const unsigned old = get(i);
    byte(i) = static_cast<unsigned char>(byte(i) - (static_cast<unsigned>(old > 0 && old < kMost) << shift(i)));
    return old;
  }
  void prefetch(std::uint64_t i) const noexcept { nodup::prefetch(pages_.as<unsigned char>() + i / 2); }

  // Counter by counter; sums from kMost on are saturated. Both have the same size.
  void add(const CounterArray& other) noexcept {
    for (std::uint64_t i = 0; i < words(); ++i) {
      const std::uint64_t a = word(i), b = other.word(i);
      // The two halves of each byte apart, so that no sum runs into its neighbour.
      word(i) = saturating_sum(a & kLow, b & kLow) | saturating_sum(a >> 4 & kLow, b >> 4 & kLow) << 4;
    }
  }

  std::uint64_t count_above_zero() const noexcept {
    return count([&](std::uint64_t i) { return units_above_zero(word(i)); });
  }
  // As if `other`, of the same size, were added.
  std::uint64_t count_above_zero(const CounterArray& other) const noexcept {
    return count([&](std::uint64_t i) { return units_above_zero(word(i) | other.word(i)); });
  }
  std::uint64_t count_saturated() const noexcept {
    return count([&](std::uint64_t i) {
      const std::uint64_t w = word(i);
      return w & w >> 1 & w >> 2 & w >> 3 & kUnits;
    });
  }

  // A bit for every counter, set where it is above zero.
  std::vector<std::uint64_t> above_zero() const {
    std::vector<std::uint64_t> bits((words() + 3) / 4);
    for (std::uint64_t i = 0; i < words(); ++i) {
      // The lowest bits of the counters, every fourth bit, move together in four steps.
      std::uint64_t w = units_above_zero(word(i));
      w = (w | w >> 3) & 0x0303030303030303u;
      w = (w | w >> 6) & 0x000F000F000F000Fu;
      w = (w | w >> 12) & 0x000000FF000000FFu;
      w = (w | w >> 24) & 0xFFFFu;
      bits[i / 4] |= w << (i % 4 * 16);
    }
    return bits;
  }

  // As they lie in memory.
  std::span<std::byte> span() noexcept { return pages_.span(); }
  std::span<const std::byte> span() const noexcept { return pages_.span(); }
  bool zero_from(std::uint64_t first) const noexcept {
    for (std::uint64_t i = first; i < words() * 16; ++i)
      if (get(i) != 0) return false;
    return true;
  }

 private:
  static constexpr std::uint64_t kUnits = 0x1111111111111111u;  // the lowest bit of every counter
  static constexpr std::uint64_t kLow = 0x0F0F0F0F0F0F0F0Fu;    // the low half of every byte

  // Of counters in the low halves of bytes.
  static std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t sum = a + b;
    const std::uint64_t over = sum >> 4 & (kLow & kUnits);  // 1 in every byte whose sum is above 15
    return (sum & kLow) | over * kMost;
  }
  static std::uint64_t units_above_zero(std::uint64_t w) noexcept { return (w | w >> 1 | w >> 2 | w >> 3) & kUnits; }
  // Adds up the ones that `select` leaves of each word's place.
  template <class Select>
  std::uint64_t count(Select&& select) const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < words(); ++i) sum += static_cast<std::uint64_t>(std::popcount(select(i)));
    return sum;
  }

  static unsigned shift(std::uint64_t i) noexcept { return i % 2 * 4; }
  std::uint64_t words() const noexcept { return pages_.bytes() / 8; }
  unsigned char& byte(std::uint64_t i) noexcept { return pages_.as<unsigned char>()[i / 2]; }
  unsigned char byte(std::uint64_t i) const noexcept { return pages_.as<unsigned char>()[i / 2]; }
  std::uint64_t& word(std::uint64_t i) noexcept { return pages_.as<std::uint64_t>()[i]; }
  std::uint64_t word(std::uint64_t i) const noexcept { return pages_.as<std::uint64_t>()[i]; }

  Pages pages_;
};

}  // namespace nodup
