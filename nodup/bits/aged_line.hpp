// SPDX-License-Identifier: Apache-2.0
//
// A 64-byte line of fingerprints that stand in the order of their age: one word that tells the ages of all of
// them, where each slot would need a tag of four bits; then 56 bytes of slots (bits/slot_line.hpp). The word:
//
//   bits 0-5    the slot of the newest fingerprint; the older ones follow it, round and round
//   bits 6-11   the epoch, mod 64, up to which the ages are told
//   bits 12-63  the ages: from the newest on, a one for each fingerprint and a zero where a generation ends
//
// The epoch counts the generations opened so far. When one opens, no line is touched. A line learns of it when it is
// met next: its ages get one zero more in front, and what is now too old falls off at the other end, without a search
// and without a look at the slots. Nobody may meet a line 64 epochs late, so its owner walks over all of them in time.
//
// A new fingerprint takes the slot before the newest: nothing is moved. Only one that is put into an older generation
// or taken out moves others by one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "nodup/bits/line.hpp"
#include "nodup/bits/slot_line.hpp"
#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// The words of a line: the one that tells the ages, and the first of the slots.
inline constexpr std::size_t kAgesWord = 0, kSlotsWord = 1;

// The ages of a line, brought to the present, in a register.
struct LineAges {
  static constexpr unsigned kBits = 52;
  static constexpr unsigned kEpochs = 64;

  std::uint64_t ages;
  unsigned newest;  // slot
  unsigned used;    // fingerprints

  [[gnu::always_inline]] static std::uint64_t below(unsigned bit) { return (std::uint64_t{1} << bit) - 1; }
  [[gnu::always_inline]] static unsigned count(std::uint64_t bits) {
    return static_cast<unsigned>(std::popcount(bits));
  }
  // Of one bit at least: a line without fingerprints passes for one with a generation before its first. No branch.
  [[gnu::always_inline]] static unsigned width(std::uint64_t ages) {
    return 64 - static_cast<unsigned>(__builtin_clzll(ages | 1));
  }
  // How many generations are younger than the oldest fingerprint: the zeros below the highest one.
  [[gnu::always_inline]] static unsigned age_of_oldest(std::uint64_t ages) { return width(ages) - count(ages); }
  // How many fingerprints are of its generation: the ones at the high end.
  [[gnu::always_inline]] static unsigned oldest(std::uint64_t ages) {
    return static_cast<unsigned>(__builtin_clzll(~(ages << (64 - width(ages)))));
  }
  [[gnu::always_inline]] static std::uint64_t without_oldest(std::uint64_t ages) {
    return ages & below(width(ages) - oldest(ages));
  }

  // Of a line's word, at this epoch, when `live` generations count.
  [[gnu::always_inline]] static LineAges read(std::uint64_t word, std::uint64_t epoch, unsigned live) {
    const auto lag = static_cast<unsigned>((epoch - (word >> 6)) % kEpochs);
    std::uint64_t ages = word >> 12 << lag;
    while (age_of_oldest(ages) >= live && ages != 0) ages = without_oldest(ages);
    return {ages, static_cast<unsigned>(word % 64), count(ages)};
  }
  // Of a word that is up to date.
  [[gnu::always_inline]] static LineAges of(std::uint64_t word) {
    return {word >> 12, static_cast<unsigned>(word % 64), count(word >> 12)};
  }
  // The epoch as it stands in a word.
  static constexpr std::uint64_t kEpochBits = (kEpochs - 1) << 6;
  [[gnu::always_inline]] static std::uint64_t epoch_bits(std::uint64_t epoch) { return epoch << 6 & kEpochBits; }
  [[gnu::always_inline]] std::uint64_t word(std::uint64_t epoch) const {
    return ages << 12 | epoch_bits(epoch) | newest;
  }

