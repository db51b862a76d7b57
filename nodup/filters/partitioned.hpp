// SPDX-License-Identifier: Apache-2.0
//
// The standard filter with its bits cut into one slice per probe; a key sets one bit in each (Mullin, "A
// second look at Bloom filters", CACM 26(8), 1983).
//
// Errors: as the standard filter. A key's bits are always `probes` different ones, but the slices fill up a
// little faster than one array would, so the rate is higher by a hair (a factor of 1 + O(probes^2 / bits),
// nothing from 10^5 bits on); in return the formula is exact for small filters too.
//
// Cost: as the standard filter. Take it where the slices are wanted as such: they can be kept, moved, cleared
// or sent one by one.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <cstdint>
#include <string_view>

#include "nodup/filters/standard.hpp"

namespace nodup {

class PartitionedPlaces {
 public:
  static constexpr std::string_view kName = "partitioned";
  static constexpr std::string_view kSummary = "a Bloom filter with a slice of bits for every probe";
  static constexpr theory::Placing kPlacing = theory::Placing::sliced;

  // Slices are equal; up to probes - 1 bits at the end belong to none and stay zero.
  explicit PartitionedPlaces(const BloomParams& p) : slice_(p.bits / p.probes), used_(slice_ * p.probes) {}
  std::uint64_t at(Digest d, std::uint64_t i) const noexcept { return i * slice_ + position(d, i, slice_); }
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t slice_;
  std::uint64_t used_;
};

using Partitioned = Bloom<PartitionedPlaces>;

static_assert(Filter<Partitioned> && Mergeable<Partitioned>);

}  // namespace nodup
