// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nodup {

// The least x in [least, most] for which good(x) holds, where good is false up to some x and true from there
// on. `most` when it holds nowhere below: the caller knows that `most` is good, or looks.
template <class Good>
constexpr std::uint64_t least_where(std::uint64_t least, std::uint64_t most, Good&& good) {
  while (least < most) {
    const std::uint64_t middle = least + (most - least) / 2;
    if (good(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

// The greatest x in [least, most] for which good(x) holds, where good is true up to some x and false from
// there on. `least` when it holds nowhere above.
template <class Good>
constexpr std::uint64_t greatest_where(std::uint64_t least, std::uint64_t most, Good&& good) {
  while (least < most) {
    const std::uint64_t middle = most - (most - least) / 2;
    if (good(middle))
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

}  // namespace nodup
