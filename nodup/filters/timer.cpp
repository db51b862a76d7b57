// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/timer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "nodup/filters/format.hpp"
#include "nodup/theory/bloom.hpp"
#include "nodup/theory/timer.hpp"

namespace nodup {

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// By hand a cell may have up to 16 bits, for timers of single ticks.
constexpr unsigned kWidest = 16;

Tick plus(Tick a, Tick b) { return a > kMost - b ? kMost : a + b; }

}  // namespace

Timer::Timer(const Params& params, Empty)
    : params_(params), generations_(params.window, params.generations), order_(std::uint64_t{1} << params.width()) {}

Timer::Timer(const Params& params) : Timer(params, Empty{}) {
  if (params.probes < 1 || params.probes > TimerStage::kMostProbes || params.width() > kWidest)
    throw Error(
        fmt::format("a timer filter takes 1 to {} probes and 1 to {} bits per cell", TimerStage::kMostProbes, kWidest));
  if (params.max_bytes != 0 && bytes(params) > params.max_bytes)
    throw Error(fmt::format("a timer filter does not fit {} bytes of memory", params.max_bytes));
  const Size size = *size_of(params, 1);
  stages_.emplace_back(1, size.cells, size.probes, params.width(), size.full);
  use_newest();
}

// Keys that can still come before it is full, if each sets as many cells as it can.
std::uint64_t Timer::room(const TimerStage& stage) const {
  const std::uint64_t used = params_.full_by_count ? stage.keys : stage.alive;
  const std::uint64_t left = stage.full > used ? stage.full - used : 0;
  return params_.full_by_count ? left : left / stage.probes;
}

// Whatever stage may be opened before the next call is made now, so that what the filter holds never depends on how the
// stream was cut into batches. Of each number one is enough: it is open, or closed, or waits.
void Timer::make_room(std::uint64_t more_keys) {
  const auto make = [&](std::uint64_t number) {
    const auto there = [&](const std::vector<TimerStage>& row) {
      return std::ranges::find(row, number, &TimerStage::number) != row.end();
    };
    if (there(spares_) || there(stages_)) return true;
    const std::optional<Size> size = number > last_number_ ? std::nullopt : size_of(params_, number);
    if (!size) return false;
    if (params_.equal_stages && params_.max_bytes != 0 && bytes() + bytes(params_) > params_.max_bytes) return false;
    spares_.emplace_back(number, size->cells, size->probes, params_.width(), size->full);
    return true;
  };
  // The stages that fill one after the other, and one more if any of them may be passed over.
  const auto make_row = [&](std::uint64_t number, std::uint64_t left, bool skips_known) {
    bool passed_over = skips_known;
    while (left < more_keys || !passed_over) {
      passed_over |= left >= more_keys;
      const std::uint64_t next = skips_known ? number_after(number) : number + 1;
      if (!make(next)) {
        if (!params_.equal_stages) last_number_ = std::min(last_number_, number);
        return;
      }
      if (const auto spare = std::ranges::find(spares_, next, &TimerStage::number); spare != spares_.end())
        left += room(*spare);
      number = next;
    }
  };
  make_row(newest().number, room(newest()), true);
  // It may go back to the first stage, and grow again from there.
  if (!params_.equal_stages && !params_.window.endless() && (newest().number != 1 || !spares_.empty())) {
    make(1);
    const std::uint64_t first_room = size_of(params_, 1)->full / (params_.full_by_count ? 1 : params_.probes);
    if (first_room < more_keys) make_row(1, first_room, false);
  }
  stages_.reserve(stages_.size() + spares_.size());
  spares_.reserve(stages_.size() + spares_.size());
}

bool Timer::open_stage(std::uint64_t number) noexcept {
  const auto spare = std::ranges::find(spares_, number, &TimerStage::number);
  if (spare == spares_.end()) return false;
  newest().last = serial_;
  stages_.push_back(std::move(*spare));  // has the room: make_room
  spares_.erase(spare);
  use_newest();
  drop_empty_stages();
  return true;
}

void Timer::use_newest() noexcept {
  cursor_ = 0;
  pace_ = 2 * static_cast<double>(newest().cells.size()) /
          static_cast<double>(Generations::length(params_.window, params_.generations));
}

// A stage that is closed and has no live cell waits for its next time; its memory goes back to the system. The newest
// may be as good as empty: the keys to come are its reason to be there.
void Timer::drop_empty_stages() noexcept {
  for (auto stage = stages_.begin(); stage + 1 != stages_.end();) {
    if (stage->alive > 0) {
      ++stage;
      continue;
    }
    if (!params_.equal_stages && spares_.size() < spares_.capacity()) {
      stage->clear();
      spares_.push_back(std::move(*stage));
    }
    stage = stages_.erase(stage);
  }
}

