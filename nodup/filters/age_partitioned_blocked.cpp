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

}  // namespace nodup
