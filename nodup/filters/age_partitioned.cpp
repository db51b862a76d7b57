// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/age_partitioned.hpp"

#include <bit>

namespace nodup {

namespace {
constexpr std::uint64_t kOneBit[] = {1};
}  // namespace

constinit const AgeSlices AgeBits::kSlices = {
    .cells = "bits",
    .cell_bits = 1,
    .bits = kOneBit,
    .fill = [](double keys, double cells, std::uint64_t) { return theory::age_slice_fill(cells, keys); },
};

double AgeBits::measured_fill(const AgeRing& ring, std::uint64_t place) {
  const std::uint64_t bytes = std::min<std::uint64_t>(ring.cells / 8, 1 << 16);
  const std::uint8_t* slice = static_cast<const std::uint8_t*>(ring.data) + place * (ring.cells / 8);
  std::uint64_t ones = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) ones += static_cast<std::uint64_t>(std::popcount(slice[i]));
  return static_cast<double>(ones) / static_cast<double>(8 * bytes);
}

}  // namespace nodup
