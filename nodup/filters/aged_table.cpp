// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/fingerprint.hpp"
#include "nodup/theory/growing.hpp"

namespace nodup {

namespace {

constexpr double kFastLoad = 0.82;
constexpr double kCompactLoad = 0.95;
constexpr double kMostLoad = 0.97;  // a table takes this much before it is full: the search for room stays short

constexpr unsigned kLeastSlotBits = 12;
constexpr std::uint64_t kSpareBuckets = 8;  // small tables fill less evenly
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 58;
constexpr std::uint64_t kMostTables = 32;

// Cleared at once when the clock is moved without events, or when a tag is wanted and none is unused: 50 microseconds.
constexpr std::uint64_t kPiece = 1 << 16;

constexpr TagSet set_of(std::uint64_t tag) { return TagSet{1} << tag; }
constexpr unsigned lowest(unsigned slots) { return static_cast<unsigned>(std::countr_zero(slots)); }

std::uint64_t live_generations(unsigned tag_bits) { return (1u << tag_bits) - 2; }

// Keys held at the worst moment, just before the oldest generation is over.
double most_held(const Window& window, unsigned tag_bits, double keys) {
  const auto live = static_cast<double>(live_generations(tag_bits));
  return window.endless() ? keys : keys * live / (live - 1);
}

// 58 and 60 bits fit as well where they always begin at an even bit, or at half a byte.
unsigned possible_fingerprint(unsigned bits, unsigned tag_bits) {
  const unsigned least = kLeastSlotBits - tag_bits;
  if (bits <= SlotTable<true>::kWidestFingerprint) return std::max(bits, least);
  return tag_bits == 4 ? 60 : 58;
}

std::uint64_t buckets_for(double held, double load) {
  return static_cast<std::uint64_t>(std::min(std::ceil(held / (4 * load)), static_cast<double>(kMostBuckets))) +
         kSpareBuckets;
}

}  // namespace

AgedTable::Params AgedTable::fit(const Goal& goal) {
  check_goal(goal);
  Params p;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  p.error = goal.error;
  p.max_bytes = goal.bytes;
  p.window = goal.window;
  p.load = goal.compact ? kCompactLoad : kFastLoad;
  const std::uint64_t needed = Generations::needed(goal.window, live_generations(6));
  for (p.tag_bits = 4; p.tag_bits < 6 && live_generations(p.tag_bits) < needed;) ++p.tag_bits;
  // A little of the error is left to further tables.
  p.fingerprint_bits = possible_fingerprint(theory::fingerprint_bits(kMostLoad, 0.98 * goal.error), p.tag_bits);
  const double held = most_held(p.window, p.tag_bits, static_cast<double>(p.keys));
  p.buckets = buckets_for(held, p.load);
  if (goal.bytes == 0 || bytes(p) <= goal.bytes) return p;
  // Within the limit: a fuller table, then a higher error, at last fewer keys.
  p.load = kCompactLoad;
  p.buckets = buckets_for(held, p.load);
  while (bytes(p) > goal.bytes && p.fingerprint_bits + p.tag_bits > kLeastSlotBits)
    p.fingerprint_bits = std::min(p.fingerprint_bits - 1, Slots::kWidestFingerprint);
  if (bytes(p) > goal.bytes) {
    const std::uint64_t payload = std::max<std::uint64_t>(goal.bytes / 64 * 64, 64) - 8;
    p.buckets = std::max<std::uint64_t>(payload * 8 / shape(p, 1).bucket_bits(), 1);
  }
  return p;
}

// Each table four times the one before; what the first leaves of the error is shared as in `growing`.
AgedTable::Slots::Shape AgedTable::shape(const Params& p, std::uint64_t number) {
  Slots::Shape shape{.buckets = p.buckets, .fingerprint_bits = p.fingerprint_bits, .tag_bits = p.tag_bits};
  if (number == 1) return shape;
  const double first = theory::fingerprint_false_positive(kMostLoad, p.fingerprint_bits);
  const double error = theory::stage_error(std::max(p.error - first, 0.02 * p.error), number - 1);
  shape.fingerprint_bits = possible_fingerprint(theory::fingerprint_bits(kMostLoad, error), p.tag_bits);
  const auto keys = static_cast<double>(theory::stage_keys(p.keys, number));
  shape.buckets = buckets_for(most_held(p.window, p.tag_bits, keys), p.load);
  return shape;
}

std::uint64_t AgedTable::capacity(const Slots::Shape& shape) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(kMostLoad * static_cast<double>(shape.slots())), 1);
}

