// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/sampled.hpp"

#include <algorithm>
#include <cmath>

#include "nodup/filters/fit.hpp"

namespace nodup {

namespace {

constexpr std::uint64_t kLineBits = 512;

std::uint64_t best_arrays(theory::Resetting rule, double bits, double keys, double error) {
  std::uint64_t best = 1;
  theory::SampledMoment best_moment;
  for (std::uint64_t arrays = 1; arrays <= SampledParams::kMostProbes; ++arrays) {
    const auto k = static_cast<double>(arrays);
    const theory::SampledMoment moment = theory::sampled_after(rule, k, std::floor(bits / k), keys);
    const double lost = std::max(moment.worst_false_positive, error),
                 best_lost = std::max(best_moment.worst_false_positive, error);
    if (arrays > 1 && (lost > best_lost || (lost == best_lost && moment.false_negative >= best_moment.false_negative)))
      continue;
    best = arrays;
    best_moment = moment;
  }
  return best;
}

// A number of arrays and the bits per key it takes.
struct Need {
  std::uint64_t arrays = SampledParams::kMostProbes;
  double bits_per_key = HUGE_VAL;
};

Need least_need(theory::Resetting rule, double error) {
  Need least;
  for (std::uint64_t arrays = 1; arrays <= SampledParams::kMostProbes; ++arrays) {
    const auto k = static_cast<double>(arrays);
    const auto reached = [&](double keys_per_bit_of_array) {
      const theory::SampledMoment moment = theory::sampled_after(rule, k, 1, keys_per_bit_of_array);
      return moment.worst_false_positive <= 0.999 * error &&
             moment.false_negative <= kMostPassing;  // a hair for rounding
    };
    if (!reached(std::max(k / least.bits_per_key, 1e-12))) continue;  // no better than what was found
    least = {arrays, k / greatest_ratio(reached)};
  }
  return least;
}

}  // namespace

SampledParams fit_sampled(const Goal& goal, theory::Resetting rule) {
  check_goal(goal);
  SampledParams p;
  p.keys = goal.keys;
  if (goal.bytes != 0) {
    p.bits = std::min(most_units(goal, kLineBits / 8), SampledParams::kMostBits / kLineBits) * kLineBits;
    const auto bits = static_cast<double>(p.bits);
    p.probes = best_arrays(rule, bits, goal.keys != 0 ? static_cast<double>(goal.keys) : kEndlessKeysPerBit * bits,
                           goal.error);
    return p;
  }
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  const Need need = least_need(rule, goal.error);
  p.probes = need.arrays;
  // Arrays of whole bits in whole lines. Compared as doubles: the wish need not fit an integer.
  const auto k = static_cast<double>(p.probes);
  const double wanted = std::ceil(need.bits_per_key * static_cast<double>(p.keys) / k) * k;
  const double lines = std::ceil(std::max(wanted, double{SampledParams::kFewestFittedBits}) / kLineBits);
  constexpr std::uint64_t kMostLines = SampledParams::kMostBits / kLineBits;
  p.bits = (lines < double{kMostLines} ? static_cast<std::uint64_t>(lines) : kMostLines) * kLineBits;
  return p;
}

Rates sampled_rates(const SampledParams& p, theory::Resetting rule, std::uint64_t keys, std::uint64_t records) {
  if (keys == 0) return {};
  const theory::SampledMoment moment =
      theory::sampled_after(rule, static_cast<double>(p.probes), static_cast<double>(p.bits / p.probes),
                            static_cast<double>(keys), static_cast<double>(records) / static_cast<double>(keys));
  return {moment.worst_false_positive, moment.false_negative};
}

}  // namespace nodup