  // The place of the n-th end of a generation, and of the n-th fingerprint, in `ages`; both counted from 0.
  [[gnu::always_inline]] unsigned end_of(unsigned n) const {
    std::uint64_t ends = ~ages;
    for (; n > 0; --n) ends &= ends - 1;
    return static_cast<unsigned>(std::countr_zero(ends));
  }
  unsigned place_of(unsigned n) const {
    std::uint64_t ones = ages;
    for (; n > 0; --n) ones &= ones - 1;
    return static_cast<unsigned>(std::countr_zero(ones));
  }
  // How many fingerprints are of the `age` youngest generations.
  [[gnu::always_inline]] unsigned younger(unsigned age) const { return age == 0 ? 0 : end_of(age - 1) - (age - 1); }
  // Of the n-th newest fingerprint.
  unsigned age_of(unsigned n) const { return place_of(n) - n; }
};

// Where fingerprints of one width lie in a line. Small: a loop keeps a copy in registers, which no write can change.
struct AgedLayout {
  static constexpr unsigned kBytes = 56;
  static constexpr unsigned kNarrowest = 8;  // fingerprint

  unsigned width;
  unsigned slots;           // at most LineAges::kBits
  std::uint64_t max_value;  // of a fingerprint

  // Where the n-th newest is, n < slots.
  [[gnu::always_inline]] unsigned slot(const LineAges& line, unsigned n) const {
    const unsigned at = line.newest + n;
    return at < slots ? at : at - slots;
  }
  // Of matching slots, the bits of those that hold a fingerprint, from the newest on.
  [[gnu::always_inline]] std::uint64_t by_age(std::uint64_t matching, const LineAges& line) const {
    return (matching >> line.newest | matching << (slots - line.newest)) & LineAges::below(line.used);
  }

  // In one access that stays within the slots.
  struct Access {
    unsigned byte, shift;
  };
  [[gnu::always_inline]] Access access(unsigned slot) const {
    const unsigned bit = slot * width, byte = std::min(bit / 8, kBytes - 8);
    return {byte, bit - 8 * byte};
  }
  [[gnu::always_inline]] void set(std::uint64_t* words, unsigned slot, std::uint64_t value) const {
    const auto [byte, shift] = access(slot);
    auto* const at = reinterpret_cast<unsigned char*>(words + kSlotsWord) + byte;
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    bits = (bits & ~(max_value << shift)) | value << shift;
    std::memcpy(at, &bits, sizeof bits);
  }
  [[gnu::always_inline]] std::uint64_t get(const std::uint64_t* words, unsigned slot) const {
    const auto [byte, shift] = access(slot);
    std::uint64_t bits;
    std::memcpy(&bits, reinterpret_cast<const unsigned char*>(words + kSlotsWord) + byte, sizeof bits);
    return bits >> shift & max_value;
  }

  // The newest of a line that has room.
  [[gnu::always_inline]] LineAges push(std::uint64_t* words, LineAges line, std::uint64_t value) const {
    line.newest = line.newest == 0 ? slots - 1 : line.newest - 1;
    line.ages = line.ages << 1 | 1;
    ++line.used;
    set(words, line.newest, value);
    return line;
  }
  // The newest of a generation that may not be the youngest.
  LineAges put(std::uint64_t* words, LineAges line, std::uint64_t value, unsigned age) const {
    const unsigned younger = line.younger(age);
    const std::uint64_t low = LineAges::below(younger + age);
    line.newest = line.newest == 0 ? slots - 1 : line.newest - 1;
    for (unsigned n = 0; n < younger; ++n) set(words, slot(line, n), get(words, slot(line, n + 1)));
    set(words, slot(line, younger), value);
    line.ages = (line.ages & low) | (low + 1) | (line.ages & ~low) << 1;
    ++line.used;
    return line;
  }
  // Without the n-th newest.
  LineAges take(std::uint64_t* words, LineAges line, unsigned n) const {
    const std::uint64_t low = LineAges::below(line.place_of(n));
    for (unsigned at = n; at > 0; --at) set(words, slot(line, at), get(words, slot(line, at - 1)));
    line.newest = slot(line, 1);
    line.ages = (line.ages & low) | (line.ages >> 1 & ~low);
    --line.used;
    return line;
  }
};

