// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/age_partitioned_blocked.hpp"

namespace nodup {

namespace {
constexpr std::uint64_t kLineShapes[] = {8, 16};
}  // namespace

constinit const AgeSlices AgeLines::kSlices = {
    .cells = "lines",
    .cell_bits = kLineBytes * 8,
    .bits = kLineShapes,
    .fill = [](double keys, double cells,
               std::uint64_t bits) { return theory::age_block_fill(keys / cells, bits, kLineBytes * 8 / bits); },
};

double AgeLines::measured_fill(const AgeRing& ring, std::uint64_t place) {
  const std::uint64_t lines = std::min<std::uint64_t>(ring.cells, (1 << 16) / kLineBytes);
  const unsigned lane_bits = static_cast<unsigned>(kLineBytes * 8 / ring.bits);
  const std::uint64_t* line = static_cast<const std::uint64_t*>(ring.data) + place * ring.cells * kLineWords;
  double sum = 0;
  for (std::uint64_t i = 0; i < lines; ++i, line += kLineWords) sum += line_match(line, lane_bits);
  return sum / static_cast<double>(lines);
}

}  // namespace nodup
