// SPDX-License-Identifier: Apache-2.0
//
// The digests themselves, in a table that grows: no error but a collision of 128-bit hashes. Among 10^9 keys
// the chance that there is ANY such pair is 1.5e-21; that one new event is dropped, keys / 2^128.
//
// Errors: none to speak of, for keys that nobody chose to collide. XXH3 is no cryptographic hash: someone who
// knows the seed can make colliding keys, and keys that crowd into one place and make the table slow.
//
// Cost: 20 to 40 bytes per key, four to eight times a filter of bits at an error of 10^-6. While the table moves into
// one of twice the size both are held; memory is asked for in make_room only.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nodup/filters/digest_table.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

class Exact {
 public:
  static constexpr std::string_view kName = "exact";
  static constexpr std::string_view kSummary = "a growing table of 128-bit hashes: no errors, most memory";
  static constexpr std::string_view kErrors = "none, short of a collision of 128-bit hashes";

  struct Params {
    std::uint64_t keys = 1;       // it has room for from the start
    std::uint64_t max_bytes = 0;  // ceiling on memory, also while the table moves; 0 = none
  };
  // Far above any machine, low enough for slots and bytes to fit their integers.
  static constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 56;

  // With a goal whose keys do not fit its memory there is no smaller table that would do: bytes() then tells
  // what it takes, and the constructor refuses. Better than an end after hours of events.
  static Params fit(const Goal& goal) { return {std::clamp<std::uint64_t>(goal.keys, 1, kMostKeys), goal.bytes}; }
  static Rates rates(const Params&, std::uint64_t keys) { return {std::ldexp(static_cast<double>(keys), -128), 0}; }
  static std::uint64_t bytes(const Params& p) { return slots_for(p.keys) * sizeof(Digest); }
  // For a new key once the table is full to its limit: the way to the end of the run (Knuth, TAOCP 3, 6.4).
  static double lines_per_event(const Params& p);
  static Facts facts(const Params& p);

  explicit Exact(const Params& p) : params_(checked(p)), table_(slots_for(p.keys)) {}

  // Needs room: see make_room.
  bool insert(Digest d) noexcept {
    if (d == Digest{}) [[unlikely]]
      return !std::exchange(has_zero_, true);
    return table_.insert(d);
  }
  bool contains(Digest d) const noexcept {
    if (d == Digest{}) [[unlikely]]
      return has_zero_;
    return table_.contains(d);
  }
  void prefetch(Digest d) const noexcept { table_.prefetch(d); }

  // Throws Error, before memory is taken, if the old and the new table would pass max_bytes. Changes nothing
  // then.
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) { params_.max_bytes = max_bytes; }

  std::uint64_t keys() const { return table_.size() + has_zero_; }
  std::uint64_t bytes() const { return table_.bytes(); }
  Rates rates() const { return rates(params_, keys()); }
  Facts facts() const { return facts(params_); }

  // The union; the parameters may differ. Makes room by itself, so it may throw as make_room does.
  void merge(const Exact& other);

  // room u64 | keys held u64 | per key, in ascending order: lo u64, hi u64
  // Equal sets make equal bytes, in whatever order and batches they came. A limit on memory is the machine's,
  // not the set's: it is not saved.
  void save(Writer& out) const;
  static Exact load(Reader& in);

 private:
  // A load of 80% at most: at 90% a run is four times as long. Never full, whatever the number.
  static constexpr std::uint64_t slots_for(std::uint64_t keys) { return keys + keys / 4 + 4; }
  static const Params& checked(const Params& p);

  Params params_;
  DigestTable table_;
  bool has_zero_ = false;  // the digest that stands for an empty slot
};

static_assert(Filter<Exact> && Growable<Exact> && Mergeable<Exact>);

}  // namespace nodup
