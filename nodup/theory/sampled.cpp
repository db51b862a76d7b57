// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/sampled.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nodup::theory {

namespace {

// p^k; k is a small whole number, and this is where the time goes.
double power(double p, double k) {
  double result = 1;
  for (auto rest = static_cast<unsigned>(k); rest != 0; rest /= 2, p *= p)
    if (rest % 2 != 0) result *= p;
  return result;
}

// All in units of s: x = n / s keys passed, y = records / s read.
struct Course {
  Resetting rule;
  double k;
  double records_per_key;
  Recurrence recurrence;

  // What happens to a set and to an unset bit, per key that passes: dp/dx = sets - clears * p.
  struct Rate {
    double inserted;  // q
    double sets, clears;
    double new_share;  // 1 - X
  };
  double records(const Rate& rate) const { return records_per_key > 0 ? records_per_key : 1 / rate.new_share; }
  Rate at(double p, double y) const {
    double q = 1, r = 1;
    switch (rule) {
      case Resetting::each_array:
        break;
      case Resetting::one_array:
        r = 1 / k;
        break;
      case Resetting::by_load:
        r = p;
        break;
      case Resetting::reservoir:
        if (y <= 1)
          r = 0;
        else if (1 / y > kReservoirFloor)
          q = 1 / y;
        break;
    }
    const double new_share = std::max(1 - power(p, k), 1e-9);  // p may come as near to 1 as it likes
    if (recurrence == Recurrence::printed) return {q, q, q * r, new_share};
    return {q, q / new_share, q * (1 / new_share + r), new_share};
  }
};

double relaxed(double p, const Course::Rate& rate, double x) {
  const double goal = rate.clears > 0 ? rate.sets / rate.clears : 1;
  const double next = rate.clears > 0 ? goal + (p - goal) * std::exp(-rate.clears * x) : p + rate.sets * x;
  return std::min(next, 1.0);
}

// Keys that passed together, in one step.
struct Cohort {
  double keys, inserted, load, fading;  // fading: what the exponent had come to by then
};

}  // namespace

SampledMoment sampled_after(Resetting rule, double k, double s, double n, double records_per_key,
                            Recurrence recurrence) {
  const Course course{rule, k, records_per_key, recurrence};
  const double end = n / s;
  double x = 0, y = 0, p = 0, fading = 0, peak = 0;
  std::vector<Cohort> cohorts;
  // Steps are short at the beginning, where the load changes, and at the end, where keys are not yet forgotten. What
  // lies between is long past both.
  constexpr double kShortest = 1.0 / 128, kFineness = 64;
  while (x < end) {
    // The last: a step that x + step would not show is no step.
    const double near = std::max({kShortest, std::min(x, end - x) / kFineness, end * 1e-12});
    const Course::Rate first = course.at(p, y);
    // RSBF is fullest after s records, when it begins to reset: a step ends there.
    const double until_full = y < 1 ? std::max((1 - y) / course.records(first), 1e-6) : end;
    const double step = std::min({near, end / kFineness, end - x, until_full});
    const double middle = relaxed(p, first, step / 2);
    const Course::Rate rate = course.at(middle, y + step / 2 * course.records(first));
    cohorts.push_back({step, rate.inserted, middle, fading + rate.clears * step / 2});
    p = relaxed(p, rate, step);
    peak = std::max(peak, p);
    fading += rate.clears * step;
    x += step;
    y += step * course.records(rate);
  }

  SampledMoment moment{
      .load = p, .false_positive = power(p, k), .worst_false_positive = power(peak, k), .records = y * s};
  if (cohorts.empty()) return moment;
  double known = 0;
  for (const Cohort& c : cohorts) {
    const double fresh = std::exp(c.fading - fading);
    const double inserted = power(p + (1 - c.load) * fresh, k);
    // One that was not inserted looks seen when others have set its bits since.
    known += c.keys * (c.inserted * inserted + (1 - c.inserted) * moment.false_positive * (1 - fresh));
  }
  moment.false_negative = std::clamp(1 - known / x, 0.0, 1.0);
  return moment;
}

double sampled_stable_load(Resetting rule, double k) {
  // sets = clears * p, times (1 - X) / (1 - p): r p (1 + p + ... + p^{k-1}) = 1. The left side rises with p.
  const auto reset = [&](double p) {
    const double r = rule == Resetting::one_array ? 1 / k : rule == Resetting::by_load ? p : 1;
    return r * p * -std::expm1(k * std::log(p)) / (1 - p);
  };
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (reset(middle) < 1 ? low : high) = middle;
  }
  return high;
}

unsigned reservoir_arrays(double target_false_positive) {
  const double most = std::log(target_false_positive) / std::log(1 - std::exp(-1));
  return static_cast<unsigned>(std::max(1.0, std::round((1 + most) / 2)));
}

}  // namespace nodup::theory
