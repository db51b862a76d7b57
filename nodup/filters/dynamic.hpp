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
// the total (theory/growing.hpp), not at a fixed number.
//
// A key that is counted more than once (add) stays in one filter as long as no other looks as if it had it: else it
// could not be erased again.
//
// Errors: a false positive (a new event is LOST), in total at most `error` while there is memory; never a false
// negative, as long as only keys that are held are erased.
// Cost: four times the memory of a filter of bits; a cache line per probe and filter. A good first guess of the number
// of keys makes it one filter.
// Threads: one at a time.
#pragma once

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
    Counting::Params filter;      // of each; it takes filter.keys if it is the first
    double error = 1e-6;          // of all together
    std::uint64_t max_bytes = 0;  // 0: no limit

    // How many keys the i-th filter of the row takes, from 1.
    std::uint64_t capacity(std::uint64_t i) const;
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
  Erased erase(Digest d) noexcept;
  void prefetch(Digest d) const noexcept {
    for (const Counting& filter : filters_) filter.prefetch(d);
  }
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) { params_.max_bytes = max_bytes; }

  std::uint64_t keys() const;
  std::uint64_t bytes() const;
  std::uint64_t filters() const;                                // that hold keys
  std::size_t filter_count() const { return filters_.size(); }  // with those that are empty
  const Counting& filter(std::size_t i) const { return filters_[i]; }
  std::size_t open() const noexcept;  // which filter takes the next key
  Rates rates() const;
  Facts facts() const;

  void merge(const Dynamic& other);
  void save(Writer& out) const;
  static Dynamic load(Reader& in);

 private:
  // Filters in one row: past a few, every key costs hundreds of cache lines, and a better first guess is due.
  static constexpr std::uint64_t kMostFilters = 1 << 16;

  Dynamic(const Params& params, std::vector<Counting> filters);
  void join_with_another(std::size_t changed) noexcept;

  Params params_;
  std::vector<std::uint64_t> capacities_;  // of each filter by its place in the row
  std::vector<Counting> filters_;          // at least one; those that make_room made ready are empty, at the end
};

}  // namespace nodup
