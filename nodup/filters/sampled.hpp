// SPDX-License-Identifier: Apache-2.0
//
// What `reservoir`, `biased`, `biased_single` and `load_balanced` have in common: bits in k equal arrays, a key setting
// one bit in each, and bits reset at random to make room, so that a stream of any length fits ("Advanced Bloom Filter
// Based Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012; the readings that reproduce its
// tables are in docs/papers.md). They differ in their Rule: which records are inserted, and what is reset before.
//
// Errors: a new event is LOST when all its bits are set, by other keys (false positive). A duplicate PASSES when one of
// its bits was reset and not set again (false negative). theory/sampled.hpp says how often.
//
// Chance: resets come from numbered draws (hash/draws.hpp), and every record that draws takes the same number of them.
// So the places of resets to come are known, and are prefetched kResetsAhead records before they are touched: never one
// too many, and the same in whatever batches keys come.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nodup/bits/bit_array.hpp"
#include "nodup/filters/bloom_params.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/hash/draws.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/sampled.hpp"

namespace nodup {

// `bits` in all, `probes` arrays, `keys` it is fitted for (0: an endless stream).
using SampledParams = BloomParams;

// All of goal.bytes, in whole cache lines, and the number of arrays that lets the fewest duplicates pass of those that
// reach goal.error once goal.keys have passed; where none does, the one that loses the fewest events. Without a limit
// on memory the least that reaches the error and lets no more than kMostPassing (fit.hpp) of the duplicates pass.
SampledParams fit_sampled(const Goal& goal, theory::Resetting rule);
// The worst up to when `keys` have passed of a stream of so many records; 0: as many as it takes, each with a new key.
Rates sampled_rates(const SampledParams& p, theory::Resetting rule, std::uint64_t keys, std::uint64_t records);

// The arrays, how many ones each has, and the draws: what a Rule acts on.
class SampledArrays {
 public:
  // How many drawing records ahead a reset's line is asked for.
  static constexpr std::uint64_t kResetsAhead = 16;

  SampledArrays(const SampledParams& p, std::uint64_t draws_per_record)
      : SampledArrays(p, draws_per_record, 0, BitArray(p.checked().bits)) {}
  SampledArrays(const SampledParams& p, std::uint64_t draws_per_record, std::uint64_t draws_used, BitArray bits)
      : count_(p.probes),
        length_(p.bits / p.probes),
        ahead_(kResetsAhead * draws_per_record),
        draws_(draws_used),
        bits_(std::move(bits)) {
    for (std::uint64_t i = 0; i < count_; ++i) ones_[i] = bits_.count(i * length_, (i + 1) * length_);
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t length() const noexcept { return length_; }  // of one array
  std::uint64_t draws_used() const noexcept { return draws_.used(); }
  const BitArray& bits() const noexcept { return bits_; }

  bool holds(Digest d) const noexcept {
    bool all = true;
    for (std::uint64_t i = 0; i < count_; ++i) all &= bits_.test(place(d, i));
    return all;
  }
  void set(Digest d) noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) ones_[i] += !bits_.test_and_set(place(d, i));
  }
  void prefetch(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < count_; ++i) bits_.prefetch(place(d, i));
  }

  // True in `times` cases out of `of`, exactly; more than `of` is always. One draw.
  bool chance(std::uint64_t times, std::uint64_t of) noexcept { return fastrange(draws_.next(), of) < times; }
  // A random place in one array, or in a random array; one draw either way. It may hold a 0 already.
  struct Place {
    std::uint64_t array, bit;
  };
  Place draw_place(std::uint64_t array) noexcept { return {array, draw_bit(array * length_, length_)}; }
  Place draw_place() noexcept { return {fastrange(draws_.peek(0), count_), draw_bit(0, count_ * length_)}; }
  // Resets a random place of an array with the chance of its load. One draw: its high bits are the place, all of them
  // together the chance. Whether it will be is foretold by the load there is now, which hardly changes until then:
  // lines that will not be touched are not asked for.
  void reset_by_load(std::uint64_t array) noexcept {
    const auto place = [&](std::uint64_t draw) { return array * length_ + fastrange(draw, length_); };
    const auto is_reset = [&](std::uint64_t draw) { return fastrange(remix(draw), length_) < ones_[array]; };
    if (const std::uint64_t coming = draws_.peek(ahead_); is_reset(coming)) bits_.prefetch(place(coming));
    if (const std::uint64_t draw = draws_.next(); is_reset(draw)) reset({array, place(draw)});
  }
  void skip_draws(std::uint64_t count) noexcept { draws_ = Draws(draws_.used() + count); }

  void reset(Place at) noexcept { ones_[at.array] -= bits_.test_and_reset(at.bit); }

  // The chance that all bits of a key never seen are set.
  double full() const noexcept {
    double chance = 1;
    for (std::uint64_t i = 0; i < count_; ++i) chance *= static_cast<double>(ones_[i]) / static_cast<double>(length_);
    return chance;
  }

 private:
  std::uint64_t place(Digest d, std::uint64_t array) const noexcept {
    return array * length_ + position(d, array, length_);
  }
  std::uint64_t draw_bit(std::uint64_t first, std::uint64_t count) noexcept {
    bits_.prefetch(first + fastrange(draws_.peek(ahead_), count));
    return first + fastrange(draws_.next(), count);
  }

  std::uint64_t count_;
  std::uint64_t length_;
  std::uint64_t ahead_;
  Draws draws_;
  BitArray bits_;
  std::array<std::uint64_t, SampledParams::kMostProbes> ones_{};
};

