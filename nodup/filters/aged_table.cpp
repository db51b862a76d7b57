// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "nodup/filters/format.hpp"
#include "nodup/theory/fingerprint.hpp"

namespace nodup {

namespace {

// Buckets cleared at once when the clock is moved without events: 50 microseconds; and when a tag is wanted and none is
// unused, which takes a table made for far more keys than come: a millisecond or two.
constexpr std::uint64_t kPiece = 1 << 16;
constexpr std::uint64_t kLargePiece = 1 << 20;

}  // namespace

AgedTable::AgedTable(const Params& params, PagePolicy policy) : AgedTable(params, policy, Empty{}) {
  tables_.add(params_, make_table(1, params_.shape(1)));
}
// All buckets are to be cleared within the events of one generation, and a third to spare.
AgedTable::AgedTable(const Params& params, PagePolicy policy, Empty)
    : params_(params),
      policy_(policy),
      generations_(params.window, params.generations()),
      clear_per_event_(static_cast<std::uint64_t>(
          std::ceil(1.33 * static_cast<double>(generations_.live()) / (Slots::kSlots * params.most_load)))),
      listed_(kListed) {}

AgedTable::Table AgedTable::make_table(std::uint64_t number, const Slots::Shape& shape) const {
  return {.slots = Slots(shape, policy_), .number = number, .capacity = Params::capacity(shape)};
}

// --- generations and their tags ---

// Of the generations of these ages, without the last.
TagSet AgedTable::tags_of(std::uint64_t from_age, std::uint64_t to_age) const noexcept {
  TagSet tags = 0;
  for (std::uint64_t age = from_age; age < to_age; ++age) tags |= set_of(generations_[age].tag);
  return tags;
}

// 0: every tag is live or still carried by some slot.
unsigned AgedTable::unused_tag() const noexcept {
  for (unsigned tag = 1; tag < 1u << params_.tag_bits; ++tag) {
    std::uint64_t carried = tags_live_ >> tag & 1;
    for (const Table& table : tables_.in_use()) carried += table.carried[tag];
    if (carried == 0) return tag;
  }
  return 0;
}

void AgedTable::set_live(TagSet tags) noexcept {
  tags_live_ = tags;
  for (Table& table : tables_.in_use()) table.slots.set_free(~tags);
}

void AgedTable::forget_oldest(bool early) noexcept {
  Generation& oldest = generations_[generations_.count() - 1];
  set_live(tags_live_ & ~set_of(oldest.tag));
  for (Table& table : tables_.in_use()) {
    oldest.keys += table.carried[oldest.tag];
    table.live -= table.carried[oldest.tag];
    table.stale += table.carried[oldest.tag];
  }
  clear_listed(static_cast<unsigned>(oldest.tag));
  if (early)
    generations_.give_up_oldest();
  else
    generations_.drop_oldest();
  moment_ = {};
  tables_.drop_empty(params_);
}

// Without an unused tag the newest generation goes on for an event: its keys are remembered longer than they need be,
// but none is forgotten. It takes a table of more than kLargePiece buckets, made for far more keys than come.
void AgedTable::open_generation(Tick t) noexcept {
  unsigned tag = unused_tag();
  if (tag == 0) {
    clear_some(kLargePiece);
    tag = unused_tag();
  }
  if (tag == 0) {
    generations_[0].end = Generations::later(t, 1);
    return;
  }
  if (generations_.count() == generations_.live() && !generations_.oldest_is_over()) forget_oldest(true);
  generations_.open(t).tag = tag;
  lists_[tag] = {.table = tables_.open().number};
  set_live(tags_live_ | set_of(tag));
  moment_ = {};
}

// Brings generations and moment_ to an event of time t.
void AgedTable::settle(Tick t) noexcept {
  generations_.advance(t);
  while (generations_.count() > 1 && generations_.oldest_is_over()) forget_oldest(false);
  if (generations_.must_open(t)) {
    open_generation(t);
    while (generations_.count() > 1 && generations_.oldest_is_over()) forget_oldest(false);
  }
  const TimeStretch time = generations_.stretch(t);
  moment_ = {.time = time,
             .counting = tags_of(0, time.reach),
             .in_slack = tags_of(time.slack_from, generations_.count()),
             .tag = static_cast<unsigned>(generations_[time.own].tag)};
}

void AgedTable::advance(Tick now) noexcept {
  if (now <= generations_.now()) return;
  generations_.advance(now);
  clear_some(kPiece);
  // The last generation stays while there is no tag for its successor.
  while (generations_.oldest_is_over() && (generations_.count() > 1 || unused_tag() != 0)) forget_oldest(false);
}

// A generation with few keys has a list of them, and is cleared at once.
void AgedTable::clear_listed(unsigned tag) noexcept {
  List& list = lists_[tag];
  if (list.size > list_room()) return;
  for (Table& table : tables_.in_use()) {
    if (table.number != list.table) continue;
    for (std::uint64_t k = 0; k < list.size; ++k) {
      const Listed& key = listed_[tag * list_room() + k];
      if (key.first >= table.slots.shape().buckets) continue;  // from a hostile file
      const Slots::Slot slot = table.slots.find(table.slots.place(key.first, key.fingerprint), set_of(tag));
      if (!slot.exists()) continue;
      table.slots.set_tag(slot, 0);
      --table.carried[tag];
      --table.stale;
    }
  }
  list = {};
}

// Goes on clearing slots whose generation is over, so that its tag can be used again.
void AgedTable::clear_some(std::uint64_t buckets) noexcept {
  for (Table& table : tables_.in_use()) {
    for (std::uint64_t left = buckets; table.stale > 0 && left > 0;) {
      const std::uint64_t piece = std::min(left, table.slots.shape().buckets - table.cursor);
      table.slots.clear_stale(table.cursor, piece, [&](unsigned tag) {
        --table.carried[tag];
        --table.stale;
      });
      left -= piece;
      table.cursor += piece;
      if (table.cursor == table.slots.shape().buckets) table.cursor = 0;
    }
  }
}

// --- keys ---

bool AgedTable::holds(Digest d, TagSet counting) const noexcept {
  for (const Table& table : tables_.in_use())
    if (table.slots.find(table.slots.place(d), counting).exists()) return true;
  return false;
}

void AgedTable::contains_all(std::span<const Digest> keys, bool* seen) const noexcept {
  const TagSet counting = tags_of(0, generations_.reach(generations_.now()));
  visit_prefetched(
      keys.size(), [&](std::size_t i) { prefetch(keys[i]); },
      [&](std::size_t i) { seen[i] = holds(keys[i], counting); });
}

// Takes note of a duplicate. True if its key must now be remembered for longer.
inline bool AgedTable::seen_again(unsigned tag) noexcept {
  if ((moment_.in_slack >> tag & 1) != 0) generations_.count_in_slack();
  if (!params_.window.refresh || tag == moment_.tag) return false;
  std::uint64_t age = 0;  // the younger of the two
  while (generations_[age].tag != tag && generations_[age].tag != moment_.tag) ++age;
  return generations_[age].tag != tag;
}

// Puts a key that now has the present tag onto that generation's list.
inline void AgedTable::list(const Table& table, const Slots::Place& place) noexcept {
  List& list = lists_[moment_.tag];
  if (list.size > list_room()) return;
  if (list.size < list_room() && list.table == table.number)
    listed_[moment_.tag * list_room() + list.size] = {place.first, place.fingerprint};
  else
    list.size = list_room();  // not on it are some from now on
  ++list.size;
}

inline void AgedTable::put(Table& table, Slots::Slot slot, const Slots::Place& place, unsigned overwritten) noexcept {
  table.slots.set(slot, place.fingerprint, moment_.tag);
  list(table, place);
  table.stale -= overwritten != 0;
  --table.carried[overwritten];  // of tag 0 the number means nothing
  ++table.carried[moment_.tag];
  ++table.live;
}

void AgedTable::remove(Table& table, Slots::Slot slot) noexcept {
  --table.carried[table.slots.tag(slot)];
  --table.live;
  table.slots.set_tag(slot, 0);
}

// In a table that takes no new keys any more. True if d is there and need not be anywhere else.
bool AgedTable::seen_in(const Table& table, Digest d, bool& is_new) noexcept {
  const Slots::Slot slot = table.slots.find(table.slots.place(d), tags_live_);
  if (!slot.exists()) return false;
  const unsigned tag = table.slots.tag(slot);
  const bool is_known = (moment_.counting >> tag & 1) != 0;
  if (is_known && !seen_again(tag)) return true;
  // It is put into the table that takes keys. What is here stays until its time: it may be of another key that looks
  // the same only here.
  is_new = is_new && !is_known;
  return false;
}

// `place` is that of d in the table that takes new keys.
[[gnu::always_inline]] inline bool AgedTable::insert_placed(const Slots::Place& place, Digest d, Tick t) noexcept {
  generations_.advance(t);
  if (++events_uncleared_ == kEventsPerClearing) {
    clear_some(kEventsPerClearing * clear_per_event_);
    events_uncleared_ = 0;
  }
  bool is_new = true;
  for (const Table& table : tables_.older())
    if (seen_in(table, d, is_new)) return false;

  Table& table = tables_.open();
  if (const unsigned matches = table.slots.matches(place); matches != 0) {
    const Slots::Slot slot = table.slots.first_of(matches, place, tags_live_);
    if (slot.exists()) {
      // Too old for this event, but kept for late ones: it is new, and has one slot all the same.
      const unsigned tag = table.slots.tag(slot);
      const bool is_known = (moment_.counting >> tag & 1) != 0;
      if (!is_known || seen_again(tag)) {
        table.slots.set_tag(slot, moment_.tag);
        list(table, place);
        --table.carried[tag];
        ++table.carried[moment_.tag];
      }
      return is_new && !is_known;
    }
  }
  const Four first = table.slots.free(place.first), second = table.slots.free(place.second);
  if ((first | second) == 0 || table.live >= table.capacity) {
    insert_with_moves(d, t);
    return is_new;
  }
  // Into the emptier of the two: so full buckets stay rare.
  const bool in_first = how_many(first) >= how_many(second);
  const Slots::Slot slot{in_first ? place.first : place.second, lowest(in_first ? first : second)};
  put(table, slot, place, table.slots.tag(slot));
  if (!tables_.may_grow() && table.carried[moment_.tag] * 8 >= table.capacity) close_under_pressure(t);
  return is_new;
}

bool AgedTable::insert(Digest d, Tick t) noexcept {
  if (!moment_.time.holds(t)) settle(t);
  return insert_placed(tables_.open().slots.place(d), d, t);
}

// Places are computed once, when their memory is asked for, and kept until it is there.
template <class TickOf>
void AgedTable::insert_each(std::span<const Digest> keys, TickOf&& tick_of, bool* is_new) noexcept {
  constexpr std::size_t kRing = 32;
  static_assert(kRing > kPrefetchAhead && (kRing & (kRing - 1)) == 0);
  std::array<Slots::Place, kRing> places;
  std::uint64_t number = tables_.open().number;  // of the table they are for
  visit_prefetched(
      keys.size(),
      [&](std::size_t i) {
        const Slots& slots = tables_.open().slots;
        slots.prefetch(places[i % kRing] = slots.place(keys[i]));
        for (const Table& older : tables_.older()) older.slots.prefetch(older.slots.place(keys[i]));
      },
      [&](std::size_t i) {
        const Tick t = tick_of(i);
        if (!moment_.time.holds(t)) settle(t);
        if (tables_.open().number != number) {  // a further table has been opened
          number = tables_.open().number;
          for (std::size_t ahead = i; ahead < std::min(keys.size(), i + kPrefetchAhead + 1); ++ahead)
            places[ahead % kRing] = tables_.open().slots.place(keys[ahead]);
        }
        is_new[i] = insert_placed(places[i % kRing], keys[i], t);
      });
}

void AgedTable::insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
  insert_each(
      keys, [&](std::size_t) { return generations_.now(); }, is_new);
}
void AgedTable::insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) noexcept {
  insert_each(
      keys, [&](std::size_t i) { return ticks[i]; }, is_new);
}

