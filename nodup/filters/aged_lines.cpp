// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "nodup/bits/kernels.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

namespace {
constexpr std::uint64_t kLinesSavedAtOnce = 1024;
}  // namespace

AgedLines::AgedLines(const Params& params, PagePolicy policy) : AgedLines(params, policy, {}) {
  tables_.push_back(make_table(1, params_.shape(1)));
  ask_for_growth();
}
AgedLines::AgedLines(const Params& params, PagePolicy policy, std::vector<Table> tables)
    : params_(params), policy_(policy), generations_(params.window, params.generations), tables_(std::move(tables)) {}

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
  for (std::size_t i = 0; i <= open_; ++i) {
    std::uint64_t& gone = carried(tables_[i], age);
    oldest.keys += gone;
    tables_[i].live -= gone;
    gone = 0;
  }
  if (early)
    generations_.give_up_oldest();
  else
    generations_.drop_oldest();
  moment_ = {};
  all_stale_ = true;
  // A table that takes no new keys and has none left.
  for (std::size_t i = 0; i < open_;) {
    if (tables_[i].live > 0) {
      ++i;
      continue;
    }
    tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(i));
    --open_;
    ask_for_growth();
  }
}

void AgedLines::open_generation(Tick t) noexcept {
  if (generations_.count() == generations_.live() && !generations_.oldest_is_over()) forget_oldest(true);
  walk(left_to_walk_);
  generations_.open(t);
  ++epoch_;
  all_stale_ = false;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i <= open_; ++i) most = std::max(most, tables_[i].shape.lines);
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
  const Window& window = params_.window;
  const std::uint64_t own = generations_.age_of(t);
  const Generation& generation = generations_[own];
  Moment m{.from = t, .until = Generations::later(t, 1), .own = static_cast<unsigned>(own), .same = {}};
  if (generation.first <= t && t < generation.end) {
    m.from = generation.first;
    m.until = own == 0 ? generation.end : std::max(m.until, std::min(generation.end, generations_[own - 1].first));
  }
  m.same = {.epoch = epoch_,
            .live = live(),
            .reach = 0,
            .slack_from = live(),
            .refresh = window.refresh,
            .all_stale = all_stale_};
  const Tick since = Generations::since(t, window.span);
  for (unsigned age = 0; age < live(); ++age) {
    const Generation& g = generations_[age];
    const Tick too_old = Generations::later(g.end, window.span), in_slack = Generations::later(g.first, window.span);
    if (g.end > since) {
      m.same.reach = age + 1;
      m.until = std::min(m.until, too_old);
    } else {
      m.from = std::max(m.from, too_old);
    }
    if (g.first < since) {
      m.same.slack_from = std::min(m.same.slack_from, age);
      m.from = std::max(m.from, Generations::later(in_slack, 1));
    } else {
      m.until = std::min(m.until, Generations::later(in_slack, 1));
    }
  }
  if (generations_.count() > 1)
    m.until =
        std::min(m.until, Generations::later(generations_[generations_.count() - 1].end, Generations::kept(window)));
  moment_ = m;
}

void AgedLines::advance(Tick now) noexcept {
  if (now <= generations_.now()) return;
  generations_.advance(now);
  while (generations_.count() > 0 && generations_.oldest_is_over()) forget_oldest(false);
}

