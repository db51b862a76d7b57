// SPDX-License-Identifier: Apache-2.0
//
// The loops of age-partitioned filters (filters/age_partitioned.hpp), for slices of any make.
//
// A ring of equal slices; slice 0 is the newest, wherever it lies. A key of age a is put into the slices a .. a + k - 1
// and looks seen when k slices in a row match. A slice keeps its hash function when it grows older, so functions belong
// to places in the ring.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "nodup/bits/line.hpp"
#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

struct AgeRing {
  void* data = nullptr;
  std::uint64_t cells = 0;   // of a slice: bits, or lines
  std::uint64_t bits = 1;    // of a key in a slice
  std::uint64_t slices = 0;  // in the ring
  std::uint64_t probes = 0;  // slices a key is put into
  std::uint64_t newest = 0;  // the place of slice 0

  [[gnu::always_inline]] std::uint64_t place(std::uint64_t slice) const noexcept {
    const std::uint64_t at = newest + slice;
    return at < slices ? at : at - slices;
  }
};

inline constexpr std::uint64_t kNoAge = UINT64_MAX;

// What is the same for all events of a stretch of time.
struct AgeStretch {
  std::uint64_t reach = 0;       // events are compared with the ages below
  std::uint64_t firm = 0;        // keys of ages from here on may be older than the window
  std::uint64_t own = 0;         // the age at which events are remembered
  std::uint64_t room = 0;        // so many can be
  std::uint64_t again = kNoAge;  // events seen at this age or a greater one are remembered again
};

// Events of one batch. `at` moves on; `asked` is how many were prefetched, and runs ahead over the ends of stretches.
struct AgeBatch {
  const Digest* keys = nullptr;
  bool* is_new = nullptr;
  std::size_t size = 0;
  std::size_t at = 0, asked = 0;
  std::uint64_t inserted = 0, in_slack = 0;  // in the last stretch
  std::uint64_t age = kNoAge;                // where the event was found for which there was no room
};

// One bit per key and slice.
struct BitSlices {
  explicit BitSlices(const AgeRing& ring) : data(static_cast<std::uint8_t*>(ring.data)), bits(ring.cells) {}
  std::uint64_t at(Digest d, std::uint64_t place) const noexcept { return place * bits + position(d, place, bits); }
  bool test(Digest d, std::uint64_t place) const noexcept {
    const std::uint64_t i = at(d, place);
    return data[i / 8] >> (i % 8) & 1;
  }
  // True if it was not set.
  bool set(Digest d, std::uint64_t place) const noexcept {
    const std::uint64_t i = at(d, place);
    const std::uint8_t old = data[i / 8];
    data[i / 8] = static_cast<std::uint8_t>(old | 1u << (i % 8));
    return (old >> (i % 8) & 1) == 0;
  }
  void prefetch(Digest d, std::uint64_t place) const noexcept { nodup::prefetch(data + at(d, place) / 8); }

  std::uint8_t* data;
  std::uint64_t bits;
};

// One line per key and slice, with 8 or 16 bits of the key in it (bits/line.hpp). The high bits of a place's hash
// choose the line; the bits in the line come from a second word. With both taken from one word, more than 2^16 lines
// would leave too few bits for 8 lanes of 64.
template <class Line>
struct LineSlices {
  explicit LineSlices(const AgeRing& ring) : data(static_cast<std::uint64_t*>(ring.data)), lines(ring.cells) {}
  struct Spot {
    std::uint64_t* line;
    std::uint64_t word;
  };
  [[gnu::always_inline]] Spot at(Digest d, std::uint64_t place) const noexcept {
    const std::uint64_t hash = remix(d.lo + place * d.hi);
    return {data + (place * lines + fastrange(hash, lines)) * kLineWords, std::rotr(remix(hash + d.hi), 16)};
  }
  [[gnu::always_inline]] bool test(Digest d, std::uint64_t place) const noexcept {
    const Spot spot = at(d, place);
    return Line::contains(spot.line, spot.word);
  }
  [[gnu::always_inline]] bool set(Digest d, std::uint64_t place) const noexcept {
    const Spot spot = at(d, place);
    return Line::insert(spot.line, spot.word);
  }
  [[gnu::always_inline]] void prefetch(Digest d, std::uint64_t place) const noexcept {
    nodup::prefetch(at(d, place).line);
  }

