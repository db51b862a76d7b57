// SPDX-License-Identifier: Apache-2.0
//
// Intervals that hold a true rate with 95 % probability, from a sample.
#pragma once

#include <algorithm>
#include <cmath>

namespace nodup {

struct Interval {
  double value = 0;  // the estimate
  double low = 0, high = 0;
};

// By how many standard deviations an estimate is off in one case of twenty, when the deviation itself is estimated with
// so many degrees of freedom (Student's t, by its expansion about the normal distribution: Fisher and Cornish 1960).
// Within 1 % from 3 degrees on; fewer count as 3.
inline double t_95(double degrees) {
  constexpr double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double v = std::max(degrees, 3.0);
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

// Wilson's interval for a share p seen in n independent trials, n > 0; n may be a fraction. Unlike p +- t * deviation
// it stays within 0..1 and says something also when p is 0: then the share is at most t^2 / (n + t^2).
inline Interval wilson(double p, double n, double t) {
  const double t2 = t * t / n;
  const double middle = (p + t2 / 2) / (1 + t2);
  const double half = std::sqrt(t2 * (p * (1 - p) + t2 / 4)) / (1 + t2);
  return {p, std::max(0.0, std::min(p, middle - half)), std::min(1.0, std::max(p, middle + half))};
}

}  // namespace nodup
