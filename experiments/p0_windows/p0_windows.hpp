// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "experiments/experiment.hpp"

namespace nodup::lab {

void equal_timers(const Experiment& lab);  // figure 9
void late_events(const Experiment& lab);   // the rule of section 4 for events that are late
void dynamic_size(const Experiment& lab);  // figures 10 and 11

// The generations that a filter must tell apart for one per slot; all that its cells then can.
inline std::uint64_t generations_of_one_slot(std::uint64_t window) {
  std::uint64_t generations = 2;
  while (generations < window) generations = 2 * generations + 2;
  return generations;
}

// Numbers that are the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : next_(seed << 32) {}
  std::uint64_t operator()() { return key(next_++).lo; }
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  std::uint64_t next_;
};

// Draws from 0 to n - 1 with chances 1, 1/2, 1/3, ...
class Zipf {
 public:
  explicit Zipf(std::uint64_t n) {
    double sum = 0;
    for (std::uint64_t i = 1; i <= n; ++i) sums_.push_back(sum += 1 / static_cast<double>(i));
  }
  std::uint64_t operator()(Random& random) const {
    const double at = random.unit() * sums_.back();
    return static_cast<std::uint64_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }
  // Of `draws`, how many different ones are expected.
  double distinct(double draws) const {
    double sum = 0;
    for (std::size_t i = 1; i <= sums_.size(); ++i)
      sum -= std::expm1(draws * std::log1p(-1 / (static_cast<double>(i) * sums_.back())));
    return sum;
  }

 private:
  std::vector<double> sums_;
};

// False positives and negatives as the paper counts them: the truth is whether the event was DELIVERED less than w
// slots ago. Of the events that were not, those judged duplicates; of those that were, those judged distinct.
struct Score {
  std::uint64_t fp = 0, tn = 0, fn = 0, tp = 0;
  void count(bool delivered, bool judged_distinct) {
    ++(delivered ? judged_distinct ? fn : tp : judged_distinct ? tn : fp);
  }
  double fp_rate() const { return fp + tn == 0 ? 0 : static_cast<double>(fp) / static_cast<double>(fp + tn); }
  double fn_rate() const { return fn + tp == 0 ? 0 : static_cast<double>(fn) / static_cast<double>(fn + tp); }
};

}  // namespace nodup::lab