  std::uint64_t* data;
  std::uint64_t lines;
};

// The least age below `reach` at which the key matches; kNoAge if there is none.
//
// Algorithm 1 of the paper from the young end: down from slice k-1 while slices match; from the first that does not, k
// slices up, for a run of k that avoids it must end there. So it finds the YOUNGEST run (the paper's walk finds the
// oldest): the one that decides about slack and refresh, and the one that is there first when duplicates are recent.
template <class Slices>
[[gnu::always_inline]] inline std::uint64_t find_age(const Slices& slices, const AgeRing& ring, std::uint64_t reach,
                                                     Digest d) noexcept {
  if (reach == 0) return kNoAge;
  const std::uint64_t k = ring.probes, end = reach + k - 1;
  std::uint64_t below = 0, run = 0;  // slices known to match: just below the k places looked at, and from their top
  for (std::uint64_t i = k - 1; i < end;) {
    if (slices.test(d, ring.place(i))) {
      if (below + ++run == k) return i - below;
      --i;
    } else {
      below = run;
      run = 0;
      i += k;
    }
  }
  return kNoAge;
}

// True if something was missing.
template <class Slices>
[[gnu::always_inline]] inline bool put_age(const Slices& slices, const AgeRing& ring, std::uint64_t age,
                                           Digest d) noexcept {
  bool missing = false;
  for (std::uint64_t i = age; i < age + ring.probes; ++i) missing |= slices.set(d, ring.place(i));
  return missing;
}

// What an event touches that is new: every k-th slice, as long as none matches, and those it is put into. Measured with
// lines, 64 MB, half duplicates: 134 ns per event, without the latter 193, with half of the former 216.
template <class Slices>
[[gnu::always_inline]] inline void prefetch_age(const Slices& slices, const AgeRing& ring, std::uint64_t reach,
                                                Digest d) noexcept {
  const std::uint64_t k = ring.probes;
  for (std::uint64_t i = k - 1; i < reach + k - 1; i += k) slices.prefetch(d, ring.place(i));
  for (std::uint64_t i = 0; i + 1 < k; ++i) slices.prefetch(d, ring.place(i));
}

// Judges the events batch.at .. end - 1 and remembers them, until one needs room that is not there.
template <class Slices>
[[gnu::always_inline]] inline void insert_ages(const AgeRing& ring, const AgeStretch& stretch, AgeBatch& batch,
                                               std::size_t end) noexcept {
  constexpr std::size_t kAhead = 12;  // measured: 6 and 24 are as good
  const Slices slices(ring);
  batch.inserted = batch.in_slack = 0;
  for (; batch.at < end; ++batch.at) {
    const std::size_t ask = batch.at + kAhead < batch.size ? batch.at + kAhead : batch.size;
    for (; batch.asked < ask; ++batch.asked) prefetch_age(slices, ring, stretch.reach, batch.keys[batch.asked]);
    const Digest d = batch.keys[batch.at];
    batch.age = find_age(slices, ring, stretch.reach, d);
    const bool is_new = batch.age == kNoAge;
    if (batch.age >= stretch.again) {  // new ones, too: kNoAge is the greatest
      if (batch.inserted >= stretch.room) return;
      batch.inserted += put_age(slices, ring, stretch.own, d);
    }
    batch.is_new[batch.at] = is_new;
    batch.in_slack += !is_new && batch.age >= stretch.firm;
  }
}

}  // namespace nodup
