// SPDX-License-Identifier: Apache-2.0
//
// age_partitioned_blocked: the age-partitioned filter with a cache line where the other has a bit.
//
// Section 6 of the paper of age_partitioned.hpp. Slices are made of 64-byte lines; a key has 8 or 16 bits in ONE line
// of each of its k slices. A line that does not hold the key matches by chance once in hundreds of times, where a bit
// matches every other time: so two to four slices per key are enough.
//
// Errors: as age_partitioned.
//
// Cost: a new event looks at about (l + 1) / k lines and writes k, a duplicate looks at about half as many and k. Lines
// fill unevenly, which costs memory as in `blocked`.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <cstdint>
#include <string_view>

#include "nodup/bits/kernels.hpp"
#include "nodup/filters/age_partitioned.hpp"

namespace nodup {

struct AgeLines {
  static constexpr std::string_view kName = "age_partitioned_blocked";
  static constexpr std::string_view kSummary =
      "sliding window in slices of cache lines that grow old; few lines per event";
  static const AgeSlices kSlices;

  static void insert(const AgeRing& ring, const AgeStretch& stretch, AgeBatch& batch, std::size_t end) noexcept {
    kernels().insert_ages[ring.bits == 16](ring, stretch, batch, end);
  }
  static std::uint64_t find(const AgeRing& ring, std::uint64_t reach, Digest d) noexcept {
    return kernels().find_age[ring.bits == 16](ring, reach, d);
  }
  static bool put(const AgeRing& ring, std::uint64_t age, Digest d) noexcept {
    return ring.bits == 16 ? put_age(LineSlices<PortableLine16>(ring), ring, age, d)
                           : put_age(LineSlices<PortableLine8>(ring), ring, age, d);
  }
  static void prefetch(const AgeRing& ring, std::uint64_t reach, Digest d) noexcept {
    prefetch_age(LineSlices<PortableLine8>(ring), ring, reach, d);
  }
  // The fill of a slice by a look at 64 KiB of it.
  static double measured_fill(const AgeRing& ring, std::uint64_t place);
};

using AgePartitionedBlocked = AgePartitionedOf<AgeLines>;

static_assert(Filter<AgePartitionedBlocked> && Ageing<AgePartitionedBlocked>);

}  // namespace nodup
