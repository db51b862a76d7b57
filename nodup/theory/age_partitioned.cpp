// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/age_partitioned.hpp"

#include <algorithm>
#include <cmath>

namespace nodup::theory {

namespace {

// What is still to come from one state of the walk. The accesses are weighted: E[accesses; this outcome].
struct Outcome {
  double found = 0, missed = 0;
  double accesses_found = 0, accesses_missed = 0;
};

std::vector<double> with_own(std::span<const double> fill, std::uint64_t k, std::uint64_t d) {
  std::vector<double> own(fill.begin(), fill.end());
  for (std::uint64_t i = d; i < std::min<std::uint64_t>(d + k, own.size()); ++i) own[i] = 1;
  return own;
}

}  // namespace

std::vector<double> age_fill_linear(std::uint64_t k, std::uint64_t l) {
  std::vector<double> fill(k + l);
  for (std::uint64_t i = 0; i < k + l; ++i)
    fill[i] = static_cast<double>(std::min(i + 1, k)) / (2 * static_cast<double>(k));
  return fill;
}

std::vector<double> age_fill(std::uint64_t k, std::uint64_t l, double full) {
  std::vector<double> fill(k + l);
  for (std::uint64_t i = 0; i < k + l; ++i)
    fill[i] = -std::expm1(std::log1p(-full) * static_cast<double>(std::min(i + 1, k)) / static_cast<double>(k));
  return fill;
}

double age_slice_fill(double m, double n) { return m <= 1 ? (n > 0 ? 1.0 : 0.0) : -std::expm1(n * std::log1p(-1 / m)); }

double age_false_positive(std::uint64_t k, std::span<const double> fill) {
  // The chance of each length of the run of matches that ends at the present slice, no run having reached k.
  std::vector<double> run(k);
  run[0] = 1;
  double found = 0, open = 1;  // open: the sum of run
  for (const double r : fill) {
    const double reached = run[k - 1] * r;
    found += reached;
    const double failed = open * (1 - r);
    for (std::uint64_t c = k - 1; c > 0; --c) run[c] = run[c - 1] * r;
    run[0] = failed;
    open -= reached;
  }
  return std::min(found, 1.0);
}

double age_efficiency(std::uint64_t k, std::uint64_t l, double false_positive) {
  const auto kd = static_cast<double>(k), ld = static_cast<double>(l);
  return -std::log2(false_positive) / kd * ld / (kd + ld);
}

AgeWalk age_walk(std::uint64_t k, std::span<const double> fill) {
  const std::uint64_t starts = fill.size() - k + 1;
  // At s, about to go up, with the p slices below s + k known to match. Leaps only go down.
  std::vector<Outcome> states(starts * k);
  for (std::uint64_t s = 0; s < starts; ++s) {
    for (std::uint64_t p = 0; p < k; ++p) {
      Outcome& here = states[s * k + p];
      double all = 1;  // chance that the slices so far match
      for (std::uint64_t c = 0; c < k - p; ++c) {
        const double fails = all * (1 - fill[s + c]);
        const auto accesses = static_cast<double>(c + 1);
        const Outcome next = s + c >= k ? states[(s + c - k) * k + c] : Outcome{.missed = 1};
        here.found += fails * next.found;
        here.missed += fails * next.missed;
        here.accesses_found += fails * (next.accesses_found + accesses * next.found);
        here.accesses_missed += fails * (next.accesses_missed + accesses * next.missed);
        all *= fill[s + c];
      }
      here.found += all;
      here.accesses_found += all * static_cast<double>(k - p);
    }
  }
  const Outcome& all = states[(starts - 1) * k];
  return {.found = all.found,
          .accesses_found = all.found > 0 ? all.accesses_found / all.found : 0,
          .accesses_missed = all.missed > 0 ? all.accesses_missed / all.missed : 0};
}

double age_window_accesses(std::uint64_t k, std::span<const double> fill) {
  const std::uint64_t l = fill.size() - k;
  double sum = 0;
  for (std::uint64_t d = 0; d < l; ++d) sum += age_walk(k, with_own(fill, k, d)).accesses_found;
  return sum / static_cast<double>(l);
}

double age_decay(std::uint64_t k, std::span<const double> fill, std::uint64_t d) {
  return age_false_positive(k, with_own(fill, k, d));
}

double age_past_window(std::uint64_t k, std::uint64_t l, double full) {
  double sum = 0, power = 1;
  for (std::uint64_t i = 0; i < k; ++i, power *= full) sum += power;
  return sum / static_cast<double>(l);
}

double age_block_capacity(double q) { return std::log(2.0) / -std::log1p(-1 / q); }

double age_block_fill(double load, std::uint64_t b, std::uint64_t q) {
  if (load <= 0) return 0;
  if (load > 60 * static_cast<double>(q)) return 1;  // a bit is missing in one line of 10^26
  const double spread = 9 * std::sqrt(load) + 30;    // beyond it the Poisson weights are below 1e-15
  const double first = load > spread ? std::floor(load - spread) : 0;
  const double zero = 1 - 1 / static_cast<double>(q);
  double weight = std::exp(first * std::log(load) - load - std::lgamma(first + 1));
  double clear = std::pow(zero, first);  // chance that one bit of a lane is not set
  double sum = 0;
  for (double keys = first; keys <= load + spread; ++keys) {
    double match = 1;
    for (std::uint64_t i = 0; i < b; ++i) match *= 1 - clear;
    sum += weight * match;
    weight *= load / (keys + 1);
    clear *= zero;
  }
  return std::min(sum, 1.0);
}

std::vector<double> age_block_fills(std::uint64_t k, std::uint64_t l, std::uint64_t b, std::uint64_t q,
                                    double full_load) {
  std::vector<double> fill(k + l);
  for (std::uint64_t i = 0; i < k + l; ++i)
    fill[i] =
        i < k ? age_block_fill(full_load * static_cast<double>(i + 1) / static_cast<double>(k), b, q) : fill[i - 1];
  return fill;
}

double age_block_bits_per_key(std::uint64_t k, std::uint64_t l, std::uint64_t b, std::uint64_t q) {
  return static_cast<double>((k + l) * k * b * q) /
         (static_cast<double>(l) * age_block_capacity(static_cast<double>(q)));
}

}  // namespace nodup::theory
