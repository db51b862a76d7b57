// SPDX-License-Identifier: Apache-2.0
//
// aged_lines: fingerprints in cache lines, in the order of their age. The default for windows.
//
// Not in the papers. A key belongs to two lines of 64 bytes and is put into the emptier one: with 17 to 34 slots per
// line they fill so evenly that one of the two has room until nine tenths of all slots are taken, and nothing has to
// be moved (if both are full after all, a fingerprint moves to its own other line). The order of the slots and one
// word per line tell all ages (bits/aged_line.hpp) in 64 bits for 17 to 34 keys,
// where aged_table spends 4 bits on each; and lines need no room to move keys about.
//
// Forgetting costs nothing: a line learns that a generation (Generations) is over when it is met next, by a shift of
// that word. No tag has to be reclaimed; only every 32nd part of the lines is walked over per generation, so that none
// misses 64 of them. An event takes two cache lines and no branch that depends on what it is.
//
// When the table is full: without a limit on memory a further, larger table is opened (and the old one dropped when its
// last key is forgotten), tighter, so that the TOTAL error keeps its bound. Under a limit the oldest generation is
// given up early, and window() tells how far back the filter still remembers.
//
// Errors: a false positive (a new event is LOST) at the rate of theory/fingerprint.hpp; never a false negative within
// the effective window. erase() forgets one key: only for keys that were passed within the window (filter.hpp).
// Cost: two cache lines for an event, of which one is written for a new key, and a line once per generation.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "nodup/bits/aged_line.hpp"
#include "nodup/filters/aged_lines_params.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/filters/table_row.hpp"
#include "nodup/memory/pages.hpp"

namespace nodup {

class AgedLines {
 public:
  static constexpr std::string_view kName = "aged_lines";
  static constexpr std::string_view kSummary =
      "fingerprints in cache lines by age: the fastest sliding window (the default for windows)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate within the window never passes";

  using Params = AgedLinesParams;

  static Params fit(const Goal& goal) { return Params::fit(goal); }
  static Rates rates(const Params& p, std::uint64_t keys) { return p.rates(keys); }
  static std::uint64_t bytes(const Params& p) { return p.bytes(); }
  static double lines_per_event(const Params&) { return 2; }
  static double slack(const Params& p) { return p.slack(); }
  static Facts facts(const Params& p) { return p.facts(); }

  explicit AgedLines(const Params& params, PagePolicy policy = PagePolicy::huge);

  bool insert(Digest d) noexcept { return insert(d, generations_.now()); }
  bool insert(Digest d, Tick t) noexcept;
  bool contains(Digest d) const noexcept { return contains(d, generations_.now()); }
  bool contains(Digest d, Tick t) const noexcept { return holds(d, static_cast<unsigned>(generations_.reach(t))); }
  Erased erase(Digest d) noexcept;
  void prefetch(Digest d) const noexcept {
    for (const Table& table : tables_.in_use()) table.view().prefetch(table.view().place(d));
  }
  void advance(Tick now) noexcept;
  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept;
  void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) noexcept;
  void contains_all(std::span<const Digest> keys, bool* seen) const noexcept;
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) {
    params_.max_bytes = max_bytes;
    tables_.ask_for_growth(params_);
  }

  std::uint64_t keys() const { return tables_.keys(); }
  std::uint64_t bytes() const { return tables_.bytes(); }  // without the table made ready, which is untouched
  Rates rates() const;
  Facts facts() const;
  WindowReading window() const { return generations_.reading(); }

  void save(Writer& out) const;
  static AgedLines load(Reader& in);

 private:
  struct Table {
    AgedLinesParams::Shape shape;
    std::unique_ptr<const AgedLineShape> line;
    Pages pages;
    std::uint64_t number;                                       // counted from the first table ever made
    std::uint64_t capacity;                                     // keys
    std::array<std::uint64_t, LineAges::kEpochs> carried = {};  // keys of each generation, by its epoch mod 64
    std::uint64_t live = 0;                                     // keys of all of them
    std::uint64_t cursor = 0;                                   // the line to bring up to date next

    std::uint64_t bytes() const noexcept { return pages.bytes(); }
    const AgedLayout& layout() const noexcept { return line->layout(); }
    AgedLineTable view() const noexcept {
      return {const_cast<Pages&>(pages).as<std::uint64_t>(), shape.lines, layout().max_value};
    }
  };
  // Where a key was found: in the line with this number, the n-th newest of it.
  struct Found {
    std::uint64_t line = 0;
    unsigned n = 0, age = 0;
    bool exists = false;
  };
  struct Moment {
    TimeStretch time;
    AgedMoment same;  // for all events of that time
  };

  // Lines are walked over every so many events, as many at a time.
  static constexpr std::uint64_t kEventsPerWalk = 1024;
  static constexpr std::uint64_t kGenerationsPerWalk = 32;

  struct Empty {};  // without a table yet
  AgedLines(const Params& params, PagePolicy policy, Empty);

  std::uint64_t& carried(Table& table, unsigned age) const noexcept {
    return table.carried[(epoch_ - age) % LineAges::kEpochs];
  }
  unsigned live() const noexcept { return static_cast<unsigned>(generations_.count()); }
  unsigned own() const noexcept { return static_cast<unsigned>(moment_.time.own); }
  LineAges read(const Table& table, std::uint64_t line) const noexcept {
    return LineAges::read(table.view().line(line)[kAgesWord], epoch_, live());
  }
  void write(Table& table, std::uint64_t line, const LineAges& ages) const noexcept {
    table.view().line(line)[kAgesWord] = ages.word(epoch_);
  }

  void open_generation(Tick t) noexcept;
  void forget_oldest(bool early) noexcept;
  void settle(Tick t) noexcept;
  void walk(std::uint64_t lines) noexcept;
  void count_events(std::uint64_t events) noexcept;
  void close_under_pressure(Tick t) noexcept;

  Found find(const Table& table, const AgedLineTable::Place& place, unsigned reach) const noexcept;
  bool holds(Digest d, unsigned reach) const noexcept;
  bool must_become_younger(unsigned age) noexcept;
  bool seen_in(const Table& table, Digest d, bool& is_new) noexcept;
  bool insert_settled(Digest d, Tick t) noexcept;
  bool insert_one(Digest d, Tick t) noexcept;
  template <class TickOf>
  void insert_each(std::span<const Digest> keys, TickOf&& tick_of, bool* is_new) noexcept;
  std::size_t insert_many(std::span<const Digest> keys, std::size_t from, std::size_t end, bool* is_new) noexcept;
  void put(Table& table, std::uint64_t line, std::uint64_t fingerprint, unsigned age) noexcept;
  void take(Table& table, const Found& found) noexcept;
  std::optional<std::uint64_t> line_with_room(Table& table, const AgedLineTable::Place& place) noexcept;
  void insert_new(Digest d, Tick t) noexcept;
  Table make_table(std::uint64_t number, const Params::Shape& shape) const;

  Params params_;
  PagePolicy policy_;
  Generations generations_;
  std::uint64_t epoch_ = 0;  // generations opened so far
  // A generation was forgotten since the last was opened. A copy is in moment_, which is to be reset with every change.
  bool all_stale_ = false;
  Moment moment_;
  std::uint64_t events_ = 0;        // since the last walk
  std::uint64_t left_to_walk_ = 0;  // lines of each table, before the next generation opens
  TableRow<Table, Params> tables_;
};

}  // namespace nodup
