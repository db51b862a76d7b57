// SPDX-License-Identifier: Apache-2.0
//
// A 64-byte line, or a half, a quarter or an eighth of one, cut into slots of equal width, packed without gaps: slot i
// is the bits [i * width, (i + 1) * width). A slot holds a number above 0; 0 is an empty slot. Bits behind the last
// slot stay 0.
//
// Used as a queue, slot 0 is the newest number: pushing moves all by one slot and the oldest falls out behind the last
// one. So the queue needs no pointer, and its numbers stand in the order in which they came.
//
// All slots are compared at once, as one number of up to 512 bits: the wanted number, repeated in every slot, is XORed
// with them; a slot that is now 0 was equal. Adding all ones below the top bit of every slot carries into that top bit
// unless the bits below it are 0, and never out of the slot. That is the same work whatever the width.
//
// Vectors do it slot by slot: windows() says which bytes of the queue go to which lane, and where in its lane a slot
// begins. The kernels (bits/kernels.hpp) use that.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nodup/bits/line.hpp"

namespace nodup {

class SlotLine {
 public:
  static constexpr unsigned kWidest = 56;
  static constexpr unsigned kMostSlots = 512;

  // Twice 16 bytes of the queue, and how their slots come into lanes of 4 bytes, or of 8 if wide_lanes().
  struct Window {
    alignas(32) std::array<std::uint8_t, 32> bytes = filled_with(0x80);  // byte i of the lanes is that one of the 16
    union {                                                              // the bits of a lane below its slot
      alignas(32) std::array<std::uint32_t, 8> shifts = {};
      std::array<std::uint64_t, 4> wide_shifts;
    };
    std::array<std::uint64_t, 2> offsets = {};  // of the 16 bytes
  };

  static constexpr unsigned slots_of(unsigned width, unsigned words = kLineWords) { return 64 * words / width; }

  // The widest slot that lies within four bytes wherever it begins.
  static constexpr unsigned kWidestInFourBytes = 25;

  // `words`: 1, 2, 4 or 8; any number up to 8 if only its windows are used. Wide lanes are for slots that need them,
  // and for those that are mixed with such.
  explicit SlotLine(unsigned width, unsigned words = kLineWords, bool wide_lanes = false)
      : width_(width),
        words_(words),
        slots_(slots_of(width, words)),
        max_value_((std::uint64_t{1} << width) - 1),
        wide_lanes_(wide_lanes || width > kWidestInFourBytes) {
    for (unsigned bit = 0; bit < 64 * words; ++bit) {
      const std::uint64_t mask = std::uint64_t{1} << bit % 64;
      if (bit % width == 0) begins_[bit / 64] |= mask;
      if (bit < slots_ * width) (bit % width == width - 1 ? tops_ : below_)[bit / 64] |= mask;
      if (bit < slots_ * width) used_[bit / 64] |= mask;
      if (bit >= (slots_ - 1) * width && bit < slots_ * width) last_[bit / 64] |= mask;
    }
    // A word that begins with a slot has nothing of the one before: all bits are shifted out.
    for (unsigned word = 0; word < words; ++word) before_[word] = word * 64 % width == 0 ? width : word * 64 % width;
    if (words > 1) make_windows();
  }

  [[gnu::always_inline]] unsigned width() const noexcept { return width_; }
  [[gnu::always_inline]] unsigned words() const noexcept { return words_; }
  unsigned slots() const { return slots_; }
  [[gnu::always_inline]] std::uint64_t max_value() const noexcept { return max_value_; }
  [[gnu::always_inline]] bool wide_lanes() const noexcept { return wide_lanes_; }
  // None of a queue of one word. All of the array may be looked through: those past the count match nothing.
  [[gnu::always_inline]] const Window* windows() const noexcept { return windows_.data(); }
  [[gnu::always_inline]] unsigned window_count() const noexcept { return window_count_; }
  // The bits that belong to slots: all but a few of the last word.
  [[gnu::always_inline]] const std::uint64_t* used() const noexcept { return used_.data(); }

  std::uint64_t get(const std::uint64_t* line, unsigned slot) const noexcept {
    const unsigned bit = slot * width_, word = bit / 64, shift = bit % 64;
    std::uint64_t value = line[word] >> shift;
    if (shift + width_ > 64) value |= line[word + 1] << (64 - shift);
    return value & max_value_;
  }
  void set(std::uint64_t* line, unsigned slot, std::uint64_t value) const noexcept {
    const unsigned bit = slot * width_, word = bit / 64, shift = bit % 64;
    line[word] = (line[word] & ~(max_value_ << shift)) | value << shift;
    if (shift + width_ > 64) line[word + 1] = (line[word + 1] & ~(max_value_ >> (64 - shift))) | value >> (64 - shift);
  }

