// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/experiment.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/stream/chance.hpp"

namespace nodup::lab {

// What the paper says, or we say about it, with the number that decides; written as the last table.
struct Claim {
  std::string text;
  double measured;
  std::string bound;
  bool holds;
};
using Claims = std::vector<Claim>;

void joins(const Experiment& lab, Claims& claims);    // bytes of Bloom joins
void routing(const Experiment& lab, Claims& claims);  // queries on random graphs
void gossip(const Experiment& lab, Claims& claims);   // the index: messages for nothing, bytes, rounds

// One number, measured on several graphs.
class Sample {
 public:
  void add(double value) { values_.push_back(value); }
  double mean() const {
    double sum = 0;
    for (const double value : values_) sum += value;
    return sum / static_cast<double>(values_.size());
  }
  // Of the mean: one standard deviation.
  double error() const {
    double squares = 0;
    for (const double value : values_) squares += (value - mean()) * (value - mean());
    const auto n = static_cast<double>(values_.size());
    return std::sqrt(squares / (n - 1) / n);
  }
  // By how many standard deviations the mean lies above the other's.
  double sigmas_above(const Sample& other) const {
    return (mean() - other.mean()) / std::max(1e-12, std::hypot(error(), other.error()));
  }

 private:
  std::vector<double> values_;
};

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : next_(seed) {}
  std::uint64_t operator()() { return next_(); }
  std::uint64_t below(std::uint64_t n) { return fastrange(next_(), n); }
  // Log-normal with a mean of 1 and a factor of e: a few are much larger than the others.
  double unequal() {
    const double u = static_cast<double>((next_() >> 11) + 1) * 0x1p-53,
                 v = static_cast<double>(next_() >> 11) * 0x1p-53;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    return std::exp(normal - 0.5);
  }

 private:
  Xoshiro next_;
};

// What `value` takes on the wire.
template <class Value>
std::uint64_t saved_bytes(const Value& value) {
  std::uint64_t bytes = 0;
  Writer out([&](std::span<const std::byte> data) { bytes += data.size(); });
  value.save(out);
  return bytes;
}

}  // namespace nodup::lab
