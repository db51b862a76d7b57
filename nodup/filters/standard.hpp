// SPDX-License-Identifier: Apache-2.0
//
// The Bloom filter as it was first described (Bloom 1970): a key sets `probes` bits anywhere in one array,
// and looks seen when all of them are set already.
//
// Errors: a new event is dropped when other keys happen to have set all its bits (false positive,
// theory/bloom.hpp says how often). A duplicate never passes: bits are only ever set. Past its capacity the
// filter goes on to work, with more false positives: rates() tells how many at any moment.
//
// Cost: the least memory of all filters of bits, 1.44 log2(1/error) bits per key, but as many cache misses
// per event as it has probes. `blocked` needs one or two.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nodup/bits/bit_array.hpp"
#include "nodup/filters/bloom_params.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/bloom.hpp"

namespace nodup {

// All there is to it but the choice of places, which is what tells the standard from the partitioned filter.
template <class Places>
class Bloom {
 public:
  static constexpr std::string_view kName = Places::kName;
  static constexpr std::string_view kSummary = Places::kSummary;
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  // What follows from the parameters alone, before any memory is taken.
  using Params = BloomParams;
  static Params fit(const Goal& goal) { return Params::fit(goal, Places::kPlacing); }
  static Rates rates(const Params& p, std::uint64_t keys) { return p.rates(Places::kPlacing, keys); }
  static std::uint64_t bytes(const Params& p) { return p.bytes(); }
  static double lines_per_event(const Params& p) {
    return theory::cells_hit(std::ceil(static_cast<double>(p.bytes()) / 64), static_cast<double>(p.probes));
  }
  static Facts facts(const Params& p) { return p.facts(); }

  explicit Bloom(const Params& p) : params_(p.checked()), places_(p), bits_(p.bits) {}

  // No branch on a bit's old value: near capacity half the bits are set, and every surprise would cost a
  // pipeline flush and the overlap of the cache misses.
  bool insert(Digest d) noexcept {
    std::uint64_t old_ones = 0;
    for (std::uint64_t i = 0; i < params_.probes; ++i) old_ones += bits_.test_and_set(places_.at(d, i));
    ones_ += params_.probes - old_ones;
    const bool is_new = old_ones < params_.probes;
    keys_ += is_new;
    return is_new;
  }
  bool contains(Digest d) const noexcept {
    bool seen = true;
    for (std::uint64_t i = 0; i < params_.probes; ++i) seen &= bits_.test(places_.at(d, i));
    return seen;
  }
  void prefetch(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < params_.probes; ++i) bits_.prefetch(places_.at(d, i));
  }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t bytes() const { return bits_.bytes(); }
  // By the bits that are set, not by a formula: so it also holds past the capacity, where keys() falls
  // behind, and after a merge.
  Rates rates() const {
    const double fill = static_cast<double>(ones_) / static_cast<double>(places_.used());
    return {std::pow(fill, static_cast<double>(params_.probes)), 0};
  }
  Facts facts() const { return facts(params_); }

  void merge(const Bloom& other) {
    params_.require_same(other.params_, kName);
    bits_.merge(other.bits_);
    ones_ = bits_.count();
    const double estimate = theory::bloom_keys(Places::kPlacing, static_cast<double>(params_.bits),
                                               static_cast<double>(params_.probes), static_cast<double>(ones_));
    keys_ = merged_keys(estimate, keys_, other.keys_);
  }

  // bits u64 | probes u64 | capacity u64 | keys held u64 | words u64 x ceil(bits / 64)
  void save(Writer& out) const {
    params_.save(out);
    out.u64(keys_);
    save_bits(out, bits_);
  }
  static Bloom load(Reader& in) {
    const Params p = Params::load(in);
    const std::uint64_t keys = in.u64("keys");
    return Bloom(p, keys, load_bits(in, p.bits, Places(p).used(), keys));
  }

 private:
  Bloom(const Params& p, std::uint64_t keys, BitArray bits)
      : params_(p), places_(p), bits_(std::move(bits)), ones_(bits_.count()), keys_(keys) {}

  Params params_;
  Places places_;
  BitArray bits_;
  std::uint64_t ones_ = 0;
  std::uint64_t keys_ = 0;
};

class StandardPlaces {
 public:
  static constexpr std::string_view kName = "standard";
  static constexpr std::string_view kSummary = "the classic Bloom filter: least memory, a cache miss per probe";
  static constexpr theory::Placing kPlacing = theory::Placing::anywhere;

  explicit StandardPlaces(const BloomParams& p) : bits_(p.bits) {}
  std::uint64_t at(Digest d, std::uint64_t i) const noexcept { return position(d, i, bits_); }
  std::uint64_t used() const { return bits_; }

 private:
  std::uint64_t bits_;
};

using Standard = Bloom<StandardPlaces>;

static_assert(Filter<Standard> && Mergeable<Standard>);

}  // namespace nodup
