// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// `cells` zeroed numbers of `width` bits each (1 to 57), packed without gaps: counters, timers, ages. One
// thread at a time.
//
// A cell of a width that divides 64 is read and written through its aligned word, so that it never touches a second
// cache line. Others through the eight bytes that begin at their first byte; a cell begins at most 7 bits into its
// byte, so 57 bits is the widest that always fits. Eight spare bytes at the end keep the last access inside.
class CellArray {
 public:
  static constexpr unsigned kWidest = 57;
  static constexpr std::uint64_t kSpareBytes = 8;

  CellArray() = default;
  CellArray(std::uint64_t cells, unsigned width, PagePolicy policy = PagePolicy::huge)
      : pages_(packed_bytes(cells, width) + kSpareBytes, policy),
        cells_(cells),
        width_(width),
        within_(64 % width == 0 ? 63 : 7) {}

  static constexpr std::uint64_t packed_bytes(std::uint64_t cells, unsigned width) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(cells) * width + 7) / 8);
  }

  std::uint64_t size() const { return cells_; }
  unsigned width() const { return width_; }
  std::uint64_t bytes() const { return pages_.bytes(); }
  std::uint64_t max_value() const { return (std::uint64_t{1} << width_) - 1; }

  std::uint64_t get(std::uint64_t i) const noexcept { return (load(byte_of(i)) >> shift_of(i)) & max_value(); }
  // Bits of `value` above the width are ignored.
  void set(std::uint64_t i, std::uint64_t value) noexcept {
    const std::uint64_t shift = shift_of(i);
    const std::uint64_t mask = max_value() << shift;
    std::uint64_t word = load(byte_of(i));
    word = (word & ~mask) | ((value << shift) & mask);
    __builtin_memcpy(pages_.as<unsigned char>() + byte_of(i), &word, sizeof word);
  }
  void prefetch(std::uint64_t i) const noexcept { nodup::prefetch(pages_.as<unsigned char>() + byte_of(i)); }

  // Sets to 0 those of the cells [first, first + count) that hold `value`, not 0; returns how many there were. As many
  // cells at a time as fit a word. `first` is a multiple of 64, so that words of a width that divides 64 are aligned.
  std::uint64_t clear_equal(std::uint64_t first, std::uint64_t count, std::uint64_t value) noexcept {
    const std::uint64_t per_word = (64 % width_ == 0 ? 64 : kWidest) / width_;
    std::uint64_t lowest = 0;  // the lowest bit of each cell
    for (std::uint64_t i = 0; i < per_word; ++i) lowest |= std::uint64_t{1} << (i * width_);
    const std::uint64_t highest = lowest << (width_ - 1), others = highest - lowest;
    std::uint64_t cleared = 0;
    for (std::uint64_t done = 0; done < count; done += per_word) {
      const std::uint64_t i = first + done, shift = shift_of(i);
      std::uint64_t word = load(byte_of(i));
      // Cells equal to `value` become 0. A cell that is not 0 has its highest bit, or gets it by the addition, which
      // never carries into the next.
      const std::uint64_t differ = (word >> shift) ^ (lowest * value);
      std::uint64_t equal = ~(((differ & others) + others) | differ) & highest;
      if (count - done < per_word) equal &= (std::uint64_t{1} << ((count - done) * width_)) - 1;
      if (equal == 0) continue;
      equal >>= width_ - 1;
      cleared += static_cast<std::uint64_t>(std::popcount(equal));
      word &= ~(equal * max_value() << shift);
      __builtin_memcpy(pages_.as<unsigned char>() + byte_of(i), &word, sizeof word);
    }
    return cleared;
  }
  void clear() noexcept { pages_.clear(); }

  // The cells as they lie in memory, the first in the lowest bits; without the spare bytes.
  std::span<std::byte> packed() noexcept { return pages_.span().first(packed_bytes(cells_, width_)); }
  std::span<const std::byte> packed() const noexcept { return pages_.span().first(packed_bytes(cells_, width_)); }

 private:
  std::uint64_t shift_of(std::uint64_t i) const noexcept { return i * width_ & within_; }
  std::uint64_t byte_of(std::uint64_t i) const noexcept { return (i * width_ & ~within_) / 8; }
  std::uint64_t load(std::uint64_t byte) const noexcept {
    std::uint64_t word;
    __builtin_memcpy(&word, pages_.as<unsigned char>() + byte, sizeof word);
    return word;
  }

  Pages pages_;
  std::uint64_t cells_ = 0;
  unsigned width_ = 1;
  std::uint64_t within_ = 63;  // the bits of a place that tell it within what is read at once
};

}  // namespace nodup