// The same, with what vectors need to look at all slots at once.
class AgedLineShape {
 public:
  static constexpr unsigned kSlotBits = 8 * AgedLayout::kBytes;
  static constexpr unsigned kWidest = SlotLine::kWidest;

  AgedLineShape(unsigned width, unsigned slots)
      : line_(width, AgedLayout::kBytes / 8), layout_{width, slots, line_.max_value()} {}

  [[gnu::always_inline]] const AgedLayout& layout() const { return layout_; }
  [[gnu::always_inline]] bool wide_lanes() const { return line_.wide_lanes(); }
  [[gnu::always_inline]] const SlotLine::Window* windows() const { return line_.windows(); }
  unsigned window_count() const {
    const unsigned lanes = wide_lanes() ? 4 : 8;
    return (layout_.slots + lanes - 1) / lanes;
  }

 private:
  SlotLine line_;
  AgedLayout layout_;
};

// A table of such lines. A key belongs to two of them; the second follows from the first and the fingerprint, so that
// a fingerprint can be moved to its other line.
struct AgedLineTable {
  struct Place {
    std::uint64_t fingerprint, first, second;
  };

  std::uint64_t* words;
  std::uint64_t lines;
  std::uint64_t max_fingerprint;

  [[gnu::always_inline]] std::uint64_t* line(std::uint64_t number) const { return words + number * kLineWords; }
  [[gnu::always_inline]] std::uint64_t other(std::uint64_t line, std::uint64_t fingerprint) const {
    const std::uint64_t sum = fastrange(remix(fingerprint * 0xC2B2AE3D27D4EB4Fu), lines);
    return sum >= line ? sum - line : sum + lines - line;
  }
  [[gnu::always_inline]] Place place(Digest d) const {
    const std::uint64_t first = fastrange(d.lo, lines), fingerprint = d.hi & max_fingerprint;
    return {fingerprint, first, other(first, fingerprint)};
  }
  [[gnu::always_inline]] void prefetch(const Place& place) const {
    nodup::prefetch(line(place.first));
    nodup::prefetch(line(place.second));
  }
};

// Events of one moment: what is the same for all of them.
struct AgedMoment {
  std::uint64_t epoch = 0;
  unsigned live = 0;        // generations that are kept
  unsigned reach = 0;       // the youngest of them, with which events are compared
  unsigned slack_from = 0;  // from this age on a key may be older than the window
  bool refresh = false;     // a duplicate becomes as young as the event
  bool all_stale = false;   // generations were forgotten since the epoch began: no line can tell that it is up to date
};
struct AgedBatch {
  std::uint64_t room = 0;  // it ends with so many new keys
  std::uint64_t passed = 0, in_slack = 0;
};

