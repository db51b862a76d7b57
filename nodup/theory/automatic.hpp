// SPDX-License-Identifier: Apache-2.0
//
// What lines of 512 bits remember of the keys that come to them, in three forms.
//
//   plain   k lanes, a bit of each per key (theory/blocked.hpp): forgets nothing, and in the end takes all for seen
//   slots   c slots of w bits, each key has one; a new key overwrites it
//   queue   c slots of w bits, a key may be in any; a new key pushes out the oldest
//
// A slot holds one of V = 2^w - 1 fingerprints. A line's false positives are exactly (fingerprints it holds) / V, since
// a queue holds no fingerprint twice, and at most (its slots) / V, for ever.
#pragma once

#include <algorithm>
#include <cmath>

#include "nodup/theory/blocked.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup::theory {

// A line, or a slot of its own, after some keys have come to it. On average.
struct Remembered {
  double passed = 0;  // keys judged new
  double held = 0;    // of these, still there
  double false_positive = 0;
};

inline double queue_limit(double slots, double values) { return std::fmin(1, slots / values); }

// Of the keys that passed, those judged new when they come again: they are not held, and no other key looks the same.
//
// The latter is rarer just after a key has fallen out than in the end: as long as it was there, no other of the same
// fingerprint could come in. Each of the keys that come then takes its fingerprint with probability 1/(V - slots), so
// after i of them it still looks new with (1 - 1/(V - slots))^i: the sum over i is the first case. In the long run it
// is in for `slots` keys and out for V - slots on average; renewal theory gives the second case, with a = slots/V.
// Takes the same number for all lines.
inline double queue_judges_new_again(const Remembered& r, double slots, double values) {
  const double fallen_out = std::fmax(0, r.passed - r.held), a = queue_limit(slots, values);
  const double others = values - slots;
  if (others <= 1) return 0;  // hardly anything ever falls out
  const auto at_first = [&](double keys) { return -others * std::expm1(keys * std::log1p(-1 / others)); };
  if (fallen_out <= slots) return at_first(fallen_out);
  return std::fmax(at_first(slots), (1 - a) * (fallen_out + a * (slots + 1) / 2));
}
// The same of one slot. The key that passed i keys ago looks seen with 1/V + (1 - 1/V) q^i, q = -1/(V-1); summed over
// all that passed, of whose number N the mean of q^N is e^-mean (1 + q mean). Exact.
inline double slot_judges_new_again(const Remembered& r, double values) {
  const double b = 1 - 1 / values, empty = 1 - r.held;
  const double mean_power = empty > 0 ? empty * (1 + std::log(empty) / (values - 1)) : 0;
  return std::fmax(0, b * r.passed - b * b * (1 - mean_power));
}

// A queue to which `mean` different keys come, their number Poisson distributed. As long as it is not full it holds the
// fingerprints that were hit, each with probability 1 - e^(-mean/V) and independent of the others: a binomial number,
// cut at the number of slots. Exact for `held`; `passed` takes the means for the numbers.
inline Remembered queue_remembers(double mean, double slots, double values) {
  const double hit = -std::expm1(-mean / values);
  double log_weight = -mean;  // of 0 fingerprints
  double missing = 0;         // of the slots
  for (double held = 0; held < std::fmin(slots, values); ++held) {
    missing += (slots - held) * std::exp(log_weight);
    log_weight += std::log((values - held) / (held + 1)) + std::log(hit) + mean / values;
  }
  Remembered r;
  r.held = std::fmax(0, std::fmin(slots - missing, values * hit));
  r.false_positive = std::fmin(1, r.held / values);
  const double until_held = -values * std::log1p(-std::fmin(r.false_positive, 1 - 1e-12));
  r.passed = r.held + std::fmax(0, mean - until_held) * (1 - queue_limit(slots, values));
  return r;
}

// One slot of its own for each key: taken by the first that comes, overwritten by each that does not look the same.
inline Remembered slot_remembers(double mean, double values) {
  Remembered r;
  r.held = -std::expm1(-mean);
  r.false_positive = r.held / values;
  r.passed = r.held + (mean - r.held) * (1 - 1 / values);
  return r;
}

// Every bit of it that is set stays set. `passed` is the integral over all keys of 1 - false positives (Simpson's
// rule).
inline Remembered plain_remembers(double mean, unsigned probes) {
  const auto false_positive = [&](double keys) { return blocked_false_positive(keys, 1, 1, probes, 512 / probes); };
  constexpr int kSteps = 16;
  double sum = 1;  // nothing is lost in the beginning
  for (int i = 1; i <= kSteps; ++i)
    sum += (i == kSteps ? 1 : i % 2 == 1 ? 4 : 2) * (1 - false_positive(mean * i / kSteps));
  const double passed = mean * sum / (3 * kSteps);
  return {.passed = passed, .held = passed, .false_positive = false_positive(mean)};
}

}  // namespace nodup::theory
