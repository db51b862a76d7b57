// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/forecast.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/stable.hpp"
#include "nodup/filters/standard.hpp"

namespace nodup {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

LongStream billion(double distinct) { return {1'000'000'000, static_cast<std::uint64_t>(distinct * 1e9)}; }

// Within 5 % and five standard deviations of what others measured for the same stream (papers.md P1.2 and P1.3).
void expect_share(std::uint64_t part, std::uint64_t whole, double percent, const std::string& what) {
  const double p = percent / 100, n = static_cast<double>(whole);
  EXPECT_NEAR(static_cast<double>(part) / n, p, 0.05 * p + 5 * std::sqrt(p * (1 - p) / n)) << what;
}

TEST(Forecast, PlainFiltersAsMeasured) {
  struct Row {
    double distinct;
    std::uint64_t megabytes, probes;
    double lost;
  };
  for (const Row& row : {Row{0.15, 64, 3, 5.89}, Row{0.15, 64, 4, 5.76}, Row{0.6, 128, 2, 19.5}, Row{0.9, 64, 1, 51.5},
                         Row{0.9, 512, 4, 2.72}}) {
    const ScaledTrial small = scaled_trial(billion(row.distinct), row.megabytes * kMiB);
    AnyFilter filter(Standard({.bits = small.bytes * 8, .probes = row.probes}));
    const Outcome outcome = small.trial.run(filter);
    expect_share(outcome.lost, outcome.firsts, row.lost, fmt::format("{} {}", row.distinct, row.megabytes));
    EXPECT_EQ(outcome.passed, 0u);
    // The filter's own word: a formula for the keys it holds.
    EXPECT_NEAR(outcome.expected_false_positive, outcome.false_positive(),
                5 * std::sqrt(outcome.false_positive() / static_cast<double>(outcome.firsts)) +
                    0.01 * outcome.false_positive());
  }
}

// The filters that forget, with the paper's parameters: two probes, and for `stable` cells of one bit and four resets.
TEST(Forecast, FiltersThatForgetAsMeasured) {
  struct Rates {
    double lost, passed;
  };
  struct Row {
    double distinct;
    std::uint64_t megabytes;
    Rates stable, biased, biased_single, load_balanced;
  };
  for (const Row& row : {Row{0.15, 64, {2.94, 60.4}, {5.63, 13.6}, {6.46, 4.60}, {6.75, 2.54}},
                         Row{0.15, 256, {.444, 30.5}, {.539, 2.67}, {.559, 1.23}, {.568, .210}},
                         Row{0.6, 64, {7.81, 75.1}, {20.80, 44.3}, {31.45, 20.9}, {30.09, 25.1}},
                         Row{0.9, 256, {5.01, 53.7}, {8.36, 31.1}, {10.44, 17.1}, {11.32, 11.5}}}) {
    const ScaledTrial small = scaled_trial(billion(row.distinct), row.megabytes * kMiB);
    const auto check = [&](AnyFilter filter, const Rates& measured) {
      const Outcome outcome = small.trial.run(filter);
      const std::string what = fmt::format("{} {} {}", filter.kind(), row.distinct, row.megabytes);
      expect_share(outcome.lost, outcome.firsts, measured.lost, what);
      expect_share(outcome.passed, outcome.duplicates, measured.passed, what);
    };
    const SampledParams arrays{.bits = small.bytes * 8, .probes = 2};
    check(AnyFilter(Stable({.cells = small.bytes * 8, .cell_bits = 1, .probes = 2, .resets = 4})), row.stable);
    check(AnyFilter(Biased(arrays)), row.biased);
    check(AnyFilter(BiasedSingle(arrays)), row.biased_single);
    check(AnyFilter(LoadBalanced(arrays)), row.load_balanced);
  }
}

// N draws from U keys have the number of distinct ones that was asked for; Poisson occupancy bounds the variance.
TEST(Forecast, StreamHasItsDistinctKeys) {
  for (const double d : {1e-6, 0.15, 0.9999, 1.0}) {
    const ScaledTrial small = scaled_trial(billion(d), 64 * kMiB);
    EXPECT_EQ(small.trial.events(), 1'000'000u);
    EXPECT_EQ(small.bytes, 64 * kMiB / 1000);
    AnyFilter exact = filter_kind("exact").make({.keys = 1});
    const Outcome outcome = small.trial.run(exact);
    EXPECT_EQ(outcome.lost + outcome.passed, 0u);
    const double wanted = std::max(1.0, 1e6 * d);
    EXPECT_NEAR(static_cast<double>(outcome.firsts), wanted, 5 * std::sqrt(wanted * (1 - d)) + 1) << d;
    EXPECT_EQ(outcome.firsts + outcome.duplicates, 1'000'000u);
  }
}

// Half the stream in half the memory has the same rates, in every kind.
TEST(Forecast, RatesAreFreeOfScale) {
  const LongStream stream{600'000, 360'000};
  const std::uint64_t bytes = 96 * 1024;
  const ScaledTrial whole = scaled_trial(stream, bytes);
  const ScaledTrial half = scaled_trial({stream.events / 2, stream.distinct / 2}, bytes / 2);
  for (const Kind& kind : filter_kinds()) {
    const Goal goal{.keys = stream.distinct, .error = 0.1, .bytes = bytes};
    const Goal half_goal{.keys = stream.distinct / 2, .error = 0.1, .bytes = bytes / 2};
    if (kind.ages || kind.plan(goal).bytes > bytes) continue;
    AnyFilter large = kind.make(goal), small = kind.make(half_goal);
    const Outcome a = whole.trial.run(large), b = half.trial.run(small);
    const auto same = [&](double x, double y, std::uint64_t n) {
      // 1 %: filters are whole lines, arrays whole words.
      EXPECT_NEAR(x, y, 5 * std::sqrt(2 * x * (1 - x) / static_cast<double>(n)) + 0.01 * x + 1e-5) << kind.name;
    };
    same(a.false_positive(), b.false_positive(), b.firsts);
    same(a.false_negative(), b.false_negative(), b.duplicates);
  }
}

TEST(Forecast, RanksWhatFits) {
  const LongStream stream = billion(0.15);
  const Goal goal{.keys = stream.distinct, .error = 0.08, .bytes = 64 * kMiB};
  const std::vector<Forecast> forecasts = ranked_forecasts(goal, stream);
  const auto kind_is = [](std::string_view name) { return [=](const Forecast& f) { return f.plan.kind == name; }; };
  EXPECT_TRUE(std::ranges::none_of(forecasts, kind_is("exact")));       // 20 bytes per key
  EXPECT_TRUE(std::ranges::none_of(forecasts, kind_is("aged_table")));  // a window
  for (const char* name : {"standard", "partitioned", "blocked", "growing"})
    EXPECT_EQ(std::ranges::count_if(forecasts, kind_is(name)), 1) << name;
  bool missed = false;
  double passed = 0, wrong = 0;
  for (const Forecast& f : forecasts) {
    EXPECT_LE(f.plan.bytes, goal.bytes) << f.plan.kind;
    const bool misses = f.false_positive > goal.error;
    EXPECT_FALSE(missed && !misses) << f.plan.kind;
    if (misses != missed) passed = wrong = 0;
    missed = misses;
    EXPECT_GE(misses ? f.wrong : std::max(f.false_negative, f.none_below), misses ? wrong : passed) << f.plan.kind;
    passed = std::max(f.false_negative, f.none_below), wrong = f.wrong;
    EXPECT_NEAR(f.wrong, 0.15 * f.false_positive + 0.85 * f.false_negative, 1e-9);
  }
  EXPECT_LE(forecasts.front().false_positive, goal.error);
  EXPECT_EQ(forecasts.front().false_negative, 0);
}

// Where no event of the sample is lost, the filter's own rate speaks.
TEST(Forecast, RareErrorsAreKnown) {
  const LongStream stream{100'000, 15'000};
  for (const Forecast& f : ranked_forecasts({.keys = stream.distinct, .bytes = 53'000}, stream))
    if (f.plan.kind == "standard") {
      EXPECT_GT(f.false_positive, 1e-9);
      EXPECT_LT(f.false_positive, 1e-6);
      EXPECT_EQ(f.none_below, 0);  // it never forgets
    }
}

TEST(Forecast, TooLittleMemoryIsRefused) {
  EXPECT_THROW(scaled_trial({1'000'000'000'000, 1'000'000'000}, kMiB), Error);
  EXPECT_NO_THROW(scaled_trial({1000, 10}, 64));  // short streams are run as they are
}

}  // namespace
}  // namespace nodup
