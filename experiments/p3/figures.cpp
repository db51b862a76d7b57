// SPDX-License-Identifier: Apache-2.0
//
// What the figures show, simulated with the library's own filter.
#include <array>
#include <cmath>
#include <vector>

#include "experiments/p3/p3.hpp"
#include "experiments/p3/simulated.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/age_partitioned.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup::lab {

namespace {

using namespace nodup::theory;

constexpr std::uint64_t kWindow = 1000;

// The share of keys never inserted that look seen.
double measured_rate(const Simulated& filter, std::uint64_t probes, Keys& keys) {
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < probes; ++i) seen += filter.contains(keys.next());
  return static_cast<double>(seen) / static_cast<double>(probes);
}

// Expected false positives when the newest generation holds `newest` keys.
double model(const Sizes& s, double newest) {
  std::vector<double> fill(s.k + s.l);
  for (std::uint64_t i = 0; i < fill.size(); ++i)
    fill[i] = age_slice_fill(static_cast<double>(s.m),
                             i < s.k ? static_cast<double>(i * s.g) + newest : static_cast<double>(s.k * s.g));
  return age_false_positive(s.k, fill);
}

double before_shift(const Sizes& s) { return model(s, static_cast<double>(s.g)); }
double after_shift(const Sizes& s) { return model(s, 1); }

void rates(const Experiment& lab) {
  Table t(lab, "rates",
          "False positives: the paper's model, the true one, the filter\n"
          "w = 1000, 50 filters in steady state. Just before a shift, where the rate is highest, and after the first "
          "insertion behind it. The paper's fill is a straight line and lies low; with the true fill the model is met.",
          {"(k,l)", "Table 2", "model", "measured", "measured/model", "after shift: model", "after shift: measured",
           "after shift: measured/model"});
  for (const Shape& shape : {Shape{4, 3}, {5, 7}, {7, 5}, {10, 7}, {12, 14}, {14, 11}}) {
    const Sizes s = Sizes::of(shape, kWindow);
    const double paper = age_false_positive(s.k, age_fill_linear(s.k, s.l));
    const std::uint64_t filters = 50, probes = lab.samples(100 / before_shift(s));
    Keys keys;
    double before = 0, after = 0;
    for (std::uint64_t i = 0; i < filters; ++i) {
      Simulated filter(s);
      add_new(filter, s.steady(), keys);
      before += measured_rate(filter, probes, keys) / static_cast<double>(filters);
      add_new(filter, 1, keys);
      after += measured_rate(filter, probes, keys) / static_cast<double>(filters);
    }
    t.row(shape.name(), paper, before_shift(s), before, before / before_shift(s), after_shift(s), after,
          after / after_shift(s));
  }
}

void figure4(const Experiment& lab) {
  Table t(
      lab, "figure4",
      "Figure 4: how generations are forgotten\n"
      "(10,15), 200 keys per generation, just before a shift: the share of a generation that still looks seen, by its "
      "age. "
      "Everything up to age l = 15 is there for sure, then it halves with every generation until it meets the false "
      "positives.",
      {"age", "measured", "model", "2^-(age-l)"});
  const Sizes s = Sizes::of_generation({10, 15}, 200);
  const std::uint64_t filters = lab.samples(60), ages = 30;
  const auto fill = age_fill(s.k, s.l);
  std::vector<double> seen(ages);
  Keys keys;
  for (std::uint64_t f = 0; f < filters; ++f) {
    Simulated filter(s);
    const Keys first = keys;
    add_new(filter, ages * s.g, keys);
    Keys again = first;
    for (std::uint64_t age = ages; age-- > 0;) seen[age] += measured_rate(filter, s.g, again);
  }
  for (std::uint64_t age = 0; age < ages; ++age)
    t.row(age, seen[age] / static_cast<double>(filters), age_decay(s.k, fill, age),
          age < s.l ? 1.0 : std::exp2(static_cast<double>(s.l) - static_cast<double>(age)));
}

void figure6(const Experiment& lab) {
  Table t(lab, "figure6",
          "Figure 6: false positives from the first insertion on\n"
          "w = 1000, 10^4 distinct insertions into an empty filter; the mean of four filters.",
          {"k", "l", "insertions", "measured"});
  for (const Shape& shape : {Shape{4, 3}, {7, 5}, {10, 7}, {14, 11}, {17, 13}}) {
    const Sizes s = Sizes::of(shape, kWindow);
    const double aimed = before_shift(s);
    // Where hits are rare they take long: fewer points, of fewer hits.
    const bool rare = aimed < 3e-4, rarest = aimed < 3e-5;
    const std::uint64_t probes = lab.samples((rarest ? 15 : rare ? 30 : 100) / aimed);
    const std::uint64_t step = kWindow / (rarest ? 3 : rare ? 6 : 12);
    constexpr std::uint64_t kFilters = 4;
    Keys keys;
    std::vector<Simulated> filters;
    for (std::uint64_t f = 0; f < kFilters; ++f) filters.emplace_back(s);
    for (std::uint64_t added = step; added <= 10 * kWindow; added += step) {
      double rate = 0;
      for (Simulated& filter : filters) {
        add_new(filter, step, keys);
        rate += measured_rate(filter, probes, keys) / static_cast<double>(kFilters);
      }
      t.row(s.k, s.l, added, rate);
    }
  }
}

