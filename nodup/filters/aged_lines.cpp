// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "nodup/bits/kernels.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

namespace {
constexpr std::uint64_t kLinesSavedAtOnce = 1024;
}  // namespace

AgedLines::AgedLines(const Params& params, PagePolicy policy) : AgedLines(params, policy, Empty{}) {
  tables_.add(params_, make_table(1, params_.shape(1)));
}
AgedLines::AgedLines(const Params& params, PagePolicy policy, Empty)
    : params_(params), policy_(policy), generations_(params.window, params.generations) {}

AgedLines::Table AgedLines::make_table(std::uint64_t number, const Params::Shape& shape) const {
  return {.shape = shape,
          .line = std::make_unique<const AgedLineShape>(shape.fingerprint_bits, shape.slots_per_line),
          .pages = Pages(shape.bytes(), policy_),
          .number = number,
          .capacity = Params::capacity(shape)};
}

// --- generations ---

void AgedLines::forget_oldest(bool early) noexcept {
  const unsigned age = live() - 1;
  Generation& oldest = generations_[age];
  for (Table& table : tables_.in_use()) {
    std::uint64_t& gone = carried(table, age);
    oldest.keys += gone;
    table.live -= gone;
    gone = 0;
  }
  if (early)
    generations_.give_up_oldest();
  else
    generations_.drop_oldest();
  moment_ = {};
  all_stale_ = true;
  tables_.drop_empty(params_);
}

void AgedLines::open_generation(Tick t) noexcept {
  if (generations_.count() == generations_.live() && !generations_.oldest_is_over()) forget_oldest(true);
  walk(left_to_walk_);
  generations_.open(t);
  ++epoch_;
  all_stale_ = false;
  std::uint64_t most = 0;
  for (const Table& table : tables_.in_use()) most = std::max(most, table.shape.lines);
  left_to_walk_ = most / kGenerationsPerWalk + 1;
  moment_ = {};
}

// Brings generations and moment_ to an event of time t.
void AgedLines::settle(Tick t) noexcept {
  generations_.advance(t);
  while (generations_.count() > 1 && generations_.oldest_is_over()) forget_oldest(false);
  if (generations_.must_open(t)) {
    open_generation(t);
    while (generations_.count() > 1 && generations_.oldest_is_over()) forget_oldest(false);
  }
  const TimeStretch time = generations_.stretch(t);
  moment_ = {.time = time,
             .same = {.epoch = epoch_,
                      .live = live(),
                      .reach = static_cast<unsigned>(time.reach),
                      .slack_from = static_cast<unsigned>(time.slack_from),
                      .refresh = params_.window.refresh,
                      .all_stale = all_stale_}};
}

void AgedLines::advance(Tick now) noexcept {
  if (now <= generations_.now()) return;
  generations_.advance(now);
  while (generations_.count() > 0 && generations_.oldest_is_over()) forget_oldest(false);
}

// Brings the next lines of each table up to date.
void AgedLines::walk(std::uint64_t lines) noexcept {
  left_to_walk_ -= lines;
  for (Table& table : tables_.in_use()) {
    for (std::uint64_t left = std::min(lines, table.shape.lines); left > 0; --left) {
      write(table, table.cursor, read(table, table.cursor));
      if (++table.cursor == table.shape.lines) table.cursor = 0;
    }
  }
}

// --- keys ---

// The youngest of the fingerprints that may be of the key, among the generations younger than `reach`.
AgedLines::Found AgedLines::find(const Table& table, const AgedLineTable::Place& place, unsigned reach) const noexcept {
  Found youngest;
  const auto look = [&](std::uint64_t line) {
    const LineAges ages = read(table, line);
    const std::uint64_t found = kernels().find_in_aged_line(*table.line, table.view().line(line), place.fingerprint);
    const std::uint64_t held = table.layout().by_age(found, ages);
    if (held == 0) return;
    const auto n = static_cast<unsigned>(std::countr_zero(held));
    const unsigned age = ages.age_of(n);
    if (age < reach && (!youngest.exists || age < youngest.age)) youngest = {line, n, age, true};
  };
  look(place.first);
  if (place.second != place.first) look(place.second);
  return youngest;
}

