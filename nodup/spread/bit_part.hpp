// SPDX-License-Identifier: Apache-2.0
//
// What another node needs of one counting filter: whether it has a key. One bit says whether a counter is above zero,
// so the four bits of the counter need not travel, nor be kept.
//
// A key has the same places here as in the filter the bits were taken from (and as in `partitioned`), so the answers
// are the same. Two parts of equal parameters can be united by OR.
//
// Errors: those of the filter at the moment the bits were taken.
// Memory: plain, not Pages: a node knows thousands of small parts, and a mapping of its own takes a page at least.
// Threads: nothing changes a part once it is made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nodup/filters/counting.hpp"
#include "nodup/filters/partitioned.hpp"

namespace nodup {

class BitPart {
 public:
  explicit BitPart(const Counting& filter);

  friend bool operator==(const BitPart& a, const BitPart& b) { return a.params_ == b.params_ && a.words_ == b.words_; }

  bool contains(Digest d) const noexcept {
    // Most parts do not have a key, and say so at the first or second bit.
    for (std::uint64_t i = 0; i < params_.probes; ++i) {
      const std::uint64_t at = places_.at(d, i);
      if ((words_[at / 64] >> (at % 64) & 1) == 0) return false;
    }
    return true;
  }
  // Everything that looks held in `other` looks held here. Both have equal parameters, here and below.
  bool includes(const BitPart& other) const noexcept;
  // By OR; none if more than `most_ones` bits would be set.
  std::optional<BitPart> united(const BitPart& other, std::uint64_t most_ones) const;

  const BloomParams& params() const { return params_; }
  std::uint64_t ones() const { return ones_; }
  std::uint64_t bytes() const { return words_.size() * 8; }
  double false_positive() const;
  // The bits that would be set, on average, with as many keys as it is meant to hold.
  std::uint64_t ones_when_full() const;

  // bits u64 | probes u64 | capacity u64 | words u64 x ceil(bits / 64)
  void save(Writer& out) const;
  static BitPart load(Reader& in);

 private:
  BitPart(const BloomParams& params, std::vector<std::uint64_t> words, std::uint64_t ones);

  BloomParams params_;
  PartitionedPlaces places_;
  std::vector<std::uint64_t> words_;
  std::uint64_t ones_;
};

}  // namespace nodup
