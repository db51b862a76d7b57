// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/bloom.hpp"

#include <cmath>
#include <limits>

namespace nodup::theory {

namespace {
// A filter as balls thrown into cells: all probes of a key into all bits, or one ball per key into each
// slice.
struct Throws {
  double cells;    // that share the balls
  double per_key;  // balls
};

Throws throws_of(Placing placing, double m, double k) {
  return placing == Placing::anywhere ? Throws{m, k} : Throws{std::floor(m / k), 1};
}
}  // namespace

double cells_hit(double cells, double throws) {
  if (throws <= 0) return 0;  // also where one cell would make it 0 times infinity
  return -cells * std::expm1(throws * std::log1p(-1 / cells));
}

double bloom_fill(Placing placing, double m, double k, double n) {
  const Throws t = throws_of(placing, m, k);
  return cells_hit(t.cells, t.per_key * n) / t.cells;
}

double bloom_false_positive(Placing placing, double m, double k, double n) {
  return std::pow(bloom_fill(placing, m, k, n), k);
}

double bloom_bits(Placing placing, double k, double n, double P) {
  const double log_of_zeros = std::log1p(-std::pow(P, 1 / k));  // ln of the share of zeros that P allows
  // (1 - 1/cells)^balls = zeros, solved for the cells.
  return placing == Placing::anywhere ? -1 / std::expm1(log_of_zeros / (k * n)) : -k / std::expm1(log_of_zeros / n);
}

double bloom_bits_limit(double k, double n, double P) { return -k * n / std::log1p(-std::pow(P, 1 / k)); }

unsigned bloom_best_probes(Placing placing, double m, double n, unsigned k_most) {
  unsigned best = 1;
  double lowest = std::numeric_limits<double>::infinity();
  for (unsigned k = 1; k <= k_most && k <= m; ++k) {
    // Compared by logarithm: P itself may be too small for a double.
    const double log_of_rate = k * std::log(bloom_fill(placing, m, k, n));
    if (log_of_rate < lowest) {
      lowest = log_of_rate;
      best = k;
    }
  }
  return best;
}

double bloom_keys(Placing placing, double m, double k, double ones) {
  const Throws t = throws_of(placing, m, k);
  const double all = placing == Placing::anywhere ? m : t.cells * k;
  if (ones <= 0) return 0;
  if (ones >= all) return std::numeric_limits<double>::infinity();
  return std::log1p(-ones / all) / (t.per_key * std::log1p(-1 / t.cells));
}

}  // namespace nodup::theory
