// SPDX-License-Identifier: Apache-2.0
//
// Law: the errors of a window that is full and moves are those that the filter reports at each moment, and at no moment
// more than those of its plan.
#include <cmath>

#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowRates);

constexpr double kModelError = 0.05;  // that the theory files allow themselves

double sigma(double rate, double probes) { return std::sqrt(std::max(rate, 1 / probes) / probes); }

void expect_rates(const Kind& kind, const Goal& goal, std::size_t probes_per_moment) {
  constexpr std::size_t kMoments = 40;
  const double planned = kind.plan(goal).rates.false_positive;
  const Tick span = goal.window.span;
  AnyFilter filter = kind.make(goal);
  KeyMaker make(101), fresh(102);
  play(filter, one_per_tick(make, 0, 3 * span), 1000);
  Tick now = 3 * span;
  double reported_sum = 0, measured_sum = 0;
  const auto probes = static_cast<double>(probes_per_moment);
  // Over somewhat more than a generation, however many of them there are: the worst moment is just before one ends.
  for (std::size_t moment = 0; moment < kMoments; ++moment) {
    play(filter, one_per_tick(make, now, span / kMoments), 1000);
    now += span / kMoments;
    const double reported = filter.rates().false_positive;
    const double measured = static_cast<double>(contains(filter, fresh.make(probes_per_moment)).count(true)) / probes;
    EXPECT_NEAR(measured, reported, 5 * sigma(reported, probes) + kModelError * reported) << "moment " << moment;
    EXPECT_LE(measured, planned + 5 * sigma(planned, probes) + kModelError * planned) << "moment " << moment;
    reported_sum += reported;
    measured_sum += measured;
  }
  const double reported = reported_sum / kMoments, all = probes * kMoments;
  EXPECT_NEAR(measured_sum / kMoments, reported, 5 * sigma(reported, all) + kModelError * reported) << "on average";
  EXPECT_LE(reported, planned * (1 + 1e-9)) << "on average";
  EXPECT_EQ(filter.window().effective, span);
}

TEST_P(WindowRates, OneInAHundred) {
  expect_rates(kind(), {.keys = 20'000, .error = 1e-2, .window = {.span = 20'000}}, 20'000);
}
TEST_P(WindowRates, OneInAThousandWithLateness) {
  expect_rates(kind(), {.keys = 20'000, .error = 1e-3, .window = {.span = 20'000, .lateness = 4000}}, 50'000);
}
TEST_P(WindowRates, Compact) {
  expect_rates(kind(), {.keys = 20'000, .error = 1e-2, .window = {.span = 20'000}, .compact = true}, 20'000);
}

// The guarantee is part of the promise: within the window there is no false negative unless the filter says so.
TEST_P(WindowRates, EmptyItErrsNever) {
  const AnyFilter filter = kind().make({.keys = 1000, .error = 0.1, .window = {.span = 1000}});
  EXPECT_EQ(filter.rates().false_positive, 0);
  EXPECT_EQ(filter.rates().false_negative, 0);
  EXPECT_EQ(filter.window().effective, 1000u);
  EXPECT_EQ(filter.window().now, 0u);
  EXPECT_EQ(contains(filter, KeyMaker(103).make(10'000)).count(true), 0u);
}

// With little memory the plan says what can be had.
TEST_P(WindowRates, WhereMemoryIsTheLimit) {
  const Goal goal{.keys = 20'000, .error = 1e-6, .bytes = 25'000, .window = {.span = 20'000}};
  const Plan plan = kind().plan(goal);
  if (plan.bytes > goal.bytes) GTEST_SKIP() << "it refuses";
  EXPECT_LE(kind().make(goal).bytes(), goal.bytes);
  EXPECT_GT(plan.rates.false_positive, goal.error);
  AnyFilter filter = kind().make(goal);
  KeyMaker make(104);
  play(filter, one_per_tick(make, 0, 70'000), 1000);
  EXPECT_LE(filter.bytes(), goal.bytes);
  const double reported = filter.rates().false_positive, probes = 200'000;
  const double measured = static_cast<double>(contains(filter, KeyMaker(105).make(200'000)).count(true)) / probes;
  EXPECT_NEAR(measured, reported, 5 * sigma(reported, probes) + kModelError * reported);
}

}  // namespace
}  // namespace nodup::testing