// Inserts keys of one moment, which is in the youngest generation, one after the other, and returns the first that
// takes more than that: there is no room, or it must be moved to another age. `Slots` finds matching slots with the
// vectors of the machine.
//
// Whether a key is new is a coin flip, so nothing branches on that: what must not be written goes to a line of no use.
template <std::size_t kAhead, class Slots>
[[gnu::always_inline]] inline std::size_t insert_into_aged_lines(const Slots slots, const AgedLayout layout,
                                                                 const AgedLineTable table, const AgedMoment moment,
                                                                 AgedBatch& batch, const Digest* keys, std::size_t from,
                                                                 std::size_t end, bool* is_new) noexcept {
  constexpr std::size_t kRing = 64;
  static_assert(kAhead < kRing);
  const bool all_known = moment.reach >= moment.live, oldest_in_slack = moment.slack_from + 1 == moment.live;
  const std::uint64_t stamp = LineAges::epoch_bits(moment.epoch);
  std::uint64_t room = batch.room, in_slack = 0;
  AgedLineTable::Place places[kRing];
  alignas(64) std::uint64_t nowhere[kLineWords] = {};
  // The first or the second, without a branch.
  const auto either = [](bool first, std::uint64_t a, std::uint64_t b) __attribute__((always_inline)) {
    return b ^ ((a ^ b) & (std::uint64_t{0} - first));
  };
  const auto choose = [&](bool first, std::uint64_t* a, std::uint64_t* b) __attribute__((always_inline)) {
    return reinterpret_cast<std::uint64_t*>(
        either(first, reinterpret_cast<std::uintptr_t>(a), reinterpret_cast<std::uintptr_t>(b)));
  };
  const auto ask = [&](std::size_t i) __attribute__((always_inline)) {
    table.prefetch(places[i % kRing] = table.place(keys[i]));
  };
  // How many of a line's fingerprints are within the window for sure.
  const auto in_window = [&](const LineAges& line) __attribute__((always_inline)) {
    if (!oldest_in_slack) return moment.slack_from >= moment.live ? line.used : line.younger(moment.slack_from);
    const unsigned are_oldest = 0u - (LineAges::age_of_oldest(line.ages) == moment.slack_from);
    return line.used - (LineAges::oldest(line.ages) & are_oldest);
  };

  const std::size_t warm = std::min(end, from + kAhead);
  for (std::size_t i = from; i < warm; ++i) ask(i);
  std::size_t i = from;
  for (; i < end && room > 0; ++i) {
    if (i + kAhead < end) ask(i + kAhead);
    const AgedLineTable::Place place = places[i % kRing];
    std::uint64_t* const first = table.line(place.first);
    std::uint64_t* const second = table.line(place.second);
    std::uint64_t word_a = first[kAgesWord], word_b = second[kAgesWord];
    // A line is met two to four times per generation; only the first time it has something to forget.
    if (((((word_a ^ stamp) | (word_b ^ stamp)) & LineAges::kEpochBits) | moment.all_stale) != 0) {
      first[kAgesWord] = word_a = LineAges::read(word_a, moment.epoch, moment.live).word(moment.epoch);
      second[kAgesWord] = word_b = LineAges::read(word_b, moment.epoch, moment.live).word(moment.epoch);
    }
    const LineAges a = LineAges::of(word_a), b = LineAges::of(word_b);
    const std::uint64_t in_first = layout.by_age(slots.find(layout, first, place.fingerprint), a);
    const std::uint64_t in_second = layout.by_age(slots.find(layout, second, place.fingerprint), b);
    // No key is held twice, nor another that looks like it: there is one match at most, or both lines are one.
    const std::uint64_t match = in_first | in_second;
    const bool missing = match == 0;
    const std::uint64_t its_ages = either(in_first != 0, a.ages, b.ages);
    const LineAges its_line{its_ages, 0, LineAges::count(its_ages)};
    const bool into_first = a.used <= b.used;
    const LineAges to{either(into_first, a.ages, b.ages), static_cast<unsigned>(either(into_first, a.newest, b.newest)),
                      std::min(a.used, b.used)};
    // No room; or held, but only for late events; or known, and to be made younger.
    unsigned otherwise = static_cast<unsigned>(missing) & (to.used == layout.slots);
    if (!all_known) otherwise |= (match & ~LineAges::below(its_line.younger(moment.reach))) != 0;
    if (moment.refresh) otherwise |= (match & ~LineAges::below(its_line.younger(1))) != 0;
    if (otherwise != 0) [[unlikely]]
      break;
    std::uint64_t* const line = choose(missing, choose(into_first, first, second), nowhere);
    line[kAgesWord] = layout.push(line, to, place.fingerprint).word(moment.epoch);
    in_slack += (match & ~LineAges::below(in_window(its_line))) != 0;
    room -= missing;
    is_new[i] = missing;
  }
  batch.passed += batch.room - room;
  batch.in_slack += in_slack;
  return i;
}

}  // namespace nodup
