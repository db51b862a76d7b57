// SPDX-License-Identifier: Apache-2.0
//
// dynamic: a set that grows and shrinks: a row of equal counting filters (Guo, Wu, Chen, Yuan and Luo, "The dynamic
// Bloom filters", 2010).
//
// A key goes into the first filter that is not full; when all are, a further one is appended. A key is seen if any
// filter has it. Erasing looks for the filters that have the key: if it is one, it is taken out there; if there are
// several, which of them took it in is not known, and to guess wrong would make other keys vanish, so nothing is
// touched and the answer is `ambiguous`. When keys have gone, two filters that fit into one are made one, by adding
// their counters.
//
// Since all filters are equal, a key has the same places in each, and filters can be added up. What makes the TOTAL
// error keep its bound is that later filters take fewer keys: the i-th is full when its own error reaches its share of
// the total (theory/growing.hpp). Its error is seen from its counters above zero, not from its number of keys: keys
// that were added many times, that two merged sets had in common, or whose counters are saturated do not deceive it.
//
// A key that is counted more than once (add) stays in one filter as long as no other looks as if it had it: else it
// could not be erased again.
//
// Errors: a false positive (a new event is LOST), in total at most `error` while there is memory and the row is not
// very long (thousands of filters at 0.01, 140 at 0.1: kLeastShare in dynamic.cpp); never a false negative, as long as
// only keys that are held are erased.
// Cost: four times the memory of a filter of bits; a cache line per probe and filter. A good first guess of the number
// of keys makes it one filter.
// Threads: one at a time; contains() by many while nobody changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nodup/filters/counting.hpp"
#include "nodup/filters/filter.hpp"

namespace nodup {

class Dynamic {
 public:
  static constexpr std::string_view kName = "dynamic";
  static constexpr std::string_view kSummary =
      "a row of counting filters: grows, shrinks, and keys can be taken out again";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  struct Params {
    Counting::Params filter;      // of each; the first takes filter.keys
    double error = 1e-6;          // of all together
    std::uint64_t max_bytes = 0;  // 0: no limit

    friend bool operator==(const Params&, const Params&) = default;

    // The i-th filter of the row, from 1, is full with this many counters above zero: then its own error is its share
    // of the total.
    std::uint64_t most_above_zero(std::uint64_t i) const;
    // How many keys that takes.
    double capacity(std::uint64_t i) const;
  };

  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys);
  static std::uint64_t bytes(const Params& p) { return Counting::bytes(p.filter); }
  static double lines_per_event(const Params& p) { return Counting::lines_per_event(p.filter); }
  static Facts facts(const Params& p);

  explicit Dynamic(const Params& params);

  bool insert(Digest d) noexcept { return !contains(d) && filters_[open()].add(d); }
  bool add(Digest d) noexcept;
  bool contains(Digest d) const noexcept;
  // What erase(d) would answer.
  Erased erasable(Digest d) const noexcept;
  Erased erase(Digest d) noexcept;
  void prefetch(Digest d) const noexcept;
  // For insertions that follow: an erase may make two filters one and take the room back.
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) { params_.max_bytes = max_bytes; }

  const Params& params() const { return params_; }
  std::uint64_t keys() const;
  std::uint64_t bytes() const;
  std::uint64_t filters() const;  // that hold keys
  std::uint64_t saturated() const;
  Rates rates() const;
  Facts facts() const;

  // The row itself, for those who send it to others: inserts change filter(open()) alone.
  std::size_t filter_count() const { return filters_.size(); }
  const Counting& filter(std::size_t i) const { return filters_[i]; }
  // The first that is not full; the last if all are, which takes more than it should.
  std::size_t open() const noexcept;

  // Each filter of `other` is added to one of ours where both fit into one, or appended. Throws Error, and changes
  // nothing, when the parameters differ, or the error or the memory would be more than was promised: two sets whose
  // first filters are full cannot be one of the same error.
  void merge(const Dynamic& other);
  // The same in two steps: all that can be refused, then all that changes.
  struct Union {
    std::vector<std::size_t> places;  // for each filter of the other: the one of ours it is added to
    std::vector<Counting> fresh;      // appended first
  };
  Union plan_union(const Dynamic& other) const;
  void unite(const Dynamic& other, Union plan);

  void save(Writer& out) const;
  static Dynamic load(Reader& in);

 private:
  // Filters in one row: past a few, every key costs hundreds of cache lines, and a better first guess is due.
  static constexpr std::uint64_t kMostFilters = 1 << 16;

  Dynamic(const Params& params, std::vector<Counting> filters);
  // The place of the one filter that has d, if it is one.
  struct Holder {
    Erased answer;
    std::size_t place;
  };
  Holder holder_of(Digest d) const noexcept;
  void append(Counting filter);
  double room(std::size_t place) const;  // how many keys more it takes
  void join_with_another(std::size_t changed) noexcept;

  Params params_;
  std::vector<std::uint64_t> most_above_zero_;  // of each filter by its place in the row
  std::vector<Counting> filters_;               // at least one; those that make_room made ready are empty, at the end
};

}  // namespace nodup
