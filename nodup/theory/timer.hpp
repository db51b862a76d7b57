// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of Bloom filters of timers ("One is Enough: Distributed Filtering for Duplicate Elimination", CIKM
// 2011, sections 4 and 5). Symbols: m cells, k probes per key, n keys, P false positive rate. shares[j] is the share of
// all m cells that carry the tag of the generation of age j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "nodup/theory/goal.hpp"

namespace nodup::theory {

// Keys that m cells take at P, and the number of cells then set (section 5: growing by cardinality and by density).
inline double timer_capacity(double m, double k, double P) { return -m / k * std::log1p(-std::pow(P, 1 / k)); }
inline double timer_full(double m, double k, double P) { return m * std::pow(P, 1 / k); }

// Keys to build for, so that n keys do not fill the filter before its time: the number of cells they set scatters by at
// most 0.32 sqrt(m). Four times that is about 4 sqrt(n / k) keys where the memory is put to best use, and there k is
// near log2(1 / P).
inline double timer_keys_with_margin(double n, double P) { return n + 4 * std::sqrt(n / std::max(1.0, -std::log2(P))); }

// The shares that n keys make, spread evenly over the generations: a cell shows the last one that wrote to it.
inline std::vector<double> timer_shares(double m, double k, double n, std::uint64_t generations) {
  const double untouched = std::exp(-k * n / m / static_cast<double>(generations));
  std::vector<double> shares(generations);
  double left = 1;
  for (double& share : shares) {
    share = left * (1 - untouched);
    left *= untouched;
  }
  return shares;
}

// The chance that k draws all fall into the shares and no share is drawn more than `most` times: k! times the
// coefficient of x^k in the product of all sum_{j <= most} (share x)^j / j!.
inline double draws_spread(std::span<const double> shares, unsigned k, unsigned most) {
  std::vector<double> coefficients(k + 1, 0.0), next(k + 1);
  coefficients[0] = 1;
  for (const double share : shares) {
    std::fill(next.begin(), next.end(), 0.0);
    double factor = 1;
    for (unsigned j = 0; j <= std::min(most, k); ++j) {
      for (unsigned i = j; i <= k; ++i) next[i] += coefficients[i - j] * factor;
      factor *= share / (j + 1);
    }
    coefficients.swap(next);
  }
  return coefficients[k] * std::tgamma(k + 1.0);
}

// A key is a duplicate if its k cells are alive and at least `equal` of them carry one tag.
//   equal = 1: the plain filter, never a false negative.
//   equal > 1: a new key needs that many equal tags by chance. (The paper's rate for all k equal, (1 - e^{-k/m})^k,
//   forgets to sum over the stored keys and is too low by orders of magnitude.) In return a duplicate passes when newer
//   keys have written over so many of its cells that fewer than `equal` have one tag; a cell of a key of age a now
//   carries the tag of a younger generation with the share of that one. Averaged over the keys of all generations.
// That two positions of one key may fall together is left out: k^2 / 2m.
inline Rates timer_rates(std::span<const double> shares, std::span<const double> keys, unsigned k, unsigned equal) {
  double alive = 0;
  for (const double share : shares) alive += share;
  Rates rates{.false_positive = std::pow(std::min(alive, 1.0), k)};
  if (equal <= 1) return rates;
  rates.false_positive = std::max(0.0, rates.false_positive - draws_spread(shares, k, equal - 1));
  double sum = 0, all = 0, younger = 0;
  for (std::size_t age = 0; age < shares.size(); ++age) {
    std::vector<double> own(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(age));
    own.push_back(std::max(0.0, 1 - younger));
    if (keys[age] > 0) sum += keys[age] * draws_spread(own, k, equal - 1);
    all += keys[age];
    younger += shares[age];
  }
  if (all > 0) rates.false_negative = std::min(1.0, sum / all);
  return rates;
}

}  // namespace nodup::theory
