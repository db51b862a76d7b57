// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/age_partitioned.hpp"

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

}  // namespace nodup
