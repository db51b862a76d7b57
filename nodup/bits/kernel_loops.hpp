// SPDX-License-Identifier: Apache-2.0
//
// The loops of a kernel set, written once. Each kernels_*.cpp includes this after its own line types. All of it is in
// an unnamed namespace: every file compiles it with its own instruction set, and the linker must never merge them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "nodup/bits/kernel_sets.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {
namespace {

constexpr std::size_t kLinesAhead = 48;

template <class Line, unsigned kLines>
std::uint64_t insert_lines(std::uint64_t* table, std::uint64_t lines, const Digest* keys, std::size_t count,
                           bool* is_new) {
  std::uint64_t found_new = 0;
  visit_prefetched<kLinesAhead / kLines>(
      count,
      [&](std::size_t i) {
        for (unsigned j = 0; j < kLines; ++j)
          prefetch_to_second_level(table + line_place(keys[i], j, lines) * kLineWords);
      },
      [&](std::size_t i) {
        bool missing = false;
        for (unsigned j = 0; j < kLines; ++j)
          missing |= Line::insert(table + line_place(keys[i], j, lines) * kLineWords, line_word(keys[i], j));
        is_new[i] = missing;
        found_new += missing;
      });
  return found_new;
}

template <class Line, unsigned kLines>
void contain_lines(const std::uint64_t* table, std::uint64_t lines, const Digest* keys, std::size_t count, bool* seen) {
  visit_prefetched<kLinesAhead / kLines>(
      count,
      [&](std::size_t i) {
        for (unsigned j = 0; j < kLines; ++j)
          prefetch_to_second_level(table + line_place(keys[i], j, lines) * kLineWords);
      },
      [&](std::size_t i) {
        bool all = true;
        for (unsigned j = 0; j < kLines; ++j)
          all &= Line::contains(table + line_place(keys[i], j, lines) * kLineWords, line_word(keys[i], j));
        seen[i] = all;
      });
}

// As SlotLine has it.
struct PortableSlots {
  [[gnu::always_inline]] static unsigned words(const SlotLine& shape) { return shape.words(); }
  [[gnu::always_inline]] bool holds(const SlotLine& shape, const std::uint64_t* queue, std::uint64_t value) const {
    return shape.holds(queue, value);
  }
  [[gnu::always_inline]] void push_if(const SlotLine& shape, bool really, std::uint64_t* queue,
                                      std::uint64_t value) const {
    shape.push_if(really, queue, value);
  }
};

// Up to so many windows are looked through without a loop: 24 slots, as many as errors from 1e-6 to 1e-2 want.
constexpr unsigned kFewWindows = 3;

// `Slots<words, wide lanes, windows or 0 if they are counted>` is made for both shapes of the batch, if they are that
// much alike. A single word needs no vectors.
template <template <unsigned, bool, unsigned> class Slots>
void insert_queues(QueueBatch& batch, const Digest* keys, std::size_t count, bool* is_new) {
  const SlotLine &a = *batch.shapes[0], &b = *batch.shapes[1];
  const unsigned windows = a.window_count() > b.window_count() ? a.window_count() : b.window_count();
  const auto with = [&](const auto& slots) { insert_into_queues<kLinesAhead>(slots, batch, keys, count, is_new); };
  const auto with_words = [&]<unsigned kWords>() {
    if (a.wide_lanes())
      with(Slots<kWords, true, 0>(windows));
    else if (windows <= kFewWindows)
      with(Slots<kWords, false, kFewWindows>(windows));
    else
      with(Slots<kWords, false, 0>(windows));
  };
  const bool alike = a.words() == b.words() && a.wide_lanes() == b.wide_lanes();
  if (alike && a.words() == 2)
    with_words.template operator()<2>();
  else if (alike && a.words() == 4)
    with_words.template operator()<4>();
  else if (alike && a.words() == 8)
    with_words.template operator()<8>();
  else
    with(PortableSlots());
}

// Slot by slot.
struct PortableAgedSlots {
  [[gnu::always_inline]] std::uint64_t find(const AgedLayout& layout, const std::uint64_t* line,
                                            std::uint64_t value) const {
    std::uint64_t found = 0;
    for (unsigned slot = 0; slot < layout.slots; ++slot)
      found |= static_cast<std::uint64_t>(layout.get(line, slot) == value) << slot;
    return found;
  }
};

// Two lines per key.
constexpr std::size_t kAgedKeysAhead = kLinesAhead / 2;

// `Slots<bits of a fingerprint>` compares those that fit into lanes of four bytes with constants of their own width,
// which takes a third fewer instructions; `Slots<0>` any, with what the shape knows.
template <template <unsigned> class Slots, unsigned kWidth>
std::size_t insert_aged_lines_of(const AgedLineShape& shape, const AgedLineTable& table, const AgedMoment& moment,
                                 AgedBatch& batch, const Digest* keys, std::size_t from, std::size_t end,
                                 bool* is_new) {
  AgedLayout layout = shape.layout();
  if constexpr (kWidth != 0) layout = {kWidth, layout.slots, (std::uint64_t{1} << kWidth) - 1};
  return insert_into_aged_lines<kAgedKeysAhead>(Slots<kWidth>(shape), layout, table, moment, batch, keys, from, end,
                                                is_new);
}
template <template <unsigned> class Slots, std::size_t... kPlaces>
constexpr auto make_aged_inserts(std::index_sequence<kPlaces...>) {
  return std::array{insert_aged_lines_of<Slots, AgedLayout::kNarrowest + kPlaces>...};
}
template <template <unsigned> class Slots>
std::size_t insert_aged_lines(const AgedLineShape& shape, const AgedLineTable& table, const AgedMoment& moment,
                              AgedBatch& batch, const Digest* keys, std::size_t from, std::size_t end, bool* is_new) {
  constexpr std::size_t kWidths = SlotLine::kWidestInFourBytes - AgedLayout::kNarrowest + 1;
  static constexpr auto kInserts = make_aged_inserts<Slots>(std::make_index_sequence<kWidths>());
  const std::size_t place = shape.layout().width - AgedLayout::kNarrowest;
  const auto insert = place < kWidths ? kInserts[place] : insert_aged_lines_of<Slots, 0>;
  return insert(shape, table, moment, batch, keys, from, end, is_new);
}
template <template <unsigned> class Slots>
std::uint64_t find_in_aged_line(const AgedLineShape& shape, const std::uint64_t* line, std::uint64_t value) {
  return Slots<0>(shape).find(shape.layout(), line, value);
}

template <class Line>
void insert_line_ages(const AgeRing& ring, const AgeStretch& stretch, AgeBatch& batch, std::size_t end) {
  insert_ages<LineSlices<Line>>(ring, stretch, batch, end);
}

template <class Line>
std::uint64_t find_line_age(const AgeRing& ring, std::uint64_t reach, Digest key) {
  return find_age(LineSlices<Line>(ring), ring, reach, key);
}

// The place of the lowest one; any place if there is none. std::countr_zero would branch on that.
[[gnu::always_inline]] inline std::uint64_t lowest_one(std::uint64_t mask) {
  return static_cast<unsigned>(__builtin_ctzll(mask | std::uint64_t{1} << 63));
}

// Positions of the ones of a 64-bit mask. The first is stored without asking whether there is any: with records longer
// than that it is the only one, and whether it is there is a coin flip. The next three go together, so that shorter
// records do not end in a loop on their count, which would be mispredicted every other time.
[[gnu::always_inline]] inline std::uint64_t* emit_ones(std::uint64_t mask, std::uint64_t base, std::uint64_t* out) {
  std::uint64_t* const end = out + std::popcount(mask);
  const auto emit = [&](std::uint64_t * to) __attribute__((always_inline)) {
    *to = base + lowest_one(mask);
    mask &= mask - 1;
  };
  emit(out);
  if (mask == 0) return end;
  for (unsigned i = 1; i < 4; ++i) emit(out + i);
  for (out += 4; out < end; ++out) emit(out);
  return end;
}

// `Mask` makes the 64-bit mask of matching bytes of the 64 bytes at a pointer.
template <class Mask>
std::size_t find_by_mask(const char* data, std::size_t size, std::uint64_t base, std::uint64_t* out, Mask mask_of) {
  std::uint64_t* const begin = out;
  std::size_t at = 0;
  for (; at + 64 <= size; at += 64) out = emit_ones(mask_of(data + at), base + at, out);
  if (at < size) {
    char last[64] = {};
    std::memcpy(last, data + at, size - at);
    const std::uint64_t inside = (std::uint64_t{1} << (size - at)) - 1;
    out = emit_ones(mask_of(last) & inside, base + at, out);
  }
  return static_cast<std::size_t>(out - begin);
}

template <class Line8, class Line16>
constexpr Kernels line_kernels(std::string_view name) {
  Kernels k{};
  k.name = name;
  k.hash_records = hash_one_by_one;
  k.insert[0][0] = insert_lines<Line8, 1>;
  k.insert[0][1] = insert_lines<Line16, 1>;
  k.insert[1][0] = insert_lines<Line8, 2>;
  k.insert[1][1] = insert_lines<Line16, 2>;
  k.contains[0][0] = contain_lines<Line8, 1>;
  k.contains[0][1] = contain_lines<Line16, 1>;
  k.contains[1][0] = contain_lines<Line8, 2>;
  k.contains[1][1] = contain_lines<Line16, 2>;
  k.insert_ages[0] = insert_line_ages<Line8>;
  k.insert_ages[1] = insert_line_ages<Line16>;
  k.find_age[0] = find_line_age<Line8>;
  k.find_age[1] = find_line_age<Line16>;
  return k;
}

}  // namespace
}  // namespace nodup