bool AgedLines::holds(Digest d, unsigned reach) const noexcept {
  for (const Table& table : tables_.in_use())
    if (find(table, table.view().place(d), reach).exists) return true;
  return false;
}

void AgedLines::contains_all(std::span<const Digest> keys, bool* seen) const noexcept {
  const auto reach = static_cast<unsigned>(generations_.reach(generations_.now()));
  visit_prefetched(
      keys.size(), [&](std::size_t i) { prefetch(keys[i]); }, [&](std::size_t i) { seen[i] = holds(keys[i], reach); });
}

void AgedLines::put(Table& table, std::uint64_t line, std::uint64_t fingerprint, unsigned age) noexcept {
  write(table, line, table.layout().put(table.view().line(line), read(table, line), fingerprint, age));
  ++carried(table, age);
  ++table.live;
}
void AgedLines::take(Table& table, const Found& found) noexcept {
  write(table, found.line, table.layout().take(table.view().line(found.line), read(table, found.line), found.n));
  --carried(table, found.age);
  --table.live;
}

// Takes note of a duplicate. True if its key must be remembered for longer.
bool AgedLines::must_become_younger(unsigned age) noexcept {
  if (age >= moment_.same.slack_from) generations_.count_in_slack();
  return params_.window.refresh && own() < age;
}

// In a table that takes no new keys any more. True if d is there and need not be anywhere else.
bool AgedLines::seen_in(const Table& table, Digest d, bool& is_new) noexcept {
  const Found found = find(table, table.view().place(d), live());
  if (!found.exists) return false;
  const bool is_known = found.age < moment_.same.reach;
  if (is_known && !must_become_younger(found.age)) return true;
  // It is put into the table that takes keys. What is here stays until its time: it may be of another key that looks
  // the same only here.
  is_new = is_new && !is_known;
  return false;
}

// Of an event of moment_.
bool AgedLines::insert_settled(Digest d, Tick t) noexcept {
  bool is_new = true;
  for (const Table& table : tables_.older())
    if (seen_in(table, d, is_new)) return false;

  Table& table = tables_.open();
  const AgedLineTable::Place place = table.view().place(d);
  for (const std::uint64_t line : {place.first, place.second}) write(table, line, read(table, line));
  if (const Found found = find(table, place, live()); found.exists) {
    // Too old for this event, but kept for late ones: it is new, and has one slot all the same.
    const bool is_known = found.age < moment_.same.reach;
    if (!is_known || must_become_younger(found.age)) {
      take(table, found);
      put(table, found.line, place.fingerprint, own());
    }
    return is_new && !is_known;
  }
  insert_new(d, t);
  return is_new;
}

// One of the two lines of a key, the emptier one. If both are full, one of their fingerprints is moved to its other
// line. None if there is no room within that reach.
std::optional<std::uint64_t> AgedLines::line_with_room(Table& table, const AgedLineTable::Place& place) noexcept {
  const unsigned slots = table.shape.slots_per_line;
  const unsigned first = read(table, place.first).used, second = read(table, place.second).used;
  if (std::min(first, second) < slots) return first <= second ? place.first : place.second;
  const AgedLineTable view = table.view();
  for (const std::uint64_t line : {place.first, place.second}) {
    const LineAges ages = read(table, line);
    for (unsigned n = 0; n < slots; ++n) {
      const std::uint64_t fingerprint = table.layout().get(view.line(line), table.layout().slot(ages, n));
      const std::uint64_t other = view.other(line, fingerprint);
      if (other == line || read(table, other).used == slots) continue;
      const Found moved{line, n, ages.age_of(n), true};
      take(table, moved);
      put(table, other, fingerprint, moved.age);
      return line;
    }
  }
  return std::nullopt;
}