// Rule:
//   static constexpr kName, kSummary, kErrors, kResetting
//   static std::uint64_t draws(std::uint64_t arrays)          // that each record which draws at all takes
//   static double resets(std::uint64_t arrays)                // lines that the resets of one new key touch, at most
//   static bool make_room(SampledArrays&, std::uint64_t record, bool is_new)
// make_room does the resets that record number `record` (from 1) asks for, and tells whether its bits are then set.
template <class Rule>
class Sampled {
 public:
  static constexpr std::string_view kName = Rule::kName;
  static constexpr std::string_view kSummary = Rule::kSummary;
  static constexpr std::string_view kErrors = Rule::kErrors;
  static constexpr bool kForgets = true;

  using Params = SampledParams;
  static Params fit(const Goal& goal) { return fit_sampled(goal, Rule::kResetting); }
  static Rates rates(const Params& p, std::uint64_t keys) { return sampled_rates(p, Rule::kResetting, keys, 0); }
  static std::uint64_t bytes(const Params& p) { return p.bytes(); }
  static double lines_per_event(const Params& p) {
    return theory::cells_hit(std::ceil(static_cast<double>(p.bytes()) / 64),
                             static_cast<double>(p.probes) + Rule::resets(p.probes));
  }
  static Facts facts(const Params& p) { return p.facts(); }

  explicit Sampled(const Params& p) : params_(p), arrays_(p, Rule::draws(p.probes)) {}

  bool insert(Digest d) noexcept {
    ++records_;
    const bool is_new = !arrays_.holds(d);
    keys_ += is_new;
    if (Rule::make_room(arrays_, records_, is_new)) arrays_.set(d);
    return is_new;
  }
  bool contains(Digest d) const noexcept { return arrays_.holds(d); }
  void prefetch(Digest d) const noexcept { arrays_.prefetch(d); }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t bytes() const { return arrays_.bits().bytes(); }
  // Events lost: by the bits that are set. Duplicates that pass: by the theory, for as many keys as passed, as if each
  // of them had been a new one; where many were duplicates, those are known better than it says.
  Rates rates() const {
    return {arrays_.full(), sampled_rates(params_, Rule::kResetting, keys_, records_).false_negative};
  }
  Facts facts() const { return facts(params_); }

  // bits u64 | arrays u64 | capacity u64 | keys passed u64 | records u64 | draws used u64 | words u64 x ceil(bits / 64)
  void save(Writer& out) const {
    params_.save(out);
    out.u64(keys_);
    out.u64(records_);
    out.u64(arrays_.draws_used());
    save_bits(out, arrays_.bits());
  }
  static Sampled load(Reader& in) {
    const Params p = Params::load(in);
    const std::uint64_t keys = in.u64("keys");
    const std::uint64_t records = in.u64("records", keys, UINT64_MAX);
    const std::uint64_t draws = in.u64("draws");
    return Sampled(
        p, keys, records,
        SampledArrays(p, Rule::draws(p.probes), draws, load_bits(in, p.bits, p.bits / p.probes * p.probes, keys)));
  }

 private:
  Sampled(const Params& p, std::uint64_t keys, std::uint64_t records, SampledArrays arrays)
      : params_(p), arrays_(std::move(arrays)), keys_(keys), records_(records) {}

  Params params_;
  SampledArrays arrays_;
  std::uint64_t keys_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace nodup