Rates AgedTable::rates(const Params& p, std::uint64_t keys) {
  const auto slots = static_cast<double>(shape(p, 1).slots());
  const double load = most_held(p.window, p.tag_bits, static_cast<double>(keys)) / slots;
  return {.false_positive = theory::fingerprint_false_positive(std::min(load, kMostLoad), p.fingerprint_bits)};
}
std::uint64_t AgedTable::bytes(const Params& p) { return shape(p, 1).bytes(); }
// Half of the events new.
double AgedTable::lines_per_event(const Params& p) {
  const double lines_per_bucket = 1 + shape(p, 1).bucket_bits() / 512.0;
  return lines_per_bucket * (2 + theory::buckets_searched(p.load) / 2);
}
double AgedTable::slack(const Params& p) { return Generations::slack(p.window, live_generations(p.tag_bits)); }
Facts AgedTable::facts(const Params& p) {
  return {{"slots", std::to_string(shape(p, 1).slots())},
          {"fingerprint_bits", std::to_string(p.fingerprint_bits)},
          {"generation_bits", std::to_string(p.tag_bits)},
          {"load", fmt::format("{:g}", p.load)},
          {"capacity", std::to_string(p.keys)}};
}

AgedTable::AgedTable(const Params& params, PagePolicy policy) : AgedTable(params, policy, {}) {
  const Slots::Shape first = shape(params_, 1);
  tables_.push_back({Slots(first, policy_), capacity(first)});
}
// All buckets are to be cleared within the events of one generation, and a third to spare.
AgedTable::AgedTable(const Params& params, PagePolicy policy, std::vector<Table> tables)
    : params_(params),
      policy_(policy),
      generations_(params.window, live_generations(params.tag_bits)),
      clear_per_event_(static_cast<std::uint64_t>(
          std::ceil(1.33 * static_cast<double>(generations_.live()) / (Slots::kSlots * params.load)))),
      tables_(std::move(tables)) {}

// --- generations and their tags ---

TagSet AgedTable::tags_counting(Tick t) const noexcept {
  TagSet tags = 0;
  const std::uint64_t reach = generations_.reach(t);
  for (std::uint64_t age = 0; age < reach; ++age) tags |= set_of(generations_[age].tag);
  return tags;
}

// 0: every tag is live or still carried by some slot.
unsigned AgedTable::unused_tag() const noexcept {
  for (unsigned tag = 1; tag < 1u << params_.tag_bits; ++tag) {
    std::uint64_t carried = tags_live_ >> tag & 1;
    for (std::size_t i = 0; i <= open_; ++i) carried += tables_[i].carried[tag];
    if (carried == 0) return tag;
  }
  return 0;
}

void AgedTable::forget_oldest(bool early) noexcept {
  Generation& oldest = generations_[generations_.count() - 1];
  tags_live_ &= ~set_of(oldest.tag);
  for (std::size_t i = 0; i <= open_; ++i) {
    Table& table = tables_[i];
    oldest.keys += table.carried[oldest.tag];
    table.live -= table.carried[oldest.tag];
    table.stale += table.carried[oldest.tag];
  }
  if (early)
    generations_.give_up_oldest();
  else
    generations_.drop_oldest();
  moment_ = {};
  // A table that takes no new keys and has none left.
  for (std::size_t i = 0; i < open_;) {
    if (tables_[i].live > 0) {
      ++i;
      continue;
    }
    tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(i));
    --open_;
  }
}