// Brings the next lines of each table up to date.
void AgedLines::walk(std::uint64_t lines) noexcept {
  left_to_walk_ -= lines;
  for (std::size_t i = 0; i <= open_; ++i) {
    Table& table = tables_[i];
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
  for (std::size_t i = 0; i <= open_; ++i)
    if (find(tables_[i], tables_[i].view().place(d), reach).exists) return true;
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
  return params_.window.refresh && moment_.own < age;
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
  for (std::size_t i = 0; i < open_; ++i)
    if (seen_in(tables_[i], d, is_new)) return false;

  Table& table = tables_[open_];
  const AgedLineTable::Place place = table.view().place(d);
  for (const std::uint64_t line : {place.first, place.second}) write(table, line, read(table, line));
  if (const Found found = find(table, place, live()); found.exists) {
    // Too old for this event, but kept for late ones: it is new, and has one slot all the same.
    const bool is_known = found.age < moment_.same.reach;
    if (!is_known || must_become_younger(found.age)) {
      take(table, found);
      put(table, found.line, place.fingerprint, moment_.own);
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
    Table& table = tables_[open_];
    if (table.live < table.capacity) {
      const AgedLineTable::Place place = table.view().place(d);
      if (const auto line = line_with_room(table, place)) {
        put(table, *line, place.fingerprint, moment_.own);
        break;
      }
    }
    if (open_ + 1 < tables_.size()) {
      ++open_;
      ask_for_growth();
      continue;
    }
    forget_oldest(true);
    settle(t);
  }
  if (!may_grow_) close_under_pressure(t);
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
  if (t < moment_.from || t >= moment_.until) settle(t);
  return insert_one(d, t);
}

// Events of one moment at once, up to the first that takes more, or has to be followed by more; returns the one behind.
std::size_t AgedLines::insert_many(std::span<const Digest> keys, std::size_t from, std::size_t end,
                                   bool* is_new) noexcept {
  Table& table = tables_[open_];
  AgedBatch batch{.room = table.capacity - std::min(table.live, table.capacity)};
  // Up to where close_under_pressure has something to do.
  const std::uint64_t own = carried(table, 0), eighth = table.capacity / 8, half = table.capacity / 2;
  if (!may_grow_ && generations_.count() < generations_.live())
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
    if (t < moment_.from || t >= moment_.until) settle(t);
    std::size_t done = i;
    if (open_ == 0 && moment_.own == 0) {
      const std::size_t most = std::min<std::size_t>(keys.size(), i + (kEventsPerWalk - events_));
      std::size_t end = i + 1;
      while (end < most && tick_of(end) >= moment_.from && tick_of(end) < moment_.until) ++end;
      const std::uint64_t live_before = tables_[open_].live;
      done = insert_many(keys, i, end, is_new);
      for (std::size_t at = i; at < done; ++at) generations_.advance(tick_of(at));
      if (!may_grow_ && tables_[open_].live > live_before) close_under_pressure(tick_of(done - 1));
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
  Table& table = tables_[open_];
  if (moment_.own != 0 || generations_.count() == generations_.live()) return;
  if (carried(table, 0) < table.capacity / 8 || table.live < table.capacity / 2) return;
  open_generation(t);
}

Erased AgedLines::erase(Digest d) noexcept {
  bool any = false;
  for (std::size_t i = 0; i <= open_; ++i) {
    const AgedLineTable::Place place = tables_[i].view().place(d);
    for (Found found; (found = find(tables_[i], place, live())).exists; any = true) take(tables_[i], found);
  }
  return any ? Erased::removed : Erased::absent;
}

// --- size ---

// The table with this number, if it may be made while `used` bytes are.
std::optional<AgedLines::Params::Shape> AgedLines::may_make(std::uint64_t number, std::uint64_t used) const {
  if (params_.window.by_count && params_.keys >= params_.window.span) return std::nullopt;  // the first holds all
  if (number > Params::kMostTables) return std::nullopt;
  const std::optional<Params::Shape> shape = params_.shape_within_limit(number);
  const bool too_much =
      params_.max_bytes != 0 && shape && shape->bytes() > params_.max_bytes - std::min(used, params_.max_bytes);
  return too_much ? std::nullopt : shape;
}

// Asked when tables come or go, for close_under_pressure. Depends on the events only, not on what make_room has made
// ready.
void AgedLines::ask_for_growth() noexcept { may_grow_ = may_make(tables_[open_].number + 1, bytes()).has_value(); }

void AgedLines::make_room(std::uint64_t more_keys) {
  // The search for room may fail before a table is full: then the next one must be there. Until it is written to, it
  // costs nothing.
  std::uint64_t room = 0;
  for (std::size_t i = open_; i < tables_.size(); ++i) {
    const std::uint64_t sure = tables_[i].capacity / 10 * 8;
    room += sure - std::min(tables_[i].live, sure);
  }
  std::uint64_t used = 0;
  for (const Table& table : tables_) used += table.pages.bytes();
  while (room < more_keys) {
    const std::uint64_t number = tables_.back().number + 1;
    const std::optional<Params::Shape> next = may_make(number, used);
    if (!next) return;
    tables_.push_back(make_table(number, *next));
    used += tables_.back().pages.bytes();
    room += tables_.back().capacity / 10 * 8;
  }
}

std::uint64_t AgedLines::keys() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i <= open_; ++i) sum += tables_[i].live;
  return sum;
}
std::uint64_t AgedLines::bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i <= open_; ++i) sum += tables_[i].pages.bytes();
  return sum;
}
Rates AgedLines::rates() const {
  double log_none = 0;
  for (const Table& table : tables_) {
    const double load = static_cast<double>(table.live) / static_cast<double>(table.shape.slots());
    log_none += std::log1p(-table.shape.false_positive(load));
  }
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts AgedLines::facts() const {
  Facts facts = params_.facts();
  if (open_ > 0) facts.emplace_back("tables", std::to_string(open_ + 1));
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
  out.u64(open_ + 1);
  for (std::size_t i = 0; i <= open_; ++i) {
    out.u64(tables_[i].number);
    out.u64(tables_[i].shape.lines);
    out.u64(tables_[i].cursor);
    // Each line brought up to date, so that equal content has equal bytes.
    const std::uint64_t* const words = tables_[i].view().words;
    std::vector<std::uint64_t> piece;
    for (std::uint64_t line = 0; line < tables_[i].shape.lines; line += kLinesSavedAtOnce) {
      const std::uint64_t count = std::min(kLinesSavedAtOnce, tables_[i].shape.lines - line);
      piece.assign(words + line * kLineWords, words + (line + count) * kLineWords);
      for (std::uint64_t k = 0; k < count; ++k)
        piece[k * kLineWords + kAgesWord] = read(tables_[i], line + k).word(epoch_);
      out.bytes(std::as_bytes(std::span(piece)));
    }
  }
}

AgedLines AgedLines::load(Reader& in) {
  const Params p = Params::load(in);
  AgedLines filter(p, PagePolicy::huge, {});
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
    filter.tables_.push_back(std::move(table));
  }
  filter.open_ = filter.tables_.size() - 1;
  filter.left_to_walk_ = std::min(filter.left_to_walk_, filter.tables_.back().shape.lines);
  filter.ask_for_growth();
  return filter;
}

static_assert(Ageing<AgedLines> && Growable<AgedLines> && Erasable<AgedLines>);

}  // namespace nodup
