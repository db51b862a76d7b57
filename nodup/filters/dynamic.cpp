// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/dynamic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/growing.hpp"

namespace nodup {

namespace {

// Two filters become one only when this much of it stays free: else the next keys would open a second one again, and
// every few keys gone a whole filter would be added up.
constexpr double kFullestJoined = 0.75;

// Later filters take fewer keys, but never less than this share of the first's: where an error near 1 or a limit on
// memory left few probes, a row that keeps the bound to the letter would need a filter for every key.
constexpr double kLeastShare = 1.0 / 16;

// Of a long row only what most keys touch is worth asking for ahead: with 116 filters a stream then takes 0.43 of the
// time that it takes with all lines of all filters, with 16 filters 0.70, with one as long.
constexpr std::size_t kPrefetchedFilters = 8;
constexpr std::uint64_t kPrefetchedProbes = 2;

constexpr double kGreatestError = 1 - 1e-9;

double keys_in(const Counting::Params& p, std::uint64_t above_zero) {
  const double keys = theory::bloom_keys(theory::Placing::sliced, static_cast<double>(p.bits),
                                         static_cast<double>(p.probes), static_cast<double>(above_zero));
  return std::min(keys, static_cast<double>(p.bits));  // infinite when all counters are above zero
}
double keys_in(const Counting& filter) { return keys_in(filter.params(), filter.above_zero()); }

// The most keys at an error. Where bits are left over, as in small filters, a fit takes fewer probes to save time; here
// they are better used to let the row grow.
std::uint64_t roomiest_probes(Dynamic::Params p) {
  std::uint64_t best = p.filter.probes;
  double most = 0;
  for (p.filter.probes = 1; p.filter.probes <= Counting::Params::kMostProbes; ++p.filter.probes) {
    const double keys = p.capacity(1);
    if (keys <= most) continue;
    most = keys;
    best = p.filter.probes;
  }
  return best;
}

}  // namespace

std::uint64_t Dynamic::Params::most_above_zero(std::uint64_t i) const {
  const auto probes = static_cast<double>(filter.probes);
  const auto counters = static_cast<double>(filter.bits / filter.probes * filter.probes);
  double fill = std::pow(theory::stage_error(error, i), 1 / probes);
  if (i > 1)
    fill = std::max(fill, theory::bloom_fill(theory::Placing::sliced, static_cast<double>(filter.bits), probes,
                                             kLeastShare * capacity(1)));
  // One key always fits.
  return static_cast<std::uint64_t>(std::clamp(counters * fill, probes, counters));
}
double Dynamic::Params::capacity(std::uint64_t i) const { return keys_in(filter, most_above_zero(i)); }

Dynamic::Params Dynamic::fit(const Goal& goal) {
  check_goal(goal);
  Goal first = goal;
  first.error = theory::stage_error(goal.error, 1);
  // A filter is full by its counters, and the number of keys that take so many is a matter of chance: its standard
  // deviation is 0.6 sqrt(keys / probes), at the log2(1 / error) probes that are best. Five of them, and what make_room
  // wants for a batch (the sum is greatest if that is two thirds of the keys), are added, so that no second filter is
  // needed for the keys that were planned for.
  const double margin = 5 * std::sqrt(static_cast<double>(goal.keys) / std::log2(1 / first.error));
  first.keys = static_cast<std::uint64_t>(std::min(static_cast<double>(goal.keys) + margin, 0x1p63));
  Params p{.filter = Counting::fit(first), .error = goal.error, .max_bytes = goal.bytes};
  const double reached = Counting::rates(p.filter, first.keys).false_positive;
  if (reached <= first.error)
    p.filter.probes = roomiest_probes(p);
  else  // for want of memory: then the bound is what that memory can keep
    p.error = std::min(goal.error * reached / first.error, kGreatestError);
  p.filter.keys = std::max<std::uint64_t>(goal.keys, 1);
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
Dynamic::Dynamic(const Params& params, std::vector<Counting> filters) : params_(params) {
  for (Counting& filter : filters) append(std::move(filter));
}

void Dynamic::append(Counting filter) {
  most_above_zero_.push_back(params_.most_above_zero(filters_.size() + 1));
  filters_.push_back(std::move(filter));
}

std::size_t Dynamic::open() const noexcept {
  for (std::size_t i = 0; i < filters_.size(); ++i)
    if (filters_[i].above_zero() + params_.filter.probes <= most_above_zero_[i]) return i;
  return filters_.size() - 1;
}

bool Dynamic::contains(Digest d) const noexcept {
  return std::ranges::any_of(filters_, [&](const Counting& filter) { return filter.contains(d); });
}

void Dynamic::prefetch(Digest d) const noexcept {
  if (filters_.size() == 1) return filters_[0].prefetch(d);
  const std::size_t few = std::min(filters_.size(), kPrefetchedFilters);
  for (std::size_t i = 0; i < few; ++i) filters_[i].prefetch(d, std::min(params_.filter.probes, kPrefetchedProbes));
}

bool Dynamic::add(Digest d) noexcept {
  const auto holder = std::ranges::find_if(filters_, [&](const Counting& filter) { return filter.contains(d); });
  if (holder == filters_.end()) return filters_[open()].add(d);
  holder->add(d);
  return false;
}

Dynamic::Holder Dynamic::holder_of(Digest d) const noexcept {
  Holder holder{Erased::absent, 0};
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (!filters_[i].contains(d)) continue;
    if (holder.answer == Erased::removed) return {Erased::ambiguous, i};
    holder = {Erased::removed, i};
  }
  return holder;
}

Erased Dynamic::erasable(Digest d) const noexcept { return holder_of(d).answer; }

Erased Dynamic::erase(Digest d) noexcept {
  const Holder holder = holder_of(d);
  if (holder.answer == Erased::removed) {
    filters_[holder.place].erase(d);
    join_with_another(holder.place);
  }
  return holder.answer;
}

// The filter that has just lost a key, with the first that both fit into one. Those behind move up one place, where
// more is allowed.
void Dynamic::join_with_another(std::size_t changed) noexcept {
  const double keys = keys_in(filters_[changed]);
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (i == changed || filters_[i].above_zero() == 0) continue;
    const std::size_t first = std::min(i, changed), second = std::max(i, changed);
    const double most = kFullestJoined * keys_in(params_.filter, most_above_zero_[first]);
    if (keys + keys_in(filters_[i]) > most) continue;
    if (filters_[first].above_zero_with(filters_[second]) > most_above_zero_[first]) continue;
    filters_[first].merge(filters_[second]);
    filters_.erase(filters_.begin() + static_cast<std::ptrdiff_t>(second));
    most_above_zero_.pop_back();
    return;
  }
}

