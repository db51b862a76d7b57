// SPDX-License-Identifier: Apache-2.0
//
// fingerprint: a cuckoo table of fingerprints. The least memory for low errors.
//
// Fan, Andersen, Kaminsky and Mitzenmacher (2014); see SlotTable. At 1e-6 it takes 24.2 bits per key where a Bloom
// filter takes 28.8, and two cache lines for a look; but a new key in a table that is nearly full moves others out of
// its way.
//
// A table cannot take more keys than it has slots. When a key finds no room, its first bucket is marked as saturated:
// from then on every key that may lie there is taken for seen. So, like a Bloom filter, it goes on past its capacity,
// and only the error rises. Saturated buckets must stay as they are, so no key is moved any more once there is one.
//
// Errors: a false positive (a new event is LOST) at the rate of theory/fingerprint.hpp; never a false negative.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/slot_table.hpp"
#include "nodup/theory/fingerprint.hpp"

namespace nodup {

class Fingerprint {
 public:
  static constexpr std::string_view kName = "fingerprint";
  static constexpr std::string_view kSummary = "a table of fingerprints: the least memory for errors below 1 in 1000";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  struct Params {
    std::uint64_t keys = 1;  // fitted for
    std::uint64_t buckets = 1;
    unsigned fingerprint_bits = kLeastBits;
    std::uint64_t max_bytes = 0;  // 0: no limit
  };

  // Below kLeastBits per slot there is no table that would do: bytes() then tells what it takes, and the constructor
  // refuses.
  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys) {
    const double load = static_cast<double>(keys) / static_cast<double>(shape(p).slots());
    return {.false_positive = theory::fingerprint_false_positive(std::min(load, 1.0), p.fingerprint_bits)};
  }
  static std::uint64_t bytes(const Params& p) { return shape(p).bytes(); }
  // Of a new key when the table is as full as planned: the dearest moment.
  static double lines_per_event(const Params& p) {
    return (1 + shape(p).bucket_bits() / 512.0) * (2 + theory::buckets_searched(kLoad));
  }
  static Facts facts(const Params& p) {
    return {{"slots", std::to_string(shape(p).slots())},
            {"fingerprint_bits", std::to_string(p.fingerprint_bits)},
            {"capacity", std::to_string(p.keys)}};
  }

  explicit Fingerprint(const Params& params, PagePolicy policy = PagePolicy::huge)
      : params_(checked(params)), slots_(shape(params), policy) {}

  bool insert(Digest d) noexcept {
    const Slots::Place place = slots_.place(d);
    if (holds(place)) return false;
    ++keys_;
    const Four first = slots_.free(place.first), second = slots_.free(place.second);
    if ((first | second) != 0) {
      const bool in_first = how_many(first) >= how_many(second);
      slots_.set({in_first ? place.first : place.second, lowest(in_first ? first : second)}, place.fingerprint, 1);
    } else if (Slots::Way way{}; saturated_ == 0 && (way = slots_.make_way(place)).slot.exists()) {
      slots_.set(way.slot, place.fingerprint, 1);
    } else {
      saturate(place.first);
    }
    return true;
  }
  bool contains(Digest d) const noexcept { return holds(slots_.place(d)); }
  [[gnu::always_inline]] void prefetch(Digest d) const noexcept { slots_.prefetch(slots_.place(d)); }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t bytes() const { return slots_.bytes(); }
  Rates rates() const {
    const double none = 1 - rates(params_, keys_).false_positive;
    const double saturated = static_cast<double>(saturated_) / static_cast<double>(params_.buckets);
    return {.false_positive = 1 - none * (1 - saturated) * (1 - saturated)};
  }
  Facts facts() const {
    Facts facts = Fingerprint::facts(params_);
    if (saturated_ > 0) facts.emplace_back("saturated_buckets", std::to_string(saturated_));
    return facts;
  }

  // capacity u64 | buckets u64 | fingerprint bits u64 | keys held u64 | saturated buckets u64 | packed slots
  void save(Writer& out) const {
    out.u64(params_.keys);
    out.u64(params_.buckets);
    out.u64(params_.fingerprint_bits);
    out.u64(keys_);
    out.u64(saturated_);
    out.bytes(slots_.payload());
  }
  static Fingerprint load(Reader& in) {
    Params p;
    p.keys = in.u64("capacity", 1, UINT64_MAX);
    p.buckets = in.u64("number of buckets", 1, kMostBuckets);
    p.fingerprint_bits = static_cast<unsigned>(in.u64("fingerprint bits", kLeastBits, Slots::kWidestFingerprint));
    const std::uint64_t keys = in.u64("number of keys");
    const std::uint64_t saturated = in.u64("saturated buckets", 0, p.buckets);
    in.require(shape(p).payload_bytes(), "slots");
    Fingerprint filter(p);
    filter.keys_ = keys;
    in.bytes(filter.slots_.payload(), "slots");
    for (std::uint64_t bucket = 0; bucket < p.buckets; ++bucket) filter.saturated_ += filter.is_saturated(bucket);
    if (filter.saturated_ != saturated) in.damaged("the number of saturated buckets is wrong");
    return filter;
  }

 private:
  using Slots = SlotTable<false>;

  static constexpr double kLoad = 0.95;
  static constexpr unsigned kLeastBits = 8;  // with fewer the second buckets of all keys would be too few
  static constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 58;
  static constexpr std::uint64_t kSpareBuckets = 8;  // small tables fill less evenly

  static const Params& checked(const Params& p) {
    if (p.max_bytes != 0 && bytes(p) > p.max_bytes)
      throw Error(fmt::format("a table of fingerprints for {} keys needs {} bytes of memory, the limit is {}", p.keys,
                              bytes(p), p.max_bytes));
    return p;
  }
  static Slots::Shape shape(const Params& p) {
    return {.buckets = p.buckets, .fingerprint_bits = p.fingerprint_bits, .tag_bits = 0};
  }
  // The fingerprint of all ones in all four slots, which keys cannot make: of two equal ones the second is not new.
  std::uint64_t all_ones() const noexcept { return ~std::uint64_t{0} >> (64 - params_.fingerprint_bits); }
  bool is_saturated(std::uint64_t bucket) const noexcept { return slots_.equal(bucket, all_ones()) == 15; }
  void saturate(std::uint64_t bucket) noexcept {
    for (unsigned i = 0; i < Slots::kSlots; ++i) slots_.set({bucket, i}, all_ones(), 1);
    ++saturated_;
  }
  bool holds(const Slots::Place& place) const noexcept {
    if (slots_.matches(place) != 0) return true;
    return saturated_ > 0 && (is_saturated(place.first) || is_saturated(place.second));
  }

  Params params_;
  Slots slots_;
  std::uint64_t keys_ = 0;
  std::uint64_t saturated_ = 0;
};

inline Fingerprint::Params Fingerprint::fit(const Goal& goal) {
  check_goal(goal);
  Params p;
  p.max_bytes = goal.bytes;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  p.fingerprint_bits = std::clamp(theory::fingerprint_bits(kLoad, goal.error), kLeastBits, Slots::kWidestFingerprint);
  const double buckets = std::ceil(static_cast<double>(p.keys) / (Slots::kSlots * kLoad));
  p.buckets =
      static_cast<std::uint64_t>(std::min(buckets, static_cast<double>(kMostBuckets - kSpareBuckets))) + kSpareBuckets;
  while (goal.bytes != 0 && bytes(p) > goal.bytes && p.fingerprint_bits > kLeastBits) --p.fingerprint_bits;
  return p;
}

static_assert(Filter<Fingerprint>);

}  // namespace nodup
