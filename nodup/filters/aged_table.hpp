// SPDX-License-Identifier: Apache-2.0
//
// aged_table: a cuckoo table of fingerprints whose slots carry the generation of their key. The window in the
// least memory: for --compact, and where little slack is allowed.
//
// Not in the papers. An age-partitioned filter pays for the window with a factor of two in memory and a walk over many
// slices; a table pays with a tag of four bits per key and two cache lines. Each slot (SlotTable) keeps a fingerprint
// and the tag of the generation (Generations) in which its key was passed. Four bits tell 16 apart: empty, 14
// generations in use and one that is being reclaimed; 14 generations make a slack of 1/13 of the window.
//
// Forgetting costs nothing at the moment it happens: the generation's tag leaves the set of tags that count, and from
// then on its slots are free to be overwritten. A tag is given out again only when no slot carries it any more; to that
// end every event clears a few buckets of such slots in passing, as many as are needed to be through within one
// generation. Tags are given out when a generation opens, so idle time and jumps of the clock cost nothing.
//
// When the table is full: without a limit on memory a further, larger table is opened (and the old one dropped when its
// last key is forgotten), tighter, so that the TOTAL error keeps its bound. Under a limit the oldest generation is
// given up early, and window() tells how far back the filter still remembers.
//
// Errors: a false positive (a new event is LOST) at the rate of theory/fingerprint.hpp; never a false negative within
// the effective window. erase() forgets one key: only for keys that were passed within the window (filter.hpp).
// Cost: two cache lines for an event, some more for a new key in a table that is nearly full: `fast` (the default)
// leaves 18 % of the slots free, `compact` 5 %.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "nodup/filters/aged_table_params.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/filters/slot_table.hpp"
#include "nodup/filters/table_row.hpp"

namespace nodup {

class AgedTable {
 public:
  static constexpr std::string_view kName = "aged_table";
  static constexpr std::string_view kSummary =
      "a table of fingerprints with ages: a sliding window in the least memory (for --compact, or little slack)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate within the window never passes";

  using Params = AgedTableParams;

  static Params fit(const Goal& goal) { return Params::fit(goal); }
  static Rates rates(const Params& p, std::uint64_t keys) { return p.rates(keys); }
  static std::uint64_t bytes(const Params& p) { return p.bytes(); }
  static double lines_per_event(const Params& p) { return p.lines_per_event(); }
  static double slack(const Params& p) { return p.slack(); }
  static Facts facts(const Params& p) { return p.facts(); }

  explicit AgedTable(const Params& params, PagePolicy policy = PagePolicy::huge);

  bool insert(Digest d) noexcept { return insert(d, generations_.now()); }
  bool insert(Digest d, Tick t) noexcept;
  bool contains(Digest d) const noexcept { return contains(d, generations_.now()); }
  bool contains(Digest d, Tick t) const noexcept { return holds(d, tags_of(0, generations_.reach(t))); }
  Erased erase(Digest d) noexcept;
  [[gnu::always_inline]] void prefetch(Digest d) const noexcept {
    for (const Table& table : tables_.in_use()) table.slots.prefetch(table.slots.place(d));
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
  static AgedTable load(Reader& in);

 private:
  using Slots = SlotTable<true>;

  struct Table {
    Slots slots;
    std::uint64_t number;                        // counted from the first table ever made
    std::uint64_t capacity;                      // keys
    std::array<std::uint64_t, 64> carried = {};  // slots with each tag; that of tag 0 means nothing
    std::uint64_t live = 0;                      // slots whose generation is not over
    std::uint64_t stale = 0;                     // slots whose generation is over
    std::uint64_t cursor = 0;                    // the bucket to clear next

    std::uint64_t bytes() const noexcept { return slots.bytes(); }
  };
  struct Moment {
    TimeStretch time;
    TagSet counting = 0;  // tags of keys that make an event of that time a duplicate
    TagSet in_slack = 0;  // of generations that began before the window
    unsigned tag = 0;     // for new keys
  };

  // Of a generation with few keys: where they are, so that it can be cleared without a search through a table that may
  // have been made for a thousand times as many.
  struct Listed {
    std::uint64_t first, fingerprint;
  };
  struct List {
    std::uint64_t table = 0;  // its number
    std::uint64_t size = 0;   // above list_room(): not all are on it
  };
  static constexpr std::uint64_t kListed = 4096;  // of all generations
  // Clearing goes on every so many events, several buckets at a time.
  static constexpr std::uint64_t kEventsPerClearing = 32;
  static constexpr TagSet set_of(std::uint64_t tag) { return TagSet{1} << tag; }
  std::uint64_t list_room() const noexcept { return kListed >> params_.tag_bits; }

  struct Empty {};  // without a table yet
  AgedTable(const Params& params, PagePolicy policy, Empty);

  TagSet tags_of(std::uint64_t from_age, std::uint64_t to_age) const noexcept;
  unsigned unused_tag() const noexcept;
  void set_live(TagSet tags) noexcept;
  void open_generation(Tick t) noexcept;
  void forget_oldest(bool early) noexcept;
  void settle(Tick t) noexcept;
  void clear_listed(unsigned tag) noexcept;
  void clear_some(std::uint64_t buckets) noexcept;
  void close_under_pressure(Tick t) noexcept;

  bool holds(Digest d, TagSet counting) const noexcept;
  bool seen_again(unsigned tag) noexcept;
  bool seen_in(const Table& table, Digest d, bool& is_new) noexcept;
  bool insert_placed(const Slots::Place& place, Digest d, Tick t) noexcept;
  template <class TickOf>
  void insert_each(std::span<const Digest> keys, TickOf&& tick_of, bool* is_new) noexcept;
  void list(const Table& table, const Slots::Place& place) noexcept;
  void put(Table& table, Slots::Slot slot, const Slots::Place& place, unsigned overwritten) noexcept;
  static void remove(Table& table, Slots::Slot slot) noexcept;
  void insert_with_moves(Digest d, Tick t) noexcept;
  Table make_table(std::uint64_t number, const Slots::Shape& shape) const;

  Params params_;
  PagePolicy policy_;
  Generations generations_;
  TagSet tags_live_ = 0;  // of the generations; all other tags, tag 0 among them, make a slot free
  Moment moment_;
  std::uint64_t clear_per_event_;
  std::uint64_t events_uncleared_ = 0;
  std::array<List, 64> lists_ = {};  // by tag
  std::vector<Listed> listed_;       // list_room() for each tag
  TableRow<Table, Params> tables_;
};

}  // namespace nodup