// Room for a key that is in no table: in the table that takes keys, else in the next one, else by giving up the oldest.
void AgedLines::insert_new(Digest d, Tick t) noexcept {
  for (;;) {
    Table& table = tables_.open();
    if (table.live < table.capacity) {
      const AgedLineTable::Place place = table.view().place(d);
      if (const auto line = line_with_room(table, place)) {
        put(table, *line, place.fingerprint, own());
        break;
      }
    }
    if (tables_.open_next(params_)) continue;
    forget_oldest(true);
    settle(t);
  }
  if (!tables_.may_grow()) close_under_pressure(t);
}

bool AgedLines::insert_one(Digest d, Tick t) noexcept {
  generations_.advance(t);
  const bool is_new = insert_settled(d, t);
  count_events(1);
  return is_new;
}

// At most up to the next walk.
void AgedLines::count_events(std::uint64_t events) noexcept {
  events_ += events;
  if (events_ < kEventsPerWalk) return;
  walk(std::min(left_to_walk_, kEventsPerWalk));
  events_ = 0;
}

bool AgedLines::insert(Digest d, Tick t) noexcept {
  if (!moment_.time.holds(t)) settle(t);
  return insert_one(d, t);
}

// Events of one moment at once, up to the first that takes more, or has to be followed by more; returns the one behind.
std::size_t AgedLines::insert_many(std::span<const Digest> keys, std::size_t from, std::size_t end,
                                   bool* is_new) noexcept {
  Table& table = tables_.open();
  AgedBatch batch{.room = table.capacity - std::min(table.live, table.capacity)};
  // Up to where close_under_pressure has something to do.
  const std::uint64_t own = carried(table, 0), eighth = table.capacity / 8, half = table.capacity / 2;
  if (!tables_.may_grow() && generations_.count() < generations_.live())
    batch.room = std::min(batch.room, std::max(eighth - std::min(own, eighth), half - std::min(table.live, half)));
  const std::size_t done =
      kernels().insert_aged_lines(*table.line, table.view(), moment_.same, batch, keys.data(), from, end, is_new);
  carried(table, 0) += batch.passed;
  table.live += batch.passed;
  generations_.count_in_slack(batch.in_slack);
  return done;
}

template <class TickOf>
void AgedLines::insert_each(std::span<const Digest> keys, TickOf&& tick_of, bool* is_new) noexcept {
  for (std::size_t i = 0; i < keys.size();) {
    const Tick t = tick_of(i);
    if (!moment_.time.holds(t)) settle(t);
    std::size_t done = i;
    if (tables_.older().empty() && own() == 0) {
      const std::size_t most = std::min<std::size_t>(keys.size(), i + (kEventsPerWalk - events_));
      std::size_t end = i + 1;
      while (end < most && moment_.time.holds(tick_of(end))) ++end;
      const std::uint64_t live_before = tables_.open().live;
      done = insert_many(keys, i, end, is_new);
      for (std::size_t at = i; at < done; ++at) generations_.advance(tick_of(at));
      if (!tables_.may_grow() && tables_.open().live > live_before) close_under_pressure(tick_of(done - 1));
      count_events(done - i);
    }
    // The first that takes more, by itself; all of them, while there are several tables.
    if (done == i) {
      if (i + kPrefetchAhead < keys.size()) prefetch(keys[i + kPrefetchAhead]);
      is_new[i] = insert_one(keys[i], t);
      ++done;
    }
    i = done;
  }
}

void AgedLines::insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
  insert_each(
      keys, [&](std::size_t) { return generations_.now(); }, is_new);
}
void AgedLines::insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) noexcept {
  insert_each(
      keys, [&](std::size_t i) { return ticks[i]; }, is_new);
}

// Memory is at its limit and nearly full: a generation with a large part of all keys would be a large part of the
// window to give up at once.
void AgedLines::close_under_pressure(Tick t) noexcept {
  Table& table = tables_.open();
  if (own() != 0 || generations_.count() == generations_.live()) return;
  if (carried(table, 0) < table.capacity / 8 || table.live < table.capacity / 2) return;
  open_generation(t);
}

Erased AgedLines::erase(Digest d) noexcept {
  bool any = false;
  for (Table& table : tables_.in_use()) {
    const AgedLineTable::Place place = table.view().place(d);
    for (Found found; (found = find(table, place, live())).exists; any = true) take(table, found);
  }
  return any ? Erased::removed : Erased::absent;
}

