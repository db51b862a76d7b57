// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
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

// The x in 1..most at which the increasing function f reaches `wanted`; `most` if it does not. By halving the range of
// log x; 60 halvings go below the last bit of a double.
template <class F>
double reached_at(double wanted, double most, F&& f) {
  double low = 0, high = std::log(most);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (f(std::exp(middle)) < wanted ? low : high) = middle;
  }
  return std::exp(high);
}

}  // namespace nodup
