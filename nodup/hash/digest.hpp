// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace nodup {

// A key, already hashed. Filters never see bytes: they take `lo` for WHERE to look and `hi` for WHICH bits,
// or the two together as the start and step of a sequence of positions (hash/positions.hpp).
struct Digest {
  std::uint64_t lo = 0, hi = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

}  // namespace nodup