  // As a queue of so many words. Its last slot lies in its last word or in the last two.
  [[gnu::always_inline]] bool full(const std::uint64_t* line, unsigned words) const noexcept {
    const unsigned end = words - 1, before = words > 1 ? end - 1 : end;
    return ((line[end] & last_[end]) | (line[before] & last_[before])) != 0;
  }
  [[gnu::always_inline]] bool full(const std::uint64_t* line) const noexcept { return full(line, words_); }

  // Is the value, not 0, in any slot?
  [[gnu::always_inline]] bool holds(const std::uint64_t* line, std::uint64_t value) const noexcept {
    switch (words_) {
      case 1:
        return holds_in<1>(line, value);
      case 2:
        return holds_in<2>(line, value);
      case 4:
        return holds_in<4>(line, value);
      default:
        return holds_in<8>(line, value);
    }
  }
  template <unsigned kWords>
  [[gnu::always_inline]] bool holds_in(const std::uint64_t* line, std::uint64_t value) const noexcept {
    std::uint64_t equal = 0, carry = 0;
    for (unsigned word = 0; word < kWords; ++word) {
      const std::uint64_t repeated = value * begins_[word] | value >> before_[word];
      const std::uint64_t differ = line[word] ^ repeated;
      const Wide sum = static_cast<Wide>(differ & below_[word]) + below_[word] + carry;
      carry = static_cast<std::uint64_t>(sum >> 64);
      equal |= ~(static_cast<std::uint64_t>(sum) | differ) & tops_[word];
    }
    return equal != 0;
  }

  // If `really`, puts the value in front, and the oldest falls out. Without a branch: whether a key is new is what
  // nobody can foretell.
  [[gnu::always_inline]] void push_if(bool really, std::uint64_t* line, std::uint64_t value) const noexcept {
    switch (words_) {
      case 1:
        return push_in<1>(really, line, value);
      case 2:
        return push_in<2>(really, line, value);
      case 4:
        return push_in<4>(really, line, value);
      default:
        return push_in<8>(really, line, value);
    }
  }
  template <unsigned kWords>
  [[gnu::always_inline]] void push_in(bool really, std::uint64_t* line, std::uint64_t value) const noexcept {
    const std::uint64_t if_really = std::uint64_t{0} - really, shift = width_ & if_really;
    if constexpr (kWords == 1) {
      line[0] <<= shift;
    } else {
      // Two words at a time: every machine has vectors of 128 bits, with one count for all.
      using Pair [[gnu::vector_size(16)]] = std::uint64_t;
      Pair carried = {0, 0};  // what leaves each word
      for (unsigned word = 0; word < kWords; word += 2) {
        Pair here;
        __builtin_memcpy(&here, line + word, sizeof here);
        const Pair leaves = here >> 1 >> (63 - shift);
        here = here << shift | __builtin_shufflevector(carried, leaves, 1, 2);
        __builtin_memcpy(line + word, &here, sizeof here);
        carried = leaves;
      }
    }
    line[0] |= value & if_really;
    line[kWords - 1] &= used_[kWords - 1];  // fewer than `width` bits are left over
  }

 private:
  using Wide = unsigned __int128;

  static constexpr std::array<std::uint8_t, 32> filled_with(std::uint8_t byte) {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(byte);
    return bytes;
  }

  void make_windows() {
    const unsigned lane_bytes = wide_lanes_ ? 8 : 4, lanes = 32 / lane_bytes;
    for (unsigned slot = 0; slot < slots_; ++slot) {
      Window& window = windows_[slot / lanes];
      const unsigned lane = slot % lanes, bit = slot * width_;
      std::uint64_t& offset = window.offsets[lane * 2 / lanes];
      // Never past the end: the next line may not be there, or not yet.
      if (lane % (lanes / 2) == 0) offset = std::min(bit / 8, 8 * words_ - 16);
      const auto begin = static_cast<unsigned>(bit / 8 - offset);
      for (unsigned byte = 0; byte < lane_bytes && begin + byte < 16; ++byte)
        window.bytes[lane * lane_bytes + byte] = static_cast<std::uint8_t>(begin + byte);
      if (wide_lanes_)
        window.wide_shifts[lane] = bit % 8;
      else
        window.shifts[lane] = bit % 8;
    }
    window_count_ = (slots_ + lanes - 1) / lanes;
  }

  unsigned width_, words_, slots_;
  std::uint64_t max_value_;
  std::array<std::uint64_t, kLineWords> begins_ = {};  // of slots: times a number, it stands in each
  std::array<std::uint64_t, kLineWords> tops_ = {}, below_ = {};
  std::array<std::uint64_t, kLineWords> last_ = {};  // the bits of the last slot
  std::array<unsigned, kLineWords> before_ = {};     // bits of a word's first slot that are in the word before
  std::array<std::uint64_t, kLineWords> used_ = {};
  std::array<Window, kMostSlots / 4> windows_ = {};  // in wide lanes
  unsigned window_count_ = 0;
  bool wide_lanes_;
};

}  // namespace nodup