// Would a first stage do for the keys that are alive? Asked when a generation has just gone, so with a generation to
// spare.
bool Timer::fits_first_stage() const noexcept {
  const auto m = static_cast<double>(newest().cells.size()), k = static_cast<double>(newest().probes);
  const double keys = params_.held(static_cast<double>(params_.keys));
  return static_cast<double>(newest().alive) <= theory::cells_hit(m, k * keys);
}

// All stages may hold keys of the oldest generation: one that is closed goes with the last generation it may hold.
void Timer::drop_generation() noexcept {
  const std::uint64_t tag = generations_[generations_.count() - 1].tag;
  for (TimerStage& stage : stages_) stage.alive -= stage.counts[tag];
  order_[tag] = 0;
  generations_.drop_oldest();
  same_to_ = 0;
  drop_empty_stages();
  if (stages_.size() > 1 || newest().number == 1 || params_.equal_stages || !fits_first_stage()) return;
  const std::uint64_t alone = newest().number;
  if (open_stage(1)) skipped_ = alone;
}

void Timer::open_generation(Tick t) noexcept {
  const std::uint64_t tag = next_tag();
  if (order_[tag] == 0) cursor_ = newest().sweep(cursor_, kLargeSweep, tag);
  if (generations_.count() == generations_.live() || newest().counts[tag] > 0) {
    if (generations_.count() > 0) {
      generations_[0].end = std::max(generations_[0].end, plus(t, 1));
      same_to_ = 0;
      return;
    }
    newest().clear();
  }
  generations_.open(t).tag = tag;
  order_[tag] = ++serial_;
  same_to_ = 0;
}

// An earlier time, or the same, changes nothing: so it does not matter who tells the time first.
void Timer::advance(Tick now) noexcept {
  if (now <= generations_.now()) return;
  const Tick passed = now - generations_.now();
  generations_.advance(now);
  while (generations_.oldest_is_over()) drop_generation();
  const std::uint64_t tag = next_tag();
  if (order_[tag] != 0 || newest().counts[tag] == 0) return;
  const double due = static_cast<double>(passed) * pace_;
  const std::uint64_t most = std::max(kMostSweep, newest().cells.size() / 256 / 64 * 64);
  cursor_ = newest().sweep(
      cursor_, due < static_cast<double>(most) ? static_cast<std::uint64_t>(due) / 64 * 64 + 64 : most, tag);
}

std::uint64_t Timer::find(Digest d, std::uint64_t floor) const noexcept {
  for (std::size_t i = stages_.size(); i-- > 0;) {
    const std::uint64_t oldest = stages_[i].find(d, order_, floor, params_.equal);
    if (oldest != 0) return oldest;
  }
  return 0;
}

std::uint64_t Timer::floor_now(Tick t) noexcept {
  if (t >= same_from_ && t < same_to_) return floor_;
  const std::uint64_t reach = generations_.reach(t);
  same_from_ = reach < generations_.count() ? plus(generations_[reach].end, params_.window.span) : 0;
  same_to_ = reach > 0 ? plus(generations_[reach - 1].end, params_.window.span) : kMost;
  return floor_ = serial_ + 1 - reach;
}

void Timer::remember(Digest d, Tick t) noexcept {
  const TimerStage& stage = newest();
  if (params_.full_by_count ? stage.keys >= stage.full : stage.alive > stage.full)
    open_stage(number_after(stage.number));
  if (generations_.must_open(t)) open_generation(t);
  Generation& generation = generations_[t >= generations_[0].first ? 0 : generations_.age_of(t)];
  ++generation.keys;
  ++newest().keys;
  newest().write(d, order_, generation.tag);
}

bool Timer::insert(Digest d, Tick t) noexcept {
  advance(t);
  const std::uint64_t floor = floor_now(t);
  const std::uint64_t oldest = find(d, floor);
  if (oldest == 0) {
    remember(d, t);
    return true;
  }
  // Only the oldest generation that is compared can reach back beyond the window.
  if (oldest == floor && generations_.in_slack(serial_ - floor, t)) generations_.count_in_slack();
  if (params_.window.refresh && (generations_.must_open(t) || generations_.age_of(t) < serial_ - oldest)) {
    // It moves to a newer generation, and to the newest stage, so that an old stage can go. A copy that it leaves
    // behind there ages.
    Generation& before = generations_[serial_ - oldest];
    before.keys -= before.keys > 0;
    remember(d, t);
  }
  return false;
}

std::uint64_t Timer::keys() const {
  std::uint64_t sum = 0;
  for (std::uint64_t age = 0; age < generations_.count(); ++age) sum += generations_[age].keys;
  return sum;
}

std::uint64_t Timer::bytes() const {
  std::uint64_t sum = 0;
  for (const TimerStage& stage : stages_) sum += stage.cells.bytes();
  return sum;
}

