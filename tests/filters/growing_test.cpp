// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/growing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "nodup/filters/blocked.hpp"
#include "nodup/theory/growing.hpp"
#include "tests/laws/law.hpp"

namespace nodup {
namespace {

using testing::contains;
using testing::insert;
using testing::KeyMaker;
using testing::saved;

double measured_error(const AnyFilter& filter, std::size_t probes, std::uint64_t seed) {
  const std::vector<Digest> fresh = KeyMaker(seed).make(probes);
  return static_cast<double>(contains(filter, fresh).count(true)) / static_cast<double>(probes);
}

TEST(Growing, StageErrorsNeverSumToMoreThanTheTotal) {
  double sum = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) sum += theory::stage_error(1e-6, i);
  EXPECT_LT(sum, 1e-6);
  EXPECT_GT(sum, 0.999e-6);  // and waste nothing
}

TEST(Growing, KeepsItsTotalErrorFarBeyondTheFirstGuess) {
  AnyFilter filter{Growing({.keys = 100, .error = 0.01})};
  const std::vector<Digest> keys = KeyMaker(1).make(100'000);
  insert(filter, keys, 777);
  EXPECT_EQ(contains(filter, keys).count(false), 0u);
  EXPECT_LE(filter.rates().false_positive, 0.01);
  const std::size_t probes = 400'000;
  EXPECT_LE(measured_error(filter, probes, 2), 0.01 + 5 * std::sqrt(0.01 / static_cast<double>(probes)));
}

// What it holds may not depend on how the stream was cut into batches: not even which stage a key is in.
TEST(Growing, OpensAStageAtTheSameKeyForAllBatchSizes) {
  const std::vector<Digest> keys = testing::stream_with_duplicates(30'000, 20'000, 3);
  AnyFilter ones{Growing({.keys = 500, .error = 0.001})};
  const auto answers = insert(ones, keys, 1);
  for (const std::size_t batch : {7u, 499u, 500u, 501u, 5000u, 30'000u}) {
    AnyFilter other{Growing({.keys = 500, .error = 0.001})};
    const auto same = insert(other, keys, batch);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(same[i], answers[i]) << batch << ' ' << i;
    EXPECT_EQ(saved(other), saved(ones)) << batch;
  }
}

TEST(Growing, UnderAMemoryLimitItGoesOnAndTellsTheErrorItHas) {
  constexpr std::uint64_t kLimit = 64 << 10;
  AnyFilter filter{Growing({.keys = 1000, .error = 1e-4, .max_bytes = kLimit})};
  KeyMaker keys(4);
  bool passed_goal = false;
  for (int round = 0; round < 40; ++round) {
    insert(filter, keys.make(2000));
    EXPECT_LE(filter.bytes(), kLimit);
    const double told = filter.rates().false_positive;
    passed_goal |= told > 1e-4;
    if (told < 1e-3) continue;
    const std::size_t probes = 100'000;
    const double measured = measured_error(filter, probes, 100 + static_cast<std::uint64_t>(round));
    // 5 sigma, and 5 % for the model of a filter far past its capacity.
    EXPECT_NEAR(measured, told, 5 * std::sqrt(told * (1 - told) / static_cast<double>(probes)) + 0.05 * told) << round;
  }
  EXPECT_TRUE(passed_goal);
  // All the memory there was has been put to use.
  EXPECT_GT(filter.bytes(), kLimit * 9 / 10);
}

TEST(Growing, ALargerLimitLetsItGrowAgain) {
  AnyFilter filter{Growing({.keys = 1000, .error = 1e-4, .max_bytes = 8 << 10})};
  insert(filter, KeyMaker(5).make(10'000));
  const std::uint64_t before = filter.bytes();
  filter.limit_memory(0);
  insert(filter, KeyMaker(6).make(10'000));
  EXPECT_GT(filter.bytes(), before);
}

TEST(Blocked, PastItsCapacityItTellsTheErrorItHas) {
  for (const LineShape shape : {LineShape{1, 8}, LineShape{1, 16}, LineShape{2, 8}, LineShape{2, 16}}) {
    AnyFilter filter{Blocked({.lines = 4000, .shape = shape, .keys = 50'000})};
    insert(filter, KeyMaker(7).make(400'000));
    const double told = filter.rates().false_positive;
    const std::size_t probes = 200'000;
    EXPECT_NEAR(measured_error(filter, probes, 8), told,
                5 * std::sqrt(told * (1 - told) / static_cast<double>(probes)) + 0.02 * told)
        << shape.lines << 'x' << shape.bits;
  }
}

TEST(Blocked, FormulaHoldsForEveryShape) {
  for (const LineShape shape : {LineShape{1, 8}, LineShape{1, 16}, LineShape{2, 8}, LineShape{2, 16}}) {
    const Blocked::Params p{.lines = 4000, .shape = shape, .keys = 150'000};
    AnyFilter filter{Blocked(p)};
    insert(filter, KeyMaker(9).make(150'000));
    const double expected = Blocked::rates(p, filter.keys()).false_positive;
    const std::size_t probes = 1'000'000;
    // 3 %: what one table of 4000 lines may differ from the mean of all.
    EXPECT_NEAR(measured_error(filter, probes, 10), expected,
                5 * std::sqrt(expected / static_cast<double>(probes)) + 0.03 * expected)
        << shape.lines << 'x' << shape.bits;
  }
}

// The bits per key that the comments and the issue promise.
TEST(Blocked, CostsWhatItsPageSays) {
  const auto bits = [](double error) {
    const Blocked::Params p = Blocked::fit({.keys = 1'000'000, .error = error});
    return 8.0 * static_cast<double>(Blocked::bytes(p)) / 1e6;
  };
  EXPECT_NEAR(bits(1e-2), 10.1, 0.1);
  EXPECT_LT(bits(1e-6), 39.3);
  EXPECT_GT(bits(1e-6), 31.3);
}

}  // namespace
}  // namespace nodup