// Slices so large that nothing is found by chance.
void guarantee(const Experiment& lab) {
  Table t(lab, "guarantee",
          "Section 5.2: how many of the last insertions are there for sure\n"
          "(4,3), 100 keys per generation, slices of 2^20 bits, looked at after every one of 3000 insertions, from the "
          "first on. The paper says l g to (l+1) g; the shift comes at the first insertion of a generation, so it is l "
          "g + 1.",
          {"after insertions", "fewest", "most"});
  const Sizes s{4, 3, 100, std::uint64_t{1} << 20};
  Simulated filter(s);
  std::vector<Digest> added;
  std::uint64_t fewest = UINT64_MAX, most = 0;
  Keys keys;
  while (added.size() < 3000) {
    added.push_back(keys.next());
    filter.add(added.back());
    std::uint64_t there = 0;
    while (there < added.size() && filter.contains(added[added.size() - 1 - there])) ++there;
    most = std::max(most, there);
    // At the beginning all of them are there.
    if (added.size() > s.l * s.g || there < added.size()) fewest = std::min(fewest, there);
  }
  t.row(added.size(), fewest, most);
}

// Figure 6 seen closely: where in a generation the rate is how high.
void zigzag(const Experiment& lab) {
  Table t(lab, "zigzag",
          "Figure 6, closely: the zigzag of (4,3)\n"
          "w = 1000, steady state, by the share of the newest generation that is there; the mean of 100 filters.",
          {"quarters", "measured", "model"});
  const Sizes s = Sizes::of({4, 3}, kWindow);
  const std::uint64_t filters = 100, probes = lab.samples(2000);
  std::array<double, 4> rate{};
  Keys keys;
  for (std::uint64_t f = 0; f < filters; ++f) {
    Simulated filter(s);
    add_new(filter, s.steady(), keys);
    for (std::uint64_t quarter = 0; quarter < 4; ++quarter) {
      add_new(filter, (quarter + 1) * s.g / 4 - quarter * s.g / 4, keys);
      rate[quarter] += measured_rate(filter, probes, keys) / static_cast<double>(filters);
    }
  }
  for (std::uint64_t quarter = 0; quarter < 4; ++quarter)
    t.row(quarter + 1, rate[quarter], model(s, static_cast<double>((quarter + 1) * s.g / 4)));
}

// Uniform draws from as many keys as make this share of a window's events duplicates. Not keys that Keys gives.
class Draws {
 public:
  Draws(double duplicates, std::uint64_t window)
      : domain_(least_where(2, std::uint64_t{1} << 62, [&](std::uint64_t domain) {
          const auto w = static_cast<double>(window), d = static_cast<double>(domain);
          return -d * std::expm1(w * std::log1p(-1 / d)) >= (1 - duplicates) * w;
        })) {}
  Digest next() { return key((std::uint64_t{1} << 63) + fastrange(key(~number_++).lo, domain_)); }

 private:
  std::uint64_t domain_;
  std::uint64_t number_ = 0;
};

// Just before a shift, in steady state, when this share of the events of a window are duplicates.
double rate_with(double duplicates, const Shape& shape, const Experiment& lab) {
  const Sizes s = Sizes::of(shape, kWindow);
  const std::uint64_t filters = 40, probes = lab.samples(std::max(20'000.0, 25 / before_shift(s)));
  Keys keys;
  Draws draws(duplicates, kWindow);
  double rate = 0;
  for (std::uint64_t f = 0; f < filters; ++f) {
    Simulated filter(s);
    for (std::uint64_t i = 0; i < s.steady(); ++i) filter.add(draws.next());
    rate += measured_rate(filter, probes, keys) / static_cast<double>(filters);
  }
  return rate;
}

void figures7and8(const Experiment& lab) {
  const std::vector<Shape> low{{4, 3}, {7, 5}, {10, 7}, {14, 11}}, tenth{{4, 3}, {5, 7}, {6, 14}, {7, 28}, {8, 56}};
  const auto columns = [](const std::vector<Shape>& shapes) {
    std::vector<std::string> names{"duplicates"};
    for (const Shape& shape : shapes) names.push_back(shape.name());
    return names;
  };
  Table seven(lab, "figure7",
              "Figure 7: false positives by the share of duplicates\n"
              "w = 1000, uniform draws. Zero means that no probe hit.",
              columns(low));
  Table eight(lab, "figure8",
              "Figure 8: the same for filters of a false positive rate of about 0.1, as a share of the rate without "
              "duplicates\nWith more slices there is less overlap between generations, and duplicates save fewer bits.",
              columns(tenth));
  std::vector<double> without;
  for (int tenths = 0; tenths < 10; ++tenths) {
    const double share = tenths / 10.0;
    std::vector<double> rates, shares;
    for (const Shape& shape : low) rates.push_back(rate_with(share, shape, lab));
    for (const Shape& shape : tenth) {
      const double rate = rate_with(share, shape, lab);
      if (tenths == 0) without.push_back(rate);
      shares.push_back(rate / without[shares.size()]);
    }
    seven.numbers(fmt::format("{}", share), rates);
    eight.numbers(fmt::format("{}", share), shares);
  }
}

}  // namespace

void figures(const Experiment& lab) {
  rates(lab);
  figure4(lab);
  figure6(lab);
  zigzag(lab);
  guarantee(lab);
  figures7and8(lab);
}

}  // namespace nodup::lab