// By the cells that an event on time is compared with.
Rates Timer::rates() const {
  const std::uint64_t reach = generations_.reach(generations_.now());
  Rates rates;
  double log_none = 0;
  for (const TimerStage& stage : stages_) {
    std::vector<double> shares, keys;
    for (std::uint64_t age = 0; age < reach; ++age) {
      if (serial_ - age > stage.last) continue;
      const Generation& generation = generations_[age];
      shares.push_back(static_cast<double>(stage.counts[generation.tag]) / static_cast<double>(stage.cells.size()));
      keys.push_back(static_cast<double>(generation.keys));
    }
    const Rates one =
        theory::timer_rates(shares, keys, static_cast<unsigned>(stage.probes), static_cast<unsigned>(params_.equal));
    log_none += std::log1p(-one.false_positive);
    // The newest is where cells are still written over.
    rates.false_negative = one.false_negative;
  }
  rates.false_positive = 0 - std::expm1(log_none);
  return rates;
}

Facts Timer::facts() const {
  Facts shown = facts(params_);
  shown.emplace_back("stages", fmt::to_string(stages_.size()));
  return shown;
}

// docs/filters/timer.md draws the bytes.
void Timer::save(Writer& out) const {
  out.u64(params_.cells);
  out.u64(params_.probes);
  out.u64(params_.keys);
  out.f64(params_.error);
  save_window(out, params_.window);
  out.u64(params_.generations);
  out.u64(params_.equal);
  out.u64(params_.full_by_count);
  out.u64(params_.equal_stages);
  out.u64(serial_);
  generations_.save(out);
  out.u64(skipped_);
  out.u64(cursor_);
  out.u64(stages_.size());
  for (const TimerStage& stage : stages_) {
    out.u64(stage.number);
    out.u64(stage.cells.size());
    out.u64(stage.probes);
    out.u64(stage.full);
    out.u64(stage.keys);
    out.u64(stage.last);
    out.bytes(stage.cells.packed());
  }
}

Timer Timer::load(Reader& in) {
  Params p;
  const auto cells = [&] { return in.u64("cells", 1, std::uint64_t{1} << 55); };
  const auto probes = [&] { return in.u64("probes", 1, TimerStage::kMostProbes); };
  p.cells = cells();
  p.probes = probes();
  p.keys = in.u64("capacity", 1, kMost);
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  p.window = load_window(in);
  p.generations = in.u64("generations told apart", 1, (1u << kWidest) - 2);
  if (p.window.endless() ? p.generations != 1 : p.generations < 2 || !std::has_single_bit(p.generations + 2))
    in.damaged("no cell tells so many generations apart");
  p.equal = in.u64("equal timers", 1, TimerStage::kMostProbes);
  p.full_by_count = in.u64("full by count", 0, 1) == 1;
  p.equal_stages = in.u64("equal stages", 0, 1) == 1;

  Timer filter(p, Empty{});
  filter.serial_ = in.u64("generations so far", 0, kMost / 2);
  filter.generations_.load(in, filter.order_.size() - 1);
  if (filter.generations_.count() > filter.serial_) in.damaged("more generations than there ever were");
  for (std::uint64_t age = 0; age < filter.generations_.count(); ++age) {
    const std::uint64_t serial = filter.serial_ - age, tag = (serial - 1) % (filter.order_.size() - 1) + 1;
    if (filter.generations_[age].tag != tag) in.damaged("a generation has the wrong tag");
    filter.order_[tag] = serial;
  }
  filter.skipped_ = in.u64("number of the stage left");
  const std::uint64_t cursor = in.u64("place of the sweep");
  const std::uint64_t count = in.u64("number of stages", 1, in.remaining() / 48);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = in.u64("number of a stage", 1, kMost / 2);
    const std::uint64_t size = cells(), stage_probes = probes(), full = in.u64("when a stage is full");
    in.require(CellArray::packed_bytes(size, p.width()), "cells");
    TimerStage stage(number, size, stage_probes, p.width(), full);
    stage.keys = in.u64("keys of a stage");
    stage.last = in.u64("last generation of a stage");
    if (i + 1 == count ? stage.last != TimerStage::kOpen : stage.last > filter.serial_)
      in.damaged("the stages contradict the generations");
    in.bytes(stage.cells.packed(), "cells");
    if (size * p.width() % 8 != 0 &&
        std::to_integer<unsigned>(stage.cells.packed().back()) >> (size * p.width() % 8) != 0)
      in.damaged("a bit past the last cell is set");
    stage.counts[0] = 0;
    for (std::uint64_t cell = 0; cell < size; ++cell) ++stage.counts[stage.cells.get(cell)];
    for (std::uint64_t tag = 1; tag < filter.order_.size(); ++tag)
      if (filter.order_[tag] != 0 && filter.order_[tag] <= stage.last) stage.alive += stage.counts[tag];
    if (stage.alive == 0 && i + 1 < count) in.damaged("a stage without a live key");
    filter.stages_.push_back(std::move(stage));
  }
  filter.use_newest();
  filter.cursor_ = cursor;
  if (cursor % 64 != 0 || cursor >= filter.newest().cells.size()) in.damaged("the sweep is out of place");
  return filter;
}

static_assert(Filter<Timer> && Ageing<Timer> && Growable<Timer>);

}  // namespace nodup
