// SPDX-License-Identifier: Apache-2.0
//
// counting: a Bloom filter of counters, so that keys can be taken out again (Fan, Cao, Almeida and Broder, "Summary
// cache", 2000). One slice of counters for each probe; a key adds one to a counter in each, and looks seen when all of
// its counters are above zero.
//
// A counter has four bits. One that has reached 15 stays there for good: how many more keys share it is not known, and
// taking one of them out must not make the others vanish. So saturation costs a little memory that is never given back
// (saturated() tells), never a false negative.
//
// A stream counts a key once: insert() of a key that looks seen changes nothing. add() counts every time, and as many
// erase() take it out again. So it is a multiset, and keys() its size: additions less removals. In a stream these are
// the distinct keys.
//
// Errors: a new event may be dropped (false positive, as `partitioned`); a duplicate never passes, as long as only keys
// that are held are erased. To erase one that never came in but looks seen takes away from others: the filter cannot
// tell, and a false negative may follow.
//
// Cost: four times the memory of a filter of bits, a cache line per probe.
//
// Threads: one at a time; contains() by many while nobody changes it.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "nodup/bits/counter_array.hpp"
#include "nodup/filters/bloom_params.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/partitioned.hpp"

namespace nodup {

class Counting {
 public:
  static constexpr std::string_view kName = "counting";
  static constexpr std::string_view kSummary = "a Bloom filter of counters: keys can be taken out again";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  // Those of a partitioned Bloom filter, with counters for bits.
  using Params = BloomParams;
  static Params fit(const Goal& goal) {
    return Params::fit(goal, PartitionedPlaces::kPlacing, CounterArray::kBitsPerCounter);
  }
  static Rates rates(const Params& p, std::uint64_t keys) { return p.rates(PartitionedPlaces::kPlacing, keys); }
  static std::uint64_t bytes(const Params& p) { return CounterArray::bytes_for(p.bits); }
  static double lines_per_event(const Params& p) {
    return theory::cells_hit(std::ceil(static_cast<double>(bytes(p)) / 64), static_cast<double>(p.probes));
  }
  static Facts facts(const Params& p) {
    return {{"counters", std::to_string(p.bits)},
            {"probes", std::to_string(p.probes)},
            {"capacity", std::to_string(p.keys)}};
  }

  explicit Counting(const Params& p) : Counting(p, CounterArray(p.checked().bits), 0) {}

  bool insert(Digest d) noexcept { return !contains(d) && add(d); }
  // Counts d once more. True if it looked new.
  bool add(Digest d) noexcept {
    std::uint64_t fresh = 0;  // counters that were zero
    for (std::uint64_t i = 0; i < params_.probes; ++i) fresh += counters_.increment(places_.at(d, i)) == 0;
    above_zero_ += fresh;
    ++keys_;
    return fresh > 0;
  }
  // Stops at the first counter that is zero, the second on average: a row of such filters asks many in vain.
  bool contains(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < params_.probes; ++i)
      if (counters_.get(places_.at(d, i)) == 0) return false;
    return true;
  }
  // What erase(d) would answer.
  Erased erasable(Digest d) const noexcept { return contains(d) ? Erased::removed : Erased::absent; }
  Erased erase(Digest d) noexcept {
    if (!contains(d)) return Erased::absent;
    std::uint64_t gone = 0;  // counters that are zero now
    for (std::uint64_t i = 0; i < params_.probes; ++i) gone += counters_.decrement(places_.at(d, i)) == 1;
    above_zero_ -= gone;
    keys_ -= keys_ > 0;  // a key whose counters are all saturated can be erased more often than it was added
    return Erased::removed;
  }
  void prefetch(Digest d) const noexcept { prefetch(d, params_.probes); }
  void prefetch(Digest d, std::uint64_t probes) const noexcept {
    for (std::uint64_t i = 0; i < probes; ++i) counters_.prefetch(places_.at(d, i));
  }

  const Params& params() const { return params_; }
  std::uint64_t keys() const { return keys_; }
  std::uint64_t bytes() const { return counters_.bytes(); }
  const CounterArray& counters() const { return counters_; }
  std::uint64_t above_zero() const { return above_zero_; }
  std::uint64_t saturated() const { return counters_.count_saturated(); }
  // By the counters, so that it also holds past the capacity and after erasing.
  Rates rates() const {
    const double fill = static_cast<double>(above_zero_) / static_cast<double>(places_.used());
    return {std::pow(fill, static_cast<double>(params_.probes)), 0};
  }
  Facts facts() const {
    Facts facts = Counting::facts(params_);
    facts.emplace_back("saturated", std::to_string(saturated()));
    return facts;
  }

  // How many counters merge(other), of the same parameters, would leave above zero.
  std::uint64_t above_zero_with(const Counting& other) const { return counters_.count_above_zero(other.counters_); }
  // A key held by both then counts as often as in both together.
  void merge(const Counting& other) {
    params_.require_same(other.params_, kName);
    counters_.add(other.counters_);
    above_zero_ = counters_.count_above_zero();
    keys_ += other.keys_;
  }

  // counters u64 | probes u64 | capacity u64 | keys held u64 | counters of 4 bits, in words
  void save(Writer& out) const {
    params_.save(out);
    out.u64(keys_);
    out.bytes(counters_.span());
  }
  static Counting load(Reader& in) {
    const Params p = Params::load(in);
    const std::uint64_t keys = in.u64("keys");
    in.require(bytes(p), "counters");
    Counting filter(p, CounterArray(p.bits), keys);
    in.bytes(filter.counters_.span(), "counters");
    filter.above_zero_ = filter.counters_.count_above_zero();
    if (!filter.counters_.zero_from(filter.places_.used()))
      in.damaged("a counter past the end of the filter is not zero");
    // The reverse can be: saturated counters stay when all keys have gone.
    if (filter.above_zero_ == 0 && keys > 0) in.damaged("it holds keys, but all counters are zero");
    return filter;
  }

 private:
  Counting(const Params& p, CounterArray counters, std::uint64_t keys)
      : params_(p), places_(p), counters_(std::move(counters)), keys_(keys) {}

  Params params_;
  PartitionedPlaces places_;
  CounterArray counters_;
  std::uint64_t above_zero_ = 0;
  std::uint64_t keys_;
};

static_assert(Filter<Counting> && Mergeable<Counting> && Erasable<Counting> && Countable<Counting>);

}  // namespace nodup
