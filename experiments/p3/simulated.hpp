// SPDX-License-Identifier: Apache-2.0
//
// What the simulations share: keys, sizes, and the library's filter in the setting of the paper.
#pragma once

#include <cmath>
#include <vector>

#include "experiments/p3/p3.hpp"
#include "nodup/filters/age_partitioned.hpp"

namespace nodup::lab {

// Never the same one twice; a copy gives the same ones again.
class Keys {
 public:
  Digest next() { return key(number_++); }

 private:
  std::uint64_t number_ = 0;
};

struct Sizes {
  std::uint64_t k, l;
  std::uint64_t g;  // keys per generation
  std::uint64_t m;  // bits per slice: half of them are set by k g keys, in whole bytes

  static Sizes of_generation(const Shape& s, std::uint64_t g) {
    const double bits = static_cast<double>(s.k * g) / std::log(2);
    return {s.k, s.l, g, 8 * static_cast<std::uint64_t>(std::ceil(bits / 8))};
  }
  static Sizes of(const Shape& s, std::uint64_t window) { return of_generation(s, (window + s.l - 1) / s.l); }
  // Insertions until nothing of the beginning is left, and then to just before a shift.
  std::uint64_t steady() const { return (k + l + 2) * g; }
};

// The paper inserts every event, whether it looks new or not, and its window is the last l g insertions. That is a
// window of records with `refresh`: what is found in an older generation is inserted again, and what is found in the
// newest has all its bits there.
class Simulated {
 public:
  explicit Simulated(const Sizes& s)
      : filter_({.window = {.span = s.l * s.g, .refresh = true},
                 .probes = s.k,
                 .generations = s.l + 1,
                 .cells = s.m,
                 .quota = s.g,
                 .keys = s.l * s.g}) {}

  void add(Digest d) { filter_.insert(d, ++records_); }
  bool contains(Digest d) const { return filter_.contains(d); }

 private:
  AgePartitioned filter_;
  Tick records_ = 0;
};

template <class F>
void add_new(F& filter, std::uint64_t count, Keys& keys) {
  for (std::uint64_t i = 0; i < count; ++i) filter.add(keys.next());
}

}  // namespace nodup::lab