// --- size ---

void AgedLines::make_room(std::uint64_t more_keys) {
  tables_.make_room(params_, more_keys,
                    [&](std::uint64_t number, const Params::Shape& shape) { return make_table(number, shape); });
}
Rates AgedLines::rates() const {
  double log_none = 0;
  for (const Table& table : tables_.in_use()) {
    const double load = static_cast<double>(table.live) / static_cast<double>(table.shape.slots());
    log_none += std::log1p(-table.shape.false_positive(load));
  }
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts AgedLines::facts() const {
  Facts facts = params_.facts();
  if (const std::size_t tables = tables_.in_use().size(); tables > 1)
    facts.emplace_back("tables", std::to_string(tables));
  return facts;
}

// --- saved ---

// params | generations | epoch, events since the last walk, lines left to walk u64 | tables u64 | each: number, lines,
// cursor u64, 64 bytes per line
void AgedLines::save(Writer& out) const {
  params_.save(out);
  generations_.save(out);
  out.u64(epoch_);
  out.u64(events_);
  out.u64(left_to_walk_);
  out.u64(tables_.in_use().size());
  for (const Table& table : tables_.in_use()) {
    out.u64(table.number);
    out.u64(table.shape.lines);
    out.u64(table.cursor);
    // Each line brought up to date, so that equal content has equal bytes.
    const std::uint64_t* const words = table.view().words;
    std::vector<std::uint64_t> piece;
    for (std::uint64_t line = 0; line < table.shape.lines; line += kLinesSavedAtOnce) {
      const std::uint64_t count = std::min(kLinesSavedAtOnce, table.shape.lines - line);
      piece.assign(words + line * kLineWords, words + (line + count) * kLineWords);
      for (std::uint64_t k = 0; k < count; ++k) piece[k * kLineWords + kAgesWord] = read(table, line + k).word(epoch_);
      out.bytes(std::as_bytes(std::span(piece)));
    }
  }
}

AgedLines AgedLines::load(Reader& in) {
  const Params p = Params::load(in);
  AgedLines filter(p, PagePolicy::huge, Empty{});
  filter.generations_.load(in, 0);
  filter.epoch_ = in.u64("epoch", filter.generations_.count(), std::numeric_limits<std::uint64_t>::max());
  filter.events_ = in.u64("events since the last walk", 0, kEventsPerWalk - 1);
  filter.left_to_walk_ = in.u64("lines left to walk");
  const std::uint64_t tables = in.u64("number of tables", 1, Params::kMostTables);
  for (std::uint64_t i = 0, number = 0; i < tables; ++i) {
    number = in.u64("number of a table", number + 1, Params::kMostTables);
    Params::Shape wanted = p.shape(number);
    // Only the last table within a limit is smaller; see shape_within_limit.
    wanted.lines = in.u64("number of lines", number == 1 ? wanted.lines : std::max<std::uint64_t>(wanted.lines / 16, 1),
                          wanted.lines);
    const std::uint64_t cursor = in.u64("cursor", 0, wanted.lines - 1);
    in.require(wanted.bytes(), "lines");
    Table table = filter.make_table(number, wanted);
    table.cursor = cursor;
    in.bytes(table.pages.span(), "lines");
    for (std::uint64_t line = 0; line < wanted.lines; ++line) {
      const LineAges ages = filter.read(table, line);
      if (ages.newest >= wanted.slots_per_line || ages.used > wanted.slots_per_line)
        in.damaged("a line holds more than it can");
      filter.write(table, line, ages);  // whatever was told of generations that are over
      for (unsigned n = 0; n < ages.used; ++n) ++filter.carried(table, ages.age_of(n));
      table.live += ages.used;
    }
    filter.tables_.add(p, std::move(table));
  }
  filter.left_to_walk_ = std::min(filter.left_to_walk_, filter.tables_.open().shape.lines);
  return filter;
}

static_assert(Ageing<AgedLines> && Growable<AgedLines> && Erasable<AgedLines>);

}  // namespace nodup
