// SPDX-License-Identifier: Apache-2.0
//
// The theory of filters that reset at random, beside the filters themselves. Tolerances: the load of an array of s bits
// strays by less than sqrt(p (1-p) / s) around its mean, so X = p^k by k / p of that, relative; five times it, and 0.5
// % for the steps of the integration.
#include "nodup/theory/sampled.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/reservoir.hpp"
#include "tests/oracle.hpp"

namespace nodup::theory {
namespace {

constexpr std::uint64_t kLength = 50'000;

template <class F>
class SampledTheory : public ::testing::Test {};
using Kinds = ::testing::Types<Biased, BiasedSingle, LoadBalanced, Reservoir>;
TYPED_TEST_SUITE(SampledTheory, Kinds);

template <class F>
Resetting rule_of() {
  if constexpr (std::is_same_v<F, Biased>) return Resetting::each_array;
  if constexpr (std::is_same_v<F, BiasedSingle>) return Resetting::one_array;
  if constexpr (std::is_same_v<F, LoadBalanced>) return Resetting::by_load;
  return Resetting::reservoir;
}

TYPED_TEST(SampledTheory, BothRatesAreThoseOfTheFilter) {
  for (const std::uint64_t arrays : {1u, 2u, 3u, 5u}) {
    TypeParam filter({.bits = arrays * kLength, .probes = arrays, .keys = 0});
    testing::KeyMaker make(81), fresh(82);
    std::vector<Digest> passed;
    std::uint64_t records = 0;
    const auto k = static_cast<double>(arrays), s = static_cast<double>(kLength);
    // Beyond, nearly nothing passes where the load goes to 1.
    const bool fills = sampled_stable_load(rule_of<TypeParam>(), k) > 0.99;
    for (const double lengths : {0.2, 0.5, 0.9, 1.5, 3.0, 6.0, 36.0}) {
      if (fills && lengths > 2) break;
      while (static_cast<double>(passed.size()) < lengths * s) {
        const Digest key = make();
        ++records;
        if (filter.insert(key)) passed.push_back(key);
      }
      SCOPED_TRACE(::testing::PrintToString(arrays) + " arrays, " + ::testing::PrintToString(lengths) + " lengths");
      const SampledMoment moment = sampled_after(rule_of<TypeParam>(), k, s, static_cast<double>(passed.size()));
      const double p = moment.load, X = moment.false_positive;
      const double sigma_load = std::sqrt(p * (1 - p) / s);
      EXPECT_NEAR(filter.rates().false_positive, X, X * (5 * std::sqrt(k) * sigma_load / p + 0.005));
      constexpr std::size_t kProbes = 200'000;
      std::size_t lost = 0;
      for (std::size_t i = 0; i < kProbes; ++i) lost += filter.contains(fresh());
      EXPECT_NEAR(static_cast<double>(lost) / kProbes, X,
                  X * (5 * std::sqrt(k) * sigma_load / p + 0.005) + 5 * std::sqrt(X * (1 - X) / kProbes));
      EXPECT_NEAR(moment.records, static_cast<double>(records), 0.01 * static_cast<double>(records));
      std::size_t passing = 0;
      for (const Digest& key : passed) passing += !filter.contains(key);
      const double measured = static_cast<double>(passing) / static_cast<double>(passed.size());
      // Keys that reservoir does not take in are taken for bits set at random: 0.015 off at the worst.
      const double f = moment.false_negative, sigma = std::sqrt(f * (1 - f) / static_cast<double>(passed.size()));
      EXPECT_NEAR(measured, f, 5 * sigma + (rule_of<TypeParam>() == Resetting::reservoir ? 0.015 : 0.002));
    }
  }
}

TEST(SampledFormulas, StablePoints) {
  EXPECT_NEAR(sampled_stable_load(Resetting::each_array, 2), (std::sqrt(5) - 1) / 2, 1e-9);
  EXPECT_NEAR(sampled_stable_load(Resetting::each_array, 3), 0.543689, 1e-6);
  EXPECT_NEAR(sampled_stable_load(Resetting::by_load, 2), 0.754878, 1e-6);
  EXPECT_NEAR(sampled_stable_load(Resetting::by_load, 32), (std::sqrt(5) - 1) / 2, 1e-6);
  EXPECT_GT(sampled_stable_load(Resetting::one_array, 4), 1 - 1e-6);
  for (const Resetting rule : {Resetting::each_array, Resetting::by_load, Resetting::reservoir})
    for (const double k : {2.0, 3.0, 8.0, 32.0})
      EXPECT_NEAR(sampled_after(rule, k, 1e6, 1e9).load, sampled_stable_load(rule, k), 1e-6) << k;
}

TEST(SampledFormulas, OnlyTheRatioOfKeysToBitsMatters) {
  for (const double keys : {0.1, 1.0, 10.0}) {
    const SampledMoment small = sampled_after(Resetting::by_load, 3, 1e4, keys * 1e4);
    const SampledMoment large = sampled_after(Resetting::by_load, 3, 1e12, keys * 1e12);
    EXPECT_NEAR(small.false_positive, large.false_positive, 1e-12);
    EXPECT_NEAR(small.false_negative, large.false_negative, 1e-9);
  }
}

// docs/papers.md: the recurrences as printed are far too high on long streams.
TEST(SampledFormulas, ThePrintedRecurrencesGoToOne) {
  EXPECT_GT(sampled_after(Resetting::each_array, 2, 1e6, 8e6, 0, Recurrence::printed).load, 0.999);
  EXPECT_LT(sampled_after(Resetting::each_array, 2, 1e6, 8e6).load, 0.6181);
}

// As a damaged file may have it: more keys than a double counts one by one.
TEST(SampledFormulas, AnyNumberOfKeysComesToAnEnd) {
  for (const double keys : {1e15, 1e19, 1e30})
    EXPECT_NEAR(sampled_after(Resetting::each_array, 2, 1, keys).load, (std::sqrt(5) - 1) / 2, 1e-6) << keys;
}

TEST(SampledFormulas, NothingHappenedYet) {
  const SampledMoment moment = sampled_after(Resetting::each_array, 2, 1e6, 0);
  EXPECT_EQ(moment.false_positive, 0);
  EXPECT_EQ(moment.false_negative, 0);
}

TEST(SampledFormulas, ArraysOfTheReservoir) {
  // ln(0.1) / ln(1 - 1/e) = 5.02, and the mean of it and 1 is 3.01.
  EXPECT_EQ(reservoir_arrays(0.1), 3u);
  EXPECT_EQ(reservoir_arrays(0.9), 1u);
  EXPECT_EQ(reservoir_arrays(0.01), 6u);  // 10.04
}

}  // namespace
}  // namespace nodup::theory
