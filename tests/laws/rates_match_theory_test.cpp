// SPDX-License-Identifier: Apache-2.0
//
// Law: the errors that a plan promises and that a filter reports are the errors that are measured, within five standard
// deviations of the measurement and the model error of 5% that the theory files allow themselves.
#include <cmath>

#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(RatesMatchTheory);

constexpr double kModelError = 0.05;

double measured_false_positives(const AnyFilter& filter, std::size_t probes, std::uint64_t seed) {
  KeyMaker make(seed);
  std::size_t positives = 0;
  constexpr std::size_t kPart = 50000;
  for (std::size_t done = 0; done < probes; done += kPart) positives += contains(filter, make.make(kPart)).count(true);
  return static_cast<double>(positives) / static_cast<double>(probes);
}

double tolerance(double rate, std::size_t probes) {
  return 5 * std::sqrt(rate * (1 - rate) / static_cast<double>(probes)) + kModelError * rate;
}

void expect_rates(const Kind& kind, const Goal& goal, std::size_t probes) {
  const double planned = kind.plan(goal).rates.false_positive;
  AnyFilter filter = kind.make(goal);
  insert(filter, KeyMaker(31).make(goal.keys), 1000);
  const double measured = measured_false_positives(filter, probes, 32);
  // The plan of a kind that ages is for the worst moment of a window that moves: law WindowRates. That of one that
  // forgets is for so many keys that PASSED; in little memory far fewer do.
  if (kind.ages || kind.forgets)
    EXPECT_LE(measured, planned + tolerance(planned, probes)) << "planned";
  else
    EXPECT_NEAR(measured, planned, tolerance(planned, probes)) << "planned";
  const double reported = filter.rates().false_positive;
  EXPECT_NEAR(measured, reported, tolerance(reported, probes)) << "reported";
}

TEST_P(RatesMatchTheory, AtCapacityOneInAHundred) { expect_rates(kind(), {.keys = 100'000, .error = 1e-2}, 1'000'000); }
TEST_P(RatesMatchTheory, AtCapacityOneInAThousand) {
  expect_rates(kind(), {.keys = 100'000, .error = 1e-3}, 4'000'000);
}
TEST_P(RatesMatchTheory, WhereMemoryIsTheLimit) {
  // 4 bits per key. The exact filter refuses, which is also a way not to promise too much.
  const Goal goal{.keys = 100'000, .error = 1e-6, .bytes = 50'048};
  try {
    expect_rates(kind(), goal, 1'000'000);
  } catch (const Error&) {
    EXPECT_GT(kind().plan(goal).bytes, goal.bytes);
  }
}

TEST_P(RatesMatchTheory, HalfFullAndEmpty) {
  const Goal goal{.keys = 100'000, .error = 0.1};
  AnyFilter filter = kind().make(goal);
  EXPECT_EQ(filter.rates().false_positive, 0);
  EXPECT_EQ(measured_false_positives(filter, 50'000, 33), 0);
  insert(filter, KeyMaker(34).make(50'000), 1000);
  const double reported = filter.rates().false_positive;
  EXPECT_NEAR(measured_false_positives(filter, 1'000'000, 35), reported, tolerance(reported, 1'000'000));
  EXPECT_LT(reported, 0.1);
}

TEST_P(RatesMatchTheory, KeysAreCounted) {
  AnyFilter filter = kind().make({.keys = 50'000, .error = 1e-2});
  const std::vector<Digest> stream = stream_with_duplicates(100'000, 40'000, 36);
  Oracle truth;
  for (const Digest& event : stream) truth.insert(event);
  insert(filter, stream);
  if (kind().forgets) GTEST_SKIP() << "duplicates that pass are counted again: law ForgettingEndless";
  EXPECT_LE(filter.keys(), truth.keys());
  // Only false positives are missing in the count.
  EXPECT_GE(static_cast<double>(filter.keys()), static_cast<double>(truth.keys()) * 0.99);
}

}  // namespace
}  // namespace nodup::testing
