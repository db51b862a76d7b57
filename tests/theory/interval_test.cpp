// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nodup {
namespace {

// From printed tables of Student's t, two-sided 95 %.
TEST(Interval, StudentsT) {
  EXPECT_NEAR(t_95(3), 3.182, 0.04);
  EXPECT_NEAR(t_95(5), 2.571, 0.008);
  EXPECT_NEAR(t_95(10), 2.228, 0.001);
  EXPECT_NEAR(t_95(30), 2.042, 0.001);
  EXPECT_NEAR(t_95(1e9), 1.960, 0.001);
  EXPECT_EQ(t_95(0), t_95(3));
}

// Whole numbers: it is a binomial tail, P(at least a of a + b - 1).
TEST(Interval, BetaIsABinomialTail) {
  for (const double x : {1e-6, 0.01, 0.3, 0.5, 0.9})
    for (const int n : {1, 5, 40})
      for (int a = 1; a <= n; ++a) {
        double tail = 0;
        for (int k = a; k <= n; ++k)
          tail += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(x) +
                           (n - k) * std::log1p(-x));
        EXPECT_NEAR(beta_below(x, a, n - a + 1), tail, 1e-10 + 1e-9 * tail) << x << ' ' << a << " of " << n;
      }
  EXPECT_NEAR(beta_below(0.1, 1e5, 9e5), 0.5, 0.001);
  EXPECT_NEAR(beta_below(1e-6, 1, 1e6), -std::expm1(1e6 * std::log1p(-1e-6)), 1e-9);
}

TEST(Interval, ClopperAndPearson) {
  constexpr double kMany = 1e12;
  // 10 of 100: 4.90 to 17.62 %, as printed in tables.
  const Interval tenth = share_interval(0.1, 100, kMany);
  EXPECT_EQ(tenth.value, 0.1);
  EXPECT_NEAR(tenth.low, 0.0490, 0.0001);
  EXPECT_NEAR(tenth.high, 0.1762, 0.0001);
  const Interval none = share_interval(0, 100, kMany);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.01), 1e-6);
  const Interval all = share_interval(1, 100, kMany);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.01), 1e-6);
  EXPECT_EQ(all.high, 1);
  EXPECT_GT(share_interval(0.1, 100, 5).high, tenth.high) << "known less well";
}

}  // namespace
}  // namespace nodup