// Room for a key that is in no table: by moving others, else in the next table, else by giving up the oldest keys.
void AgedTable::insert_with_moves(Digest d, Tick t) noexcept {
  for (;;) {
    Table& table = tables_.open();
    if (table.live < table.capacity) {
      const Slots::Place place = table.slots.place(d);
      if (const Slots::Way way = table.slots.make_way(place); way.slot.exists()) {
        put(table, way.slot, place, way.overwritten);
        break;
      }
    }
    if (tables_.open_next(params_)) {
      tables_.open().slots.set_free(~tags_live_);
      continue;
    }
    forget_oldest(true);
    while (generations_.count() == 0 && unused_tag() == 0) clear_some(kPiece);
    settle(t);
  }
  if (!tables_.may_grow()) close_under_pressure(t);
}

// Memory is at its limit and nearly full: a generation with a large part of all keys would be a large part of the
// window to give up at once.
void AgedTable::close_under_pressure(Tick t) noexcept {
  const Table& table = tables_.open();
  if (table.carried[moment_.tag] * 8 < table.capacity || table.live * 2 < table.capacity) return;
  if (generations_.count() == generations_.live() || generations_[0].tag != moment_.tag || unused_tag() == 0) return;
  open_generation(t);
}

Erased AgedTable::erase(Digest d) noexcept {
  bool any = false;
  for (Table& table : tables_.in_use()) {
    const Slots::Place place = table.slots.place(d);
    for (Slots::Slot slot; (slot = table.slots.find(place, tags_live_)).exists(); any = true) remove(table, slot);
  }
  return any ? Erased::removed : Erased::absent;
}

// --- size ---

void AgedTable::make_room(std::uint64_t more_keys) {
  tables_.make_room(params_, more_keys,
                    [&](std::uint64_t number, const Slots::Shape& shape) { return make_table(number, shape); });
}
Rates AgedTable::rates() const {
  double log_none = 0;
  for (const Table& table : tables_.in_use()) {
    const double load = static_cast<double>(table.live) / static_cast<double>(table.slots.shape().slots());
    log_none += std::log1p(-theory::fingerprint_false_positive(load, table.slots.shape().fingerprint_bits));
  }
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts AgedTable::facts() const {
  Facts facts = params_.facts();
  if (const std::size_t tables = tables_.in_use().size(); tables > 1)
    facts.emplace_back("tables", std::to_string(tables));
  return facts;
}

static_assert(Ageing<AgedTable> && Growable<AgedTable> && Erasable<AgedTable>);

}  // namespace nodup
