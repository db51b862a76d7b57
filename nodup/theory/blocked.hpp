// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace nodup::theory {

// x to a whole number. A plan asks for ten thousands of them; std::pow would take a third of the time in which the
// command starts.
inline double whole_power(double x, unsigned exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1, x *= x)
    if (exponent & 1) power *= x;
  return power;
}

// False positives of a line-blocked filter: each key puts one bit into each of b lanes of w bits (b*w = 512) in each
// of L lines chosen at random among `lines`.
//
// Given N keys in a line, a lane has a given bit set with probability 1-(1-1/w)^N, and lanes are independent given N;
// N is Poisson with mean n*L/lines (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters",
// section 3). The two lines of a key are independent. Model error: none seen above the noise of 1e8 probes as long as
// there are 100 lines or more; with fewer, N is binomial and the truth lies below.
inline double blocked_false_positive(double n, double lines, unsigned L, unsigned b, unsigned w) {
  const double mean = n * L / lines;
  if (mean <= 0) return 0;
  if (mean > 1e6) return 1;                         // every bit is set; the sum below would only take long to say so
  const double spread = 12 * std::sqrt(mean) + 40;  // beyond it the Poisson weights are below 1e-20
  const double first = mean > spread ? std::floor(mean - spread) : 0;
  const double last = std::ceil(mean + spread);
  const double log_zero = std::log1p(-1.0 / w);
  double weight = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1));
  double sum = 0;
  for (double load = first; load <= last; ++load) {
    sum += weight * whole_power(-std::expm1(load * log_zero), b);
    weight *= mean / (load + 1);
  }
  return whole_power(std::fmin(sum, 1.0), L);
}

}  // namespace nodup::theory
