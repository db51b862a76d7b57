// SPDX-License-Identifier: Apache-2.0
//
// blocked: a Bloom filter whose bits for one key lie in one cache line, or in two.
//
// Putze, Sanders and Singler (2007). One line is one memory access per event, the least there can be; but lines fill
// unevenly, and the fullest ones make most of the false positives. At 1 % that costs 5 % more memory than a standard
// filter, at 1e-6 36 % (39.2 bits per key against 28.8). Bits in TWO independent lines halve the unevenness where it
// hurts: 31.4 bits per key at 1e-6. fit() weighs the two (theory/cost.hpp).
//
// Errors: a false positive (a new event is LOST) with the rate of theory/blocked.hpp; never a false negative.
// Cost: `lines` cache lines read and written per insert, no branch on what is found.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "nodup/bits/kernels.hpp"
#include "nodup/bits/line.hpp"
#include "nodup/error.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/theory/blocked.hpp"
#include "nodup/theory/cost.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup {

class Blocked {
 public:
  static constexpr std::string_view kName = "blocked";
  static constexpr std::string_view kSummary = "Bloom filter in one or two cache lines per key: the fastest";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  struct Params {
    std::uint64_t lines = 1;  // of 64 bytes
    LineShape shape;
    std::uint64_t keys = 0;  // fitted for
  };

  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys) {
    return {.false_positive = theory::blocked_false_positive(static_cast<double>(keys), static_cast<double>(p.lines),
                                                             p.shape.lines, p.shape.bits, 512 / p.shape.bits)};
  }
  static std::uint64_t bytes(const Params& p) { return p.lines * kLineBytes; }
  static double lines_per_event(const Params& p) { return p.shape.lines; }
  static Facts facts(const Params& p) {
    return {{"lines", std::to_string(p.lines)},
            {"lines_per_key", std::to_string(p.shape.lines)},
            {"bits_per_line", std::to_string(p.shape.bits)},
            {"capacity", std::to_string(p.keys)}};
  }

  explicit Blocked(const Params& params, PagePolicy policy = PagePolicy::huge)
      : params_(params), table_(params.lines * kLineBytes, policy) {}

  bool insert(Digest d) noexcept {
    bool is_new = false;
    insert_all({&d, 1}, &is_new);
    return is_new;
  }
  bool contains(Digest d) const noexcept {
    bool seen = false;
    contains_all({&d, 1}, &seen);
    return seen;
  }
  void prefetch(Digest d) const noexcept {
    for (unsigned i = 0; i < params_.shape.lines; ++i)
      nodup::prefetch(table() + line_place(d, i, params_.lines) * kLineWords);
  }
  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
    keys_ += kernels().insert[params_.shape.lines - 1][params_.shape.bits == 16](
        table_.as<std::uint64_t>(), params_.lines, keys.data(), keys.size(), is_new);
  }
  void contains_all(std::span<const Digest> keys, bool* seen) const noexcept {
    kernels().contains[params_.shape.lines - 1][params_.shape.bits == 16](table(), params_.lines, keys.data(),
                                                                          keys.size(), seen);
  }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t bytes() const { return table_.bytes(); }
  // By the formula while the error is low and the keys are those it was built for. Otherwise the number of keys says
  // too little (a key taken for a duplicate is not counted, and merged filters share keys): then by a look at the
  // lines, too.
  Rates rates() const {
    Rates now = rates(params_, keys_);
    if (keys_ > params_.keys || now.false_positive > 1e-3)
      now.false_positive = std::max(now.false_positive, measured_false_positive());
    return now;
  }
  Facts facts() const { return facts(params_); }

  // The keys of both; their number is the sum, an upper bound, since lines do not tell how many keys they share.
  void merge(const Blocked& other) {
    if (params_.lines != other.params_.lines || params_.shape.lines != other.params_.shape.lines ||
        params_.shape.bits != other.params_.shape.bits)
      throw Error("cannot merge blocked filters of different sizes or shapes: build both for the same goal");
    for (std::uint64_t i = 0; i < params_.lines * kLineWords; ++i) table_.as<std::uint64_t>()[i] |= other.table()[i];
    keys_ += other.keys_;
  }

  // lines u64 | lines per key u64 | bits per line u64 | capacity u64 | keys held u64 | 64 bytes per line
  void save(Writer& out) const {
    out.u64(params_.lines);
    out.u64(params_.shape.lines);
    out.u64(params_.shape.bits);
    out.u64(params_.keys);
    out.u64(keys_);
    out.bytes(table_.span());
  }
  static Blocked load(Reader& in) {
    Params p;
    p.lines = in.u64("number of lines", 1, std::numeric_limits<std::uint64_t>::max() / kLineBytes);
    p.shape.lines = static_cast<unsigned>(in.u64("lines per key", 1, 2));
    p.shape.bits = static_cast<unsigned>(in.u64("bits per line", 8, 16));
    if (p.shape.bits != 8 && p.shape.bits != 16) in.damaged("bits per line is neither 8 nor 16");
    p.keys = in.u64("capacity");
    const std::uint64_t held = in.u64("number of keys");
    in.require(p.lines * kLineBytes, "lines");
    Blocked filter(p);
    filter.keys_ = held;
    in.bytes(filter.table_.span(), "lines");
    return filter;
  }

 private:
  // The chance that a new key finds its bits set, over at most 2^15 lines spread evenly: two megabytes to read.
  double measured_false_positive() const {
    const std::uint64_t step = std::max<std::uint64_t>(params_.lines >> 15, 1);
    double sum = 0, seen = 0;
    for (std::uint64_t line = 0; line < params_.lines; line += step, ++seen)
      sum += line_match(table() + line * kLineWords, 512 / params_.shape.bits);
    return params_.shape.lines == 1 ? sum / seen : sum / seen * sum / seen;
  }

  const std::uint64_t* table() const noexcept { return table_.as<std::uint64_t>(); }

  Params params_;
  Pages table_;
  std::uint64_t keys_ = 0;
};

inline Blocked::Params Blocked::fit(const Goal& goal) {
  check_goal(goal);
  constexpr LineShape kShapes[] = {{1, 8}, {1, 16}, {2, 8}, {2, 16}};
  const std::uint64_t keys = std::max<std::uint64_t>(goal.keys, 1);
  const std::uint64_t most = most_units(goal, kLineBytes);
  Params best;
  double best_cost = std::numeric_limits<double>::infinity();
  double best_error = 2;
  for (const LineShape shape : kShapes) {
    const auto error = [&](std::uint64_t lines) { return rates({lines, shape, keys}, keys).false_positive; };
    // Doubling from the bits that no Bloom filter can do without keeps the search short.
    std::uint64_t enough = std::clamp<std::uint64_t>(keys / 512 + 1, 1, most);
    while (enough < most && error(enough) > goal.error) enough = enough > most / 2 ? most : enough * 2;
    const std::uint64_t lines =
        least_where(enough / 2 + 1, enough, [&](std::uint64_t candidate) { return error(candidate) <= goal.error; });
    const Params p{lines, shape, keys};
    // Out of reach within the limit: the lowest error counts. Otherwise the cost.
    const double reached = std::max(error(lines), goal.error);
    const double price = cost(bytes(p), lines_per_event(p));
    if (reached < best_error || (reached == best_error && price < best_cost)) {
      best = p;
      best_error = reached;
      best_cost = price;
    }
  }
  return best;
}

static_assert(Filter<Blocked> && Mergeable<Blocked>);

}  // namespace nodup
