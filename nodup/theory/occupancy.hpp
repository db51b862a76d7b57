// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "nodup/theory/solve.hpp"

namespace nodup {

constexpr double kMostKeys = 0x1p60;  // of sample streams

// From how many equally likely keys `events` draws find `distinct` different ones: U with U(1 - e^(-events/U)) =
// distinct, from 1 to 2^60. The streams of the papers on filters that forget.
inline double uniform_universe(double events, double distinct) {
  return reached_at(distinct, kMostKeys, [&](double keys) { return -keys * std::expm1(-events / keys); });
}

}  // namespace nodup
