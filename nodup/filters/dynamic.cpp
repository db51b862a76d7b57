// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/dynamic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/growing.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup {

namespace {

// Two filters become one only when this much of it stays free: else the next keys would open a second one again, and
// every few keys gone a whole filter would be added up.
constexpr double kFullestJoined = 0.75;

}  // namespace

std::uint64_t Dynamic::Params::capacity(std::uint64_t i) const {
  if (i == 1) return filter.keys;
  const double share = theory::stage_error(error, i);
  return std::max<std::uint64_t>(
      greatest_where(0, filter.keys,
                     [&](std::uint64_t keys) { return Counting::rates(filter, keys).false_positive <= share; }),
      1);
}

Dynamic::Params Dynamic::fit(const Goal& goal) {
  check_goal(goal);
  Goal first = goal;
  first.error = theory::stage_error(goal.error, 1);
  Params p{.filter = Counting::fit(first), .error = goal.error, .max_bytes = goal.bytes};
  return p;
}
Rates Dynamic::rates(const Params& p, std::uint64_t keys) {
  // Further filters keep the bound.
  return keys <= p.filter.keys ? Counting::rates(p.filter, keys) : Rates{.false_positive = p.error};
}
Facts Dynamic::facts(const Params& p) {
  Facts facts = {{"error", fmt::format("{:g}", p.error)}};
  for (auto& fact : Counting::facts(p.filter)) facts.push_back(std::move(fact));
  return facts;
}

Dynamic::Dynamic(const Params& params) : Dynamic(params, {}) { make_room(1); }
Dynamic::Dynamic(const Params& params, std::vector<Counting> filters) : params_(params), filters_(std::move(filters)) {
  for (std::size_t i = 1; i <= filters_.size(); ++i) capacities_.push_back(params_.capacity(i));
}

// The first that is not full; the last if all are, which takes more than it should.
std::size_t Dynamic::open() const noexcept {
  for (std::size_t i = 0; i < filters_.size(); ++i)
    if (filters_[i].keys() < capacities_[i]) return i;
  return filters_.size() - 1;
}

bool Dynamic::contains(Digest d) const noexcept {
  return std::ranges::any_of(filters_, [&](const Counting& filter) { return filter.contains(d); });
}

bool Dynamic::add(Digest d) noexcept {
  const auto holder = std::ranges::find_if(filters_, [&](const Counting& filter) { return filter.contains(d); });
  if (holder == filters_.end()) return filters_[open()].add(d);
  holder->add(d);
  return false;
}

Erased Dynamic::erase(Digest d) noexcept {
  std::size_t holder = filters_.size();
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (!filters_[i].contains(d)) continue;
    if (holder != filters_.size()) return Erased::ambiguous;
    holder = i;
  }
  if (holder == filters_.size()) return Erased::absent;
  filters_[holder].erase(d);
  join_with_another(holder);
  return Erased::removed;
}

// The filter that has just lost a key, with the first that both fit into one.
void Dynamic::join_with_another(std::size_t changed) noexcept {
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (i == changed || filters_[i].keys() == 0) continue;
    const std::size_t first = std::min(i, changed), second = std::max(i, changed);
    const double most = kFullestJoined * static_cast<double>(capacities_[first]);
    if (static_cast<double>(filters_[first].keys() + filters_[second].keys()) > most) continue;
    filters_[first].merge(filters_[second]);
    filters_.erase(filters_.begin() + static_cast<std::ptrdiff_t>(second));
    capacities_.pop_back();
    return;
  }
}

void Dynamic::make_room(std::uint64_t more_keys) {
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < filters_.size(); ++i)
    room += capacities_[i] - std::min(filters_[i].keys(), capacities_[i]);
  while (room < more_keys && filters_.size() < kMostFilters) {
    const std::uint64_t used = filters_.size() * bytes(params_);
    if (params_.max_bytes != 0 && !filters_.empty() && used + bytes(params_) > params_.max_bytes) return;
    const std::uint64_t capacity = params_.capacity(filters_.size() + 1);
    filters_.emplace_back(params_.filter);
    capacities_.push_back(capacity);
    room += capacity;
  }
}

std::uint64_t Dynamic::keys() const {
  std::uint64_t sum = 0;
  for (const Counting& filter : filters_) sum += filter.keys();
  return sum;
}
std::uint64_t Dynamic::bytes() const { return filters_.size() * bytes(params_); }
std::uint64_t Dynamic::filters() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(filters_, [](const Counting& filter) { return filter.keys() > 0; }));
}
Rates Dynamic::rates() const {
  double log_none = 0;  // of the chance that no filter errs; a product would lose rates below 1e-16
  for (const Counting& filter : filters_) log_none += std::log1p(-filter.rates().false_positive);
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts Dynamic::facts() const {
  Facts facts = Dynamic::facts(params_);
  std::uint64_t saturated = 0;
  for (const Counting& filter : filters_) saturated += filter.saturated();
  facts.emplace_back("filters", std::to_string(filters()));
  facts.emplace_back("saturated", std::to_string(saturated));
  return facts;
}

void Dynamic::merge(const Dynamic& other) {
  if (params_.filter != other.params_.filter || params_.error != other.params_.error)
    throw Error(
        "cannot merge two dynamic filters of different parameters: build both for the same number of keys and error");
  for (const Counting& theirs : other.filters_) {
    if (theirs.keys() == 0) continue;
    std::size_t place = 0;
    while (place < filters_.size() && filters_[place].keys() + theirs.keys() > capacities_[place]) ++place;
    if (place == filters_.size()) {
      capacities_.push_back(params_.capacity(place + 1));
      filters_.emplace_back(params_.filter);
    }
    filters_[place].merge(theirs);
  }
}

// error f64 | filters u64 | each as `counting` is saved
void Dynamic::save(Writer& out) const {
  out.f64(params_.error);
  // Without those made ready, so that equal sets have equal bytes however they came in.
  std::size_t count = filters_.size();
  while (count > 1 && filters_[count - 1].keys() == 0) --count;
  out.u64(count);
  for (std::size_t i = 0; i < count; ++i) filters_[i].save(out);
}

Dynamic Dynamic::load(Reader& in) {
  Params p;
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  const std::uint64_t count = in.u64("number of filters", 1, kMostFilters);
  std::vector<Counting> filters;
  for (std::uint64_t i = 0; i < count; ++i) {
    filters.push_back(Counting::load(in));
    if (filters[i].params() != filters[0].params()) in.damaged("its filters are not equal");
  }
  p.filter = filters[0].params();
  return Dynamic(p, std::move(filters));
}

static_assert(Filter<Dynamic> && Growable<Dynamic> && Mergeable<Dynamic> && Erasable<Dynamic> && Countable<Dynamic>);

}  // namespace nodup
