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
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "nodup/bits/line.hpp"

namespace nodup {

class SlotLine {
 public:
  static constexpr unsigned kWidest = 56;

  static constexpr unsigned slots_of(unsigned width, unsigned words = kLineWords) { return 64 * words / width; }

  // `words`: 1, 2, 4 or 8.
  explicit SlotLine(unsigned width, unsigned words = kLineWords)
      : width_(width), words_(words), slots_(slots_of(width, words)) {
    for (unsigned bit = 0; bit < 64 * words; ++bit) {
      const std::uint64_t mask = std::uint64_t{1} << bit % 64;
      if (bit % width == 0) begins_[bit / 64] |= mask;
      if (bit < slots_ * width) (bit % width == width - 1 ? tops_ : below_)[bit / 64] |= mask;
    }
    // A word that begins with a slot has nothing of the one before: all bits are shifted out.
    for (unsigned word = 0; word < words; ++word) before_[word] = word * 64 % width == 0 ? width : word * 64 % width;
  }

  unsigned width() const { return width_; }
  unsigned words() const { return words_; }
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
    return with_words([&](auto words) { return holds<words>(line, value); });
  }
  bool full(const std::uint64_t* line) const noexcept { return get(line, slots_ - 1) != 0; }  // as a queue

  // If `really`, puts the value in front, and the oldest falls out. Without a branch: whether a key is new is what
  // nobody can foretell.
  [[gnu::always_inline]] void push_if(bool really, std::uint64_t* line, std::uint64_t value) const noexcept {
    with_words([&](auto words) { push_if<words>(really, line, value); });
  }

 private:
  using Wide = unsigned __int128;
  template <unsigned kWords>
  using Words = std::integral_constant<unsigned, kWords>;

  // So that loops over words are unrolled. All slots of a filter have one of two shapes: the branch is foretold.
  template <class F>
  [[gnu::always_inline]] std::invoke_result_t<F, Words<8>> with_words(F&& f) const noexcept {
    switch (words_) {
      case 1:
        return f(Words<1>());
      case 2:
        return f(Words<2>());
      case 4:
        return f(Words<4>());
      default:
        return f(Words<8>());
    }
  }

  template <unsigned kWords>
  [[gnu::always_inline]] bool holds(const std::uint64_t* line, std::uint64_t value) const noexcept {
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

  template <unsigned kWords>
  [[gnu::always_inline]] void push_if(bool really, std::uint64_t* line, std::uint64_t value) const noexcept {
    const std::uint64_t shift = really ? width_ : 0;
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
    line[0] |= really ? value : 0;
    line[kWords - 1] &= tops_[kWords - 1] | below_[kWords - 1];  // fewer than `width` bits are left over
  }

  unsigned width_, words_, slots_;
  std::array<std::uint64_t, kLineWords> begins_ = {};  // of slots: times a number, it stands in each
  std::array<std::uint64_t, kLineWords> tops_ = {}, below_ = {};
  std::array<unsigned, kLineWords> before_ = {};  // bits of a word's first slot that are in the word before
};

}  // namespace nodup
