// SPDX-License-Identifier: Apache-2.0
//
// The streams of the paper's Tables 4 to 9, a thousandth of their length, and what a filter makes of them. The rates
// are scale free: with a thousandth of the memory they are those of the long streams.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "nodup/filters/automatic.hpp"

namespace nodup::lab {

// N uniform draws from U values, U such that a share `distinct` of the draws is expected to be the first of its value.
class UniformStream {
 public:
  UniformStream(std::uint64_t events, double distinct, std::uint64_t seed) {
    double low = 1e-3, high = 1e9;  // U / N
    for (int i = 0; i < 200; ++i) {
      const double middle = std::sqrt(low * high);
      (middle * -std::expm1(-1 / middle) < distinct ? low : high) = middle;
    }
    values_ = static_cast<std::uint64_t>(low * static_cast<double>(events));
    std::vector<bool> seen(values_);
    for (std::uint64_t i = 0; i < events; ++i) {
      const std::uint64_t value = fastrange(key(seed << 40 | i).lo, values_);
      events_.push_back(key(seed << 40 | std::uint64_t{1} << 39 | value));
      first_.push_back(!seen[value]);
      firsts_ += !seen[value];
      seen[value] = true;
    }
  }

  double values() const { return static_cast<double>(values_); }
  std::uint64_t firsts() const { return firsts_; }
  std::uint64_t duplicates() const { return events_.size() - firsts_; }

  // As the paper counts: over the whole stream, false positives among the first occurrences, false negatives among the
  // others.
  template <class F>
  Rates judge(F& filter) const {
    std::uint64_t lost = 0, passed = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const bool is_new = filter.insert(events_[i]);
      lost += first_[i] && !is_new;
      passed += !first_[i] && is_new;
    }
    return {static_cast<double>(lost) / static_cast<double>(firsts()),
            static_cast<double>(passed) / static_cast<double>(duplicates())};
  }

 private:
  std::uint64_t values_ = 0, firsts_ = 0;
  std::vector<Digest> events_;
  std::vector<bool> first_;
};

}  // namespace nodup::lab
