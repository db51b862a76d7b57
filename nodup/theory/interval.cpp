// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/interval.hpp"

#include <algorithm>
#include <cmath>

namespace nodup {

namespace {

constexpr double kNormal95 = 1.959964;
constexpr double kTail = 0.025;

// The x with beta_below(x, a, b) = p. Bisection: 60 steps are all the digits there are.
double beta_quantile(double p, double a, double b) {
  double low = 0, high = 1;
  for (int step = 0; step < 60; ++step) {
    const double x = (low + high) / 2;
    (beta_below(x, a, b) < p ? low : high) = x;
  }
  return low;
}

}  // namespace

double t_95(double degrees) {
  constexpr double z = kNormal95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double v = std::max(degrees, 3.0);
  return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

// By its continued fraction (Abramowitz and Stegun 26.5.8), evaluated from the front (Lentz 1976). It converges fast
// below the mean; beyond, the other tail is taken.
double beta_below(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - beta_below(1 - x, b, a);
  constexpr double kTiny = 1e-300, kEnough = 1e-14;
  constexpr int kMostTerms = 10'000;  // about the square root of a + b are needed
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  const double log_front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(log_front) * fraction / a;
}

Interval share_interval(double p, double n, double degrees) {
  const double t = t_95(degrees);
  // More than this of the rarer outcome make the interval no better than 0.6 % of it, and the fraction long.
  constexpr double kMostCounted = 1e5;
  const double rarer = std::min(p, 1 - p);
  const double trials = std::min(n * kNormal95 * kNormal95 / (t * t), rarer > 0 ? kMostCounted / rarer : HUGE_VAL);
  const double errors = p * trials, rest = trials - errors;
  return {p, errors > 0 ? std::min(p, beta_quantile(kTail, errors, rest + 1)) : 0,
          rest > 0 ? std::max(p, beta_quantile(1 - kTail, errors + 1, rest)) : 1};
}

}  // namespace nodup