double Dynamic::room(std::size_t place) const {
  const std::uint64_t last_open = most_above_zero_[place] - params_.filter.probes;  // one key more still fits
  if (filters_[place].above_zero() > last_open) return 0;
  return keys_in(params_.filter, last_open) - keys_in(filters_[place]) + 1;
}

void Dynamic::make_room(std::uint64_t more_keys) {
  // With four standard deviations of the counters that so many keys take: no filter is to be overfilled by chance.
  const auto more = static_cast<double>(more_keys);
  const double wanted = more + 4 * std::sqrt(more / static_cast<double>(params_.filter.probes));
  double free = 0;
  for (std::size_t i = 0; i < filters_.size(); ++i) free += room(i);
  while (filters_.empty() || (free < wanted && filters_.size() < kMostFilters)) {
    if (params_.max_bytes != 0 && !filters_.empty() && bytes() + bytes(params_) > params_.max_bytes) return;
    append(Counting(params_.filter));
    free += room(filters_.size() - 1);
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
      std::ranges::count_if(filters_, [](const Counting& filter) { return filter.above_zero() > 0; }));
}
std::uint64_t Dynamic::saturated() const {
  std::uint64_t sum = 0;
  for (const Counting& filter : filters_) sum += filter.saturated();
  return sum;
}
Rates Dynamic::rates() const {
  double log_none = 0;  // of the chance that no filter errs; a product would lose rates below 1e-16
  for (const Counting& filter : filters_) log_none += std::log1p(-filter.rates().false_positive);
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts Dynamic::facts() const {
  Facts facts = Dynamic::facts(params_);
  facts.emplace_back("filters", std::to_string(filters()));
  facts.emplace_back("saturated", std::to_string(saturated()));
  return facts;
}

Dynamic::Union Dynamic::plan_union(const Dynamic& other) const {
  if (params_.filter != other.params_.filter || params_.error != other.params_.error)
    throw Error(
        "cannot merge two dynamic filters of different parameters: build both for the same number of keys and error");
  Union plan;
  std::vector<std::uint64_t> fills;
  for (const Counting& ours : filters_) fills.push_back(ours.above_zero());
  std::vector<bool> taken(filters_.size());
  for (const Counting& theirs : other.filters_) {
    std::size_t place = 0;
    for (; place < filters_.size(); ++place) {
      const Counting& ours = filters_[place];
      const std::uint64_t most = std::max(most_above_zero_[place], ours.above_zero());  // what adds nothing always fits
      if (taken[place] || theirs.above_zero() > most) continue;
      const std::uint64_t both = ours.above_zero_with(theirs);
      if (both > most) continue;
      taken[place] = true;
      fills[place] = both;
      break;
    }
    if (place == filters_.size() && theirs.above_zero() > 0) {
      place += plan.fresh.size();
      fills.push_back(theirs.above_zero());
      if (params_.max_bytes != 0 && fills.size() * bytes(params_) > params_.max_bytes)
        throw Error(fmt::format("the union of two dynamic filters takes {} bytes, more than the {} that it may have",
                                fills.size() * bytes(params_), params_.max_bytes));
      plan.fresh.emplace_back(params_.filter);
    }
    plan.places.push_back(place);
  }
  if (plan.fresh.empty()) return plan;
  // The fullest first, where most is allowed.
  std::ranges::sort(fills, std::greater());
  for (std::size_t i = 0; i < fills.size(); ++i)
    if (fills[i] > params_.most_above_zero(i + 1))
      throw Error(
          fmt::format("the union of two dynamic filters would err more often than the {:g} of both: build "
                      "them for as many keys as the union has",
                      params_.error));
  return plan;
}

void Dynamic::unite(const Dynamic& other, Union plan) {
  const bool appended = !plan.fresh.empty();
  for (Counting& fresh : plan.fresh) append(std::move(fresh));
  for (std::size_t i = 0; i < plan.places.size(); ++i)
    if (other.filters_[i].above_zero() > 0) filters_[plan.places[i]].merge(other.filters_[i]);
  if (appended) std::ranges::stable_sort(filters_, std::greater(), &Counting::above_zero);
}

void Dynamic::merge(const Dynamic& other) { unite(other, plan_union(other)); }

// error f64 | filters u64 | each as `counting` is saved
void Dynamic::save(Writer& out) const {
  out.f64(params_.error);
  // Without those made ready, so that equal sets have equal bytes however they came in.
  std::size_t count = filters_.size();
  while (count > 1 && filters_[count - 1].above_zero() == 0) --count;
  out.u64(count);
  for (std::size_t i = 0; i < count; ++i) filters_[i].save(out);
}

Dynamic Dynamic::load(Reader& in) {
  Params p;
  p.error = in.f64("error", std::numeric_limits<double>::min(), kGreatestError);
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
