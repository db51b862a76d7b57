// SPDX-License-Identifier: Apache-2.0
//
// stable: the stable Bloom filter (Deng & Rafiei, "Approximately detecting duplicates for streaming data using Stable
// Bloom Filters", SIGMOD 2006). Cells of a few bits in one array. Every record, whatever its judgement, takes 1 from P
// random cells that are not 0, and then sets its K cells to the highest value; a key whose K cells are all above 0 is a
// duplicate. So old keys fade out, and the share of cells at 0 settles at a value that depends on K, P and the highest
// value alone.
//
// Errors: a new event is LOST when other keys keep its cells up: at the stable point (1 - (P / (P + K))^Max)^K of them
// (theory/stable.hpp). A duplicate PASSES when its key was last seen too long ago; but a key that keeps coming is kept.
//
// Cost: K + P cache lines for every record, duplicate or not.
//
// Chance: the cells to decrement come from numbered draws (hash/draws.hpp), P per record, so those of the records to
// come are known and are prefetched.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "nodup/bits/cell_array.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/hash/draws.hpp"
#include "nodup/hash/positions.hpp"

namespace nodup {

struct StableParams {
  std::uint64_t cells = 0;
  std::uint64_t cell_bits = 1;  // the highest value, Max, has all of them set
  std::uint64_t probes = 2;     // K: cells per key
  std::uint64_t resets = 4;     // P: cells that a record decrements
  std::uint64_t keys = 0;       // it is fitted for; 0: an endless stream

  static constexpr std::uint64_t kMostCellBits = 8;
  static constexpr std::uint64_t kMostProbes = 32;
  static constexpr std::uint64_t kMostResets = 1024;
  static constexpr std::uint64_t kMostCells = std::uint64_t{1} << 52;

  friend bool operator==(const StableParams&, const StableParams&) = default;

  // Throws Error naming the parameter that is out of range.
  const StableParams& checked() const;
};

class Stable {
 public:
  static constexpr std::string_view kName = "stable";
  static constexpr std::string_view kSummary = "fixed memory: every record fades random cells, seen keys stay (SBF)";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate of a key last seen long ago may pass (false negative)";
  static constexpr bool kForgets = true;

  using Params = StableParams;
  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys);
  static std::uint64_t bytes(const Params& p) {
    return CellArray::packed_bytes(p.cells, static_cast<unsigned>(p.cell_bits)) + CellArray::kSpareBytes;
  }
  static double lines_per_event(const Params& p);
  static Facts facts(const Params& p);

  explicit Stable(const Params& p)
      : Stable(p, 0, 0, Draws(), CellArray(p.checked().cells, static_cast<unsigned>(p.cell_bits))) {}

  bool insert(Digest d) noexcept {
    const bool is_new = !contains(d);
    ++records_;
    keys_ += is_new;
    for (std::uint64_t i = 0; i < params_.resets; ++i) {
      cells_.prefetch(fastrange(draws_.peek(kResetsAhead * params_.resets), params_.cells));
      decrement(fastrange(draws_.next(), params_.cells));
    }
    for (std::uint64_t i = 0; i < params_.probes; ++i) raise(position(d, i, params_.cells));
    return is_new;
  }
  bool contains(Digest d) const noexcept {
    bool seen = true;
    for (std::uint64_t i = 0; i < params_.probes; ++i) seen &= cells_.get(position(d, i, params_.cells)) != 0;
    return seen;
  }
  void prefetch(Digest d) const noexcept {
    for (std::uint64_t i = 0; i < params_.probes; ++i) cells_.prefetch(position(d, i, params_.cells));
  }

  std::uint64_t keys() const { return keys_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t bytes() const { return cells_.bytes(); }
  Rates rates() const;
  Facts facts() const { return facts(params_); }

  void save(Writer& out) const;
  static Stable load(Reader& in);

 private:
  // How many records ahead a line is asked for.
  static constexpr std::uint64_t kResetsAhead = 16;

  Stable(const Params& p, std::uint64_t keys, std::uint64_t records, Draws draws, CellArray cells);

  void decrement(std::uint64_t cell) noexcept {
    const std::uint64_t old = cells_.get(cell);
    live_ -= old == 1;
    cells_.set(cell, old - (old != 0));
  }
  void raise(std::uint64_t cell) noexcept {
    live_ += cells_.get(cell) == 0;
    cells_.set(cell, cells_.max_value());
  }

  Params params_;
  Draws draws_;
  CellArray cells_;
  std::uint64_t live_ = 0;  // cells above 0
  std::uint64_t keys_;
  std::uint64_t records_;
};

static_assert(Forgetting<Stable>);

}  // namespace nodup
