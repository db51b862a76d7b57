// SPDX-License-Identifier: Apache-2.0
//
// One array of packed timers, a stage of the filter `timer` (timer.hpp says what the tags mean).
//
// A cell holds the tag of a generation, 0 if none. What a tag stands for is told by a table that all stages share:
// order[tag] is the serial number of the generation, 0 if it is forgotten. So a generation dies with one write to the
// table, and its cells with it, wherever they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "nodup/bits/cell_array.hpp"
#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"

namespace nodup {

struct TimerStage {
  static constexpr std::uint64_t kOpen = UINT64_MAX;
  static constexpr std::uint64_t kMostProbes = 32;
  using Order = std::span<const std::uint64_t>;

  TimerStage(std::uint64_t number_, std::uint64_t size, std::uint64_t probes_, unsigned width, std::uint64_t full_)
      : number(number_), probes(probes_), full(full_), cells(size, width), counts(std::uint64_t{1} << width) {
    counts[0] = size;
  }

  std::uint64_t number;        // which of the row: sets its size and its share of the error
  std::uint64_t probes;        // cells per key
  std::uint64_t full;          // so many live cells, or so many keys ever, are all it should take
  std::uint64_t keys = 0;      // ever put into it
  std::uint64_t alive = 0;     // cells whose generation is not forgotten
  std::uint64_t last = kOpen;  // the newest generation it may hold; set when the next stage is opened
  CellArray cells;
  std::vector<std::uint64_t> counts;  // of each tag, how many cells carry it

  std::uint64_t place(Digest d, std::uint64_t i) const noexcept { return position(d, i, cells.size()); }
  void prefetch(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < probes; ++i) cells.prefetch(place(d, i));
  }

  // The oldest generation among the cells of a key that looks seen in generations from `floor` on; 0 if it does not. A
  // tag that was given out again after this stage was closed stands for a generation above `last`: not for its cells.
  std::uint64_t find(Digest d, Order order, std::uint64_t floor, std::uint64_t equal) const noexcept {
    std::uint64_t oldest = kOpen;
    bool seen = true;
    for (std::uint64_t i = 0; i < probes; ++i) {
      const std::uint64_t generation = order[cells.get(place(d, i))];
      seen &= (generation >= floor) & (generation <= last);
      oldest = std::min(oldest, generation);
    }
    return seen && (equal <= 1 || has_equal(d, equal)) ? oldest : 0;
  }

  // Late events are in older generations: a cell only ever moves to a newer one. To overwrite would forget, before its
  // time, the newer key that shares the cell.
  void write(Digest d, Order order, std::uint64_t tag) noexcept {
    for (std::uint64_t i = 0; i < probes; ++i) {
      const std::uint64_t at = place(d, i), old = cells.get(at);
      if (order[old] >= order[tag]) continue;
      alive += order[old] == 0;
      --counts[old];
      ++counts[tag];
      cells.set(at, tag);
    }
  }

  // A piece of the way round: frees cells from a tag that is to be given out again. Returns where to go on.
  std::uint64_t sweep(std::uint64_t from, std::uint64_t length, std::uint64_t tag) noexcept {
    while (length > 0 && counts[tag] > 0) {
      const std::uint64_t part = std::min(length, cells.size() - from);
      const std::uint64_t cleared = cells.clear_equal(from, part, tag);
      counts[tag] -= cleared;
      counts[0] += cleared;
      length -= part;
      from = from + part == cells.size() ? 0 : from + part;
    }
    return from;
  }

  void clear() noexcept {
    cells.clear();
    std::fill(counts.begin(), counts.end(), 0);
    counts[0] = cells.size();
    alive = keys = 0;
    last = kOpen;
  }

 private:
  // Do `equal` distinct cells of the key carry one tag? All of them, if it has fewer.
  bool has_equal(Digest d, std::uint64_t equal) const noexcept {
    std::uint64_t places[kMostProbes], distinct = 0, most = 0;
    for (std::uint64_t i = 0; i < probes; ++i) {
      const std::uint64_t at = place(d, i);
      if (std::find(places, places + distinct, at) == places + distinct) places[distinct++] = at;
    }
    for (std::uint64_t i = 0; i < distinct; ++i) {
      std::uint64_t same = 0;
      for (std::uint64_t j = 0; j < distinct; ++j) same += cells.get(places[j]) == cells.get(places[i]);
      most = std::max(most, same);
    }
    return most >= std::min(equal, distinct);
  }
};

}  // namespace nodup
