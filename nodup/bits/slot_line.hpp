// SPDX-License-Identifier: Apache-2.0
//
// One 64-byte line cut into slots of equal width, packed without gaps: slot i is the bits [i * width, (i + 1) * width)
// of the 512. A slot holds a number above 0; 0 is an empty slot. Bits behind the last slot stay 0.
//
// Used as a queue, slot 0 is the newest number: pushing moves all by one slot and the oldest falls out behind the last
// one. So the line needs no pointer, and its numbers stand in the order in which they came.
//
// All slots are compared at once, as one number of 512 bits: the wanted number, repeated in every slot, is XORed with
// the line; a slot that is now 0 was equal. Adding all ones below the top bit of every slot carries into that top bit
// unless the bits below it are 0, and never out of the slot. That is the same work whatever the width.
#pragma once

#include <array>
#include <cstdint>

#include "nodup/bits/line.hpp"

namespace nodup {

class SlotLine {
 public:
  static constexpr unsigned kWidest = 56;  // a repeated number of 128 bits has 64 bits from any phase on

  static constexpr unsigned slots_of(unsigned width) { return 512 / width; }

  explicit SlotLine(unsigned width) : width_(width), slots_(slots_of(width)) {
    for (unsigned bit = 0; bit < 128; bit += width) ones_ |= static_cast<Wide>(1) << bit;
    for (unsigned bit = 0; bit < slots_ * width; ++bit) {
      const bool top = bit % width == width - 1;
      (top ? tops_ : below_)[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
    for (unsigned word = 0; word < kLineWords; ++word) phase_[word] = word * 64 % width;
  }

  unsigned width() const { return width_; }
  unsigned slots() const { return slots_; }
  std::uint64_t max_value() const { return (std::uint64_t{1} << width_) - 1; }

  std::uint64_t get(const std::uint64_t* line, unsigned slot) const noexcept {
    const unsigned bit = slot * width_, word = bit / 64, shift = bit % 64;
    std::uint64_t value = line[word] >> shift;
    if (shift + width_ > 64) value |= line[word + 1] << (64 - shift);
    return value & max_value();
  }
  void set(std::uint64_t* line, unsigned slot, std::uint64_t value) const noexcept {
    const unsigned bit = slot * width_, word = bit / 64, shift = bit % 64;
    line[word] = (line[word] & ~(max_value() << shift)) | value << shift;
    if (shift + width_ > 64) line[word + 1] = (line[word + 1] & ~(max_value() >> (64 - shift))) | value >> (64 - shift);
  }

  // Is the value, not 0, in any slot?
  [[gnu::always_inline]] bool holds(const std::uint64_t* line, std::uint64_t value) const noexcept {
    const Wide repeated = value * ones_;
    std::uint64_t equal = 0, carry = 0;
    for (unsigned word = 0; word < kLineWords; ++word) {
      const std::uint64_t differ = line[word] ^ static_cast<std::uint64_t>(repeated >> phase_[word]);
      const Wide sum = static_cast<Wide>(differ & below_[word]) + below_[word] + carry;
      carry = static_cast<std::uint64_t>(sum >> 64);
      equal |= ~(static_cast<std::uint64_t>(sum) | differ) & tops_[word];
    }
    return equal != 0;
  }
  bool full(const std::uint64_t* line) const noexcept { return get(line, slots_ - 1) != 0; }  // as a queue

  // If `really`, puts the value in front, and the oldest falls out. Without a branch: whether a key is new is what
  // nobody can foretell.
  [[gnu::always_inline]] void push_if(bool really, std::uint64_t* line, std::uint64_t value) const noexcept {
    const unsigned shift = really ? width_ : 0;
    for (unsigned word = kLineWords - 1; word > 0; --word)
      line[word] = line[word] << shift | line[word - 1] >> 1 >> (63 - shift);
    line[0] = line[0] << shift | (really ? value : 0);
    line[kLineWords - 1] &= tops_[kLineWords - 1] | below_[kLineWords - 1];  // fewer than `width` bits are left over
  }

 private:
  using Wide = unsigned __int128;

  unsigned width_, slots_;
  Wide ones_ = 0;  // the lowest bit of each slot
  std::array<std::uint64_t, kLineWords> tops_ = {}, below_ = {};
  std::array<unsigned, kLineWords> phase_ = {};  // how far into a slot each word begins
};

}  // namespace nodup