// Without an unused tag the newest generation goes on: its keys are remembered longer than they need be, but none is
// forgotten. It takes a table larger than kPiece buckets and hardly an event per generation to come to that.
void AgedTable::open_generation(Tick t) noexcept {
  unsigned tag = unused_tag();
  if (tag == 0) {
    clear_some(kPiece);
    tag = unused_tag();
  }
  if (tag == 0) {
    generations_[0].end = Generations::later(t, 1);
    return;
  }
  if (generations_.count() == generations_.live() && !generations_.oldest_is_over()) forget_oldest(true);
  generations_.open(t).tag = tag;
  tags_live_ |= set_of(tag);
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
  const Window& window = params_.window;
  const std::uint64_t own = generations_.age_of(t);
  const Generation& generation = generations_[own];
  Moment m{.from = t, .until = Generations::later(t, 1), .tag = static_cast<unsigned>(generation.tag)};
  if (generation.first <= t && t < generation.end) {
    m.from = generation.first;
    m.until = own == 0 ? generation.end : std::max(m.until, std::min(generation.end, generations_[own - 1].first));
  }
  const Tick since = Generations::since(t, window.span);
  for (std::uint64_t age = 0; age < generations_.count(); ++age) {
    const Generation& g = generations_[age];
    const Tick too_old = Generations::later(g.end, window.span), in_slack = Generations::later(g.first, window.span);
    if (g.end > since) {
      m.counting |= set_of(g.tag);
      m.until = std::min(m.until, too_old);
    } else {
      m.from = std::max(m.from, too_old);
    }
    if (g.first < since) {
      m.in_slack |= set_of(g.tag);
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

void AgedTable::advance(Tick now) noexcept {
  if (now <= generations_.now()) return;
  generations_.advance(now);
  clear_some(kPiece);
  // The last generation stays while there is no tag for its successor.
  while (generations_.oldest_is_over() && (generations_.count() > 1 || unused_tag() != 0)) forget_oldest(false);
}

// Goes on clearing slots whose generation is over, so that its tag can be used again.
inline void AgedTable::clear_some(std::uint64_t buckets) noexcept {
  for (std::size_t i = 0; i <= open_; ++i) {
    Table& table = tables_[i];
    for (std::uint64_t done = 0; table.stale > 0 && done < buckets; ++done) {
      const std::uint64_t bucket = table.cursor;
      table.cursor = bucket + 1 == table.slots.shape().buckets ? 0 : bucket + 1;
      table.slots.visit(bucket, [&](Slots::Slot slot, unsigned tag) {
        if (tag == 0 || (tags_live_ >> tag & 1) != 0) return;
        table.slots.set_tag(slot, 0);
        --table.carried[tag];
        --table.stale;
      });
    }
  }
}

// --- keys ---

// The slot that holds d with one of these tags; index kSlots: none.
AgedTable::Slots::Slot AgedTable::find(const Table& table, Digest d, TagSet tags) noexcept {
  const Slots::Place place = table.slots.place(d);
  for (const std::uint64_t bucket : {place.first, place.second}) {
    const unsigned hits = table.slots.look(bucket, place.fingerprint, tags, 0).hits;
    if (hits != 0) return {bucket, lowest(hits)};
  }
  return {0, Slots::kSlots};
}

bool AgedTable::holds(Digest d, TagSet counting) const noexcept {
  for (std::size_t i = 0; i <= open_; ++i)
    if (find(tables_[i], d, counting).index < Slots::kSlots) return true;
  return false;
}

void AgedTable::contains_all(std::span<const Digest> keys, bool* seen) const noexcept {
  const TagSet counting = tags_counting(generations_.now());
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

inline void AgedTable::put(Table& table, Slots::Slot slot, std::uint64_t fingerprint, unsigned overwritten) noexcept {
  table.slots.set(slot, fingerprint, moment_.tag);
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

bool AgedTable::insert(Digest d, Tick t) noexcept {
  if (t < moment_.from || t >= moment_.until) settle(t);
  generations_.advance(t);
  clear_some(clear_per_event_);
  bool is_new = true;
  for (std::size_t i = 0; i < open_ && is_new; ++i) {
    const Slots::Slot slot = find(tables_[i], d, moment_.counting);
    if (slot.index == Slots::kSlots) continue;
    if (!seen_again(tables_[i].slots.tag(slot))) return false;
    // It moves to the table that takes keys, so that this one can go.
    remove(tables_[i], slot);
    is_new = false;
  }

  Table& table = tables_[open_];
  const Slots::Place place = table.slots.place(d);
  const Slots::Look first = table.slots.look(place.first, place.fingerprint, moment_.counting, ~tags_live_);
  const Slots::Look second = table.slots.look(place.second, place.fingerprint, moment_.counting, ~tags_live_);
  if ((first.hits | second.hits) != 0) {
    const Slots::Slot slot =
        first.hits != 0 ? Slots::Slot{place.first, lowest(first.hits)} : Slots::Slot{place.second, lowest(second.hits)};
    const unsigned tag = table.slots.tag(slot);
    if (seen_again(tag)) {
      table.slots.set_tag(slot, moment_.tag);
      --table.carried[tag];
      ++table.carried[moment_.tag];
    }
    return false;
  }
  if ((first.free | second.free) == 0 || table.live >= table.capacity) {
    insert_with_moves(d, t);
    return is_new;
  }
  // Into the emptier of the two: so full buckets stay rare.
  const bool in_first = std::popcount(first.free) >= std::popcount(second.free);
  const Slots::Slot slot{in_first ? place.first : place.second, lowest(in_first ? first.free : second.free)};
  put(table, slot, place.fingerprint, table.slots.tag(slot));
  if (exhausted_) close_under_pressure(t);
  return is_new;
}

// Room for a key that is in no table: by moving others, else in the next table, else by giving up the oldest keys.
void AgedTable::insert_with_moves(Digest d, Tick t) noexcept {
  for (;;) {
    Table& table = tables_[open_];
    if (table.live < table.capacity) {
      const Slots::Place place = table.slots.place(d);
      const Slots::Way way = table.slots.make_way(place, ~tags_live_);
      if (way.slot.index < Slots::kSlots) {
        put(table, way.slot, place.fingerprint, way.overwritten);
        break;
      }
    }
    if (open_ + 1 < tables_.size()) {
      ++open_;
      continue;
    }
    forget_oldest(true);
    while (generations_.count() == 0 && unused_tag() == 0) clear_some(kPiece);
    settle(t);
  }
  if (exhausted_) close_under_pressure(t);
}

// Memory is at its limit and nearly full: a generation with a large part of all keys would be a large part of the
// window to give up at once.
void AgedTable::close_under_pressure(Tick t) noexcept {
  const Table& table = tables_[open_];
  if (table.carried[moment_.tag] * 8 < table.capacity || table.live * 4 < table.capacity * 3) return;
  if (generations_.count() == generations_.live() || generations_[0].tag != moment_.tag || unused_tag() == 0) return;
  open_generation(t);
}

Erased AgedTable::erase(Digest d) noexcept {
  bool any = false;
  for (std::size_t i = 0; i <= open_; ++i) {
    for (;;) {
      const Slots::Slot slot = find(tables_[i], d, tags_live_);
      if (slot.index == Slots::kSlots) break;
      remove(tables_[i], slot);
      any = true;
    }
  }
  return any ? Erased::removed : Erased::absent;
}

// --- size ---

// False when the memory limit leaves no room for a table worth having, or none will ever be needed.
bool AgedTable::add_table() {
  if (params_.window.by_count && params_.keys >= params_.window.span) return false;
  if (number_ == kMostTables) return false;
  Slots::Shape next = shape(params_, number_ + 1);
  if (params_.max_bytes != 0) {
    const std::uint64_t used = bytes();
    if (used >= params_.max_bytes) return false;
    const std::uint64_t room = (params_.max_bytes - used) / 64 * 64;
    const std::uint64_t most = room < 64 ? 0 : (room - 8) * 8 / next.bucket_bits();
    if (most < next.buckets / 16) return false;
    next.buckets = std::min(next.buckets, most);
  }
  tables_.push_back({Slots(next, policy_), capacity(next)});
  ++number_;
  return true;
}

void AgedTable::make_room(std::uint64_t more_keys) {
  std::uint64_t room = 0;
  for (std::size_t i = open_; i < tables_.size(); ++i)
    room += tables_[i].capacity - std::min(tables_[i].live, tables_[i].capacity);
  while (room < more_keys && !exhausted_) {
    exhausted_ = !add_table();
    if (!exhausted_) room += tables_.back().capacity;
  }
}

std::uint64_t AgedTable::keys() const {
  std::uint64_t sum = 0;
  for (const Table& table : tables_) sum += table.live;
  return sum;
}
std::uint64_t AgedTable::bytes() const {
  std::uint64_t sum = 0;
  for (const Table& table : tables_) sum += table.slots.bytes();
  return sum;
}
Rates AgedTable::rates() const {
  double log_none = 0;
  for (const Table& table : tables_) {
    const double load = static_cast<double>(table.live) / static_cast<double>(table.slots.shape().slots());
    log_none += std::log1p(-theory::fingerprint_false_positive(load, table.slots.shape().fingerprint_bits));
  }
  return {.false_positive = -std::expm1(log_none)};
}
Facts AgedTable::facts() const {
  Facts facts = AgedTable::facts(params_);
  if (open_ > 0) facts.emplace_back("tables", std::to_string(open_ + 1));
  return facts;
}

// --- saved ---

// keys u64 | error f64 | load f64 | tag bits, fingerprint bits, buckets u64 | window | generations | number of the last
// table u64 | is memory exhausted u64 | tables u64 | each: buckets, fingerprint bits, cursor u64, packed slots
void AgedTable::save(Writer& out) const {
  out.u64(params_.keys);
  out.f64(params_.error);
  out.f64(params_.load);
  out.u64(params_.tag_bits);
  out.u64(params_.fingerprint_bits);
  out.u64(params_.buckets);
  save_window(out, params_.window);
  generations_.save(out);
  // Tables made ready but not used are made anew.
  out.u64(number_ - (tables_.size() - 1 - open_));
  out.u64(exhausted_);
  out.u64(open_ + 1);
  for (std::size_t i = 0; i <= open_; ++i) {
    out.u64(tables_[i].slots.shape().buckets);
    out.u64(tables_[i].slots.shape().fingerprint_bits);
    out.u64(tables_[i].cursor);
    out.bytes(tables_[i].slots.payload());
  }
}

AgedTable AgedTable::load(Reader& in) {
  const auto fingerprint_bits = [&](unsigned tag_bits) {
    const auto bits = static_cast<unsigned>(in.u64("fingerprint bits", kLeastSlotBits - tag_bits, 60));
    if (possible_fingerprint(bits, tag_bits) != bits) in.damaged("fingerprints of this width cannot be");
    return bits;
  };
  Params p;
  p.keys = in.u64("keys", 1, UINT64_MAX);
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  p.load = in.f64("load", 0.1, kMostLoad);
  p.tag_bits = static_cast<unsigned>(in.u64("tag bits", 4, 6));
  p.fingerprint_bits = fingerprint_bits(p.tag_bits);
  p.buckets = in.u64("buckets", 1, kMostBuckets + kSpareBuckets);
  p.window = load_window(in);
  AgedTable filter(p, PagePolicy::huge, {});
  filter.generations_.load(in, (1u << p.tag_bits) - 1);
  for (std::uint64_t age = 0; age < filter.generations_.count(); ++age) {
    const TagSet tag = set_of(filter.generations_[age].tag);
    if (tag == set_of(0) || (filter.tags_live_ & tag) != 0) in.damaged("two generations have one tag");
    filter.tags_live_ |= tag;
  }
  filter.number_ = in.u64("number of the last table", 1, kMostTables);
  filter.exhausted_ = in.u64("memory is exhausted", 0, 1) == 1;
  const std::uint64_t tables = in.u64("number of tables", 1, filter.number_);
  for (std::uint64_t i = 0; i < tables; ++i) {
    Slots::Shape shape{.tag_bits = p.tag_bits};
    shape.buckets = in.u64("buckets", 1, kMostBuckets + kSpareBuckets);
    shape.fingerprint_bits = fingerprint_bits(p.tag_bits);
    const std::uint64_t cursor = in.u64("cursor", 0, shape.buckets - 1);
    in.require(shape.payload_bytes(), "slots");
    Table table{Slots(shape, filter.policy_), capacity(shape)};
    table.cursor = cursor;
    in.bytes(table.slots.payload(), "slots");
    for (std::uint64_t bucket = 0; bucket < shape.buckets; ++bucket) {
      table.slots.visit(bucket, [&](Slots::Slot, unsigned tag) {
        ++table.carried[tag];
        (filter.tags_live_ >> tag & 1 ? table.live : table.stale) += tag != 0;
      });
    }
    table.carried[0] = 0;
    filter.tables_.push_back(std::move(table));
  }
  filter.open_ = filter.tables_.size() - 1;
  return filter;
}

static_assert(Ageing<AgedTable> && Growable<AgedTable> && Erasable<AgedTable>);

}  // namespace nodup
