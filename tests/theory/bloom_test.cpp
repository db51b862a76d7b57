// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/bloom.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "nodup/hash/positions.hpp"
#include "tests/oracle.hpp"

namespace nodup::theory {
namespace {

using ::nodup::testing::KeyMaker;
using ::nodup::testing::Random;

constexpr Placing kBoth[] = {Placing::anywhere, Placing::sliced};

TEST(BloomTheory, SizesAsPrinted) {
  // A published table of sizes for n = 5700 keys and k = 4: 48400, 35600, 30000, there rounded to hundreds.
  EXPECT_NEAR(bloom_bits_limit(4, 5700, .02), 48336, 0.5);
  EXPECT_NEAR(bloom_bits_limit(4, 5700, .05), 35608, 0.5);
  EXPECT_NEAR(bloom_bits_limit(4, 5700, .08), 30043, 0.5);
}

TEST(BloomTheory, KnownRates) {
  // By hand: 2 bits, 1 key, 1 probe: half the bits are set. 2 probes: 1 - 1/4 of the bits, squared.
  EXPECT_DOUBLE_EQ(bloom_false_positive(Placing::anywhere, 2, 1, 1), 0.5);
  EXPECT_DOUBLE_EQ(bloom_false_positive(Placing::anywhere, 2, 2, 1), 0.75 * 0.75);
  // Two slices of two bits: each half full.
  EXPECT_DOUBLE_EQ(bloom_false_positive(Placing::sliced, 4, 2, 1), 0.25);
  // The rule of thumb: 9.585 bits per key for 1%, with 7 probes 0.0100.
  EXPECT_NEAR(bloom_false_positive(Placing::anywhere, 9585058, 7, 1e6), 0.0100, 0.0001);
  EXPECT_EQ(bloom_false_positive(Placing::anywhere, 1, 1, 1), 1);
  for (const Placing placing : kBoth) EXPECT_EQ(bloom_false_positive(placing, 64, 3, 0), 0);
}

TEST(BloomTheory, BestNumberOfProbesIsNearTheRuleOfThumb) {
  for (const Placing placing : kBoth) {
    for (const double bits_per_key : {1.0, 2.0, 4.79, 9.585, 14.4, 28.8, 43.1}) {
      const double expected = bits_per_key * std::log(2.0);
      EXPECT_NEAR(bloom_best_probes(placing, bits_per_key * 1e6, 1e6, 64), std::max(expected, 1.0), 0.6);
    }
    EXPECT_EQ(bloom_best_probes(placing, 1e12, 1, 32), 32u);  // rates far below the smallest double
    EXPECT_EQ(bloom_best_probes(placing, 64, 1e12, 32), 1u);  // hopeless: the fewest
  }
}

TEST(BloomTheory, StableWhereOneMinusOneOverMIsOne) {
  // At 2^60 bits the naive (1 - 1/m)^(kn) is exactly 1 and the rate 0.
  const double m = std::ldexp(1.0, 60), k = 10, n = m / 14.4;
  for (const Placing placing : kBoth) {
    EXPECT_NEAR(bloom_false_positive(placing, m, k, n) / std::pow(-std::expm1(-k * n / m), k), 1, 1e-9);
    EXPECT_GT(bloom_false_positive(placing, m, 1, 1), 0);
  }
}

RC_GTEST_PROP(BloomTheory, BitsAndRateAreInverse, ()) {
  const Placing placing = *rc::gen::elementOf(std::vector<Placing>{Placing::anywhere, Placing::sliced});
  const double k = *rc::gen::inRange(1, 33);
  const double n = std::pow(10.0, *rc::gen::inRange(0, 1300) / 100.0);
  const double P = std::pow(10.0, -*rc::gen::inRange(1, 1500) / 100.0);
  // Slices are whole bits: rounded up, at least as good, and not much better.
  const double exact = bloom_bits(placing, k, n, P);
  const double m = placing == Placing::sliced ? std::ceil(exact / k) * k : exact;
  const double reached = bloom_false_positive(placing, m, k, n);
  RC_ASSERT(reached <= P * (1 + 1e-9));
  // A bit more per slice lowers the rate by k/slice of itself at most.
  const double spare = placing == Placing::sliced ? 2 * k * k / m : 0;
  RC_ASSERT(reached >= P * (1 - spare - 1e-6));
}

RC_GTEST_PROP(BloomTheory, LimitIsJustBelowTheExactSize, ()) {
  const double k = *rc::gen::inRange(1, 33);
  const double n = *rc::gen::inRange(1, 100000);
  const double P = std::pow(10.0, -*rc::gen::inRange(1, 900) / 100.0);
  const double limit = bloom_bits_limit(k, n, P);
  const double anywhere = bloom_bits(Placing::anywhere, k, n, P) - limit;
  const double sliced = (bloom_bits(Placing::sliced, k, n, P) - limit) / k;
  const double rounding = 1e-3 + 1e-14 * limit;  // the difference of two large numbers
  RC_ASSERT(anywhere > 0.5 - rounding && anywhere < 1 + rounding);
  RC_ASSERT(sliced > 0.5 - rounding && sliced < 1 + rounding);
}

RC_GTEST_PROP(BloomTheory, KeysAndFillAreInverse, ()) {
  const Placing placing = *rc::gen::elementOf(std::vector<Placing>{Placing::anywhere, Placing::sliced});
  const double k = *rc::gen::inRange(1, 33);
  const double m = k * *rc::gen::inRange(100, 1000000);
  const double n = m / k * *rc::gen::inRange(1, 300) / 100.0;
  RC_ASSERT(std::abs(bloom_keys(placing, m, k, m * bloom_fill(placing, m, k, n)) / n - 1) < 1e-9);
}

TEST(BloomTheory, KeysAtTheEnds) {
  for (const Placing placing : kBoth) {
    EXPECT_EQ(bloom_keys(placing, 1000, 4, 0), 0);
    EXPECT_EQ(bloom_keys(placing, 1000, 4, 1000), std::numeric_limits<double>::infinity());
  }
  // Three slices of 33 bits: the bit left over is never set.
  EXPECT_EQ(bloom_keys(Placing::sliced, 100, 3, 99), std::numeric_limits<double>::infinity());
}

TEST(BloomTheory, CellsHitAsMeasured) {
  constexpr std::uint64_t kCells = 1000, kThrows = 700, kRounds = 2000;
  Random random(1);
  double hit = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::set<std::uint64_t> cells;
    for (std::uint64_t i = 0; i < kThrows; ++i) cells.insert(random.below(kCells));
    hit += static_cast<double>(cells.size());
  }
  const double expected = cells_hit(kCells, kThrows);
  // The variance of the number of empty cells, by the textbook, is below cells * e^-c (1 - (1+c) e^-c).
  const double c = static_cast<double>(kThrows) / kCells;
  const double sigma = std::sqrt(kCells * std::exp(-c) * (1 - (1 + c) * std::exp(-c)) / kRounds);
  EXPECT_NEAR(hit / kRounds, expected, 5 * sigma);
}

// The fill and the rate of real positions: the formulas hold, and the k positions made from one digest serve as well
// as independent ones. (Positions reduced mod m before they are combined raise this rate by half at this size.)
void expect_measured(Placing placing, std::uint64_t m, std::uint64_t k, std::uint64_t n, std::uint64_t filters,
                     std::uint64_t probes) {
  const std::uint64_t slice = m / k;
  const auto place = [&](Digest d, std::uint64_t i) {
    return placing == Placing::anywhere ? position(d, i, m) : i * slice + position(d, i, slice);
  };
  KeyMaker make(m + k);
  double ones = 0, positives = 0;
  for (std::uint64_t f = 0; f < filters; ++f) {
    std::vector<bool> bits(m);
    for (std::uint64_t key = 0; key < n; ++key) {
      const Digest d = make();
      for (std::uint64_t i = 0; i < k; ++i) bits[place(d, i)] = true;
    }
    for (const bool bit : bits) ones += bit;
    for (std::uint64_t probe = 0; probe < probes; ++probe) {
      const Digest d = make();
      bool seen = true;
      for (std::uint64_t i = 0; seen && i < k; ++i) seen = bits[place(d, i)];
      positives += seen;
    }
  }
  const auto md = static_cast<double>(m), kd = static_cast<double>(k), nd = static_cast<double>(n);
  const double bits_in_all = md * static_cast<double>(filters);
  EXPECT_NEAR(ones / bits_in_all, bloom_fill(placing, md, kd, nd), 5 * 0.28 / std::sqrt(bits_in_all));
  const double rate = bloom_false_positive(placing, md, kd, nd);
  const double asked = static_cast<double>(filters * probes);
  // Five standard deviations, and the variance of the fill that the formula leaves out.
  EXPECT_NEAR(positives / asked, rate, 5 * std::sqrt(rate / asked) + rate * 0.25 * kd * kd / md) << m << " " << k;
}

TEST(BloomTheory, MeasuredFillAndRate) {
  for (const Placing placing : kBoth) {
    expect_measured(placing, 14380, 10, 1000, 100, 30000);
    expect_measured(placing, 4790, 3, 1000, 60, 5000);
    expect_measured(placing, 50000, 7, 3000, 20, 200000);
  }
}

}  // namespace
}  // namespace nodup::theory
