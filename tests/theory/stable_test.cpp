// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/stable.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "nodup/filters/stable.hpp"
#include "tests/oracle.hpp"

namespace nodup::theory {
namespace {

TEST(StableTheory, ThePaperSetting) {
  // One-bit cells, K = 2, P = 4: a third of the cells is up. The formula with FPS 0.1 gives P = 4.32.
  EXPECT_NEAR(stable_load(1e9, 2, 4, 1), 1.0 / 3, 1e-6);
  EXPECT_NEAR(stable_resets(1e9, 2, 1, 0.1), 4.32, 0.01);
}

TEST(StableTheory, ResetsAreTheInverseOfTheLoad) {
  for (const double Max : {1.0, 3.0, 7.0})
    for (const double K : {1.0, 2.0, 8.0})
      for (const double target : {0.3, 1e-2, 1e-5})
        EXPECT_NEAR(std::pow(stable_load(1e5, K, stable_resets(1e5, K, Max, target), Max), K) / target, 1, 1e-9);
}

TEST(StableTheory, BothRatesAreThoseOfTheFilter) {
  constexpr std::uint64_t kCells = 50'000;
  for (const StableParams& p :
       {StableParams{kCells, 1, 2, 4, 0}, StableParams{kCells, 2, 3, 6, 0}, StableParams{kCells, 3, 4, 20, 0}}) {
    Stable filter(p);
    testing::KeyMaker make(83);
    std::vector<Digest> told;
    const auto m = static_cast<double>(kCells), K = static_cast<double>(p.probes), P = static_cast<double>(p.resets);
    const double Max = std::exp2(static_cast<double>(p.cell_bits)) - 1;
    for (const double share : {0.1, 0.5, 1.0, 5.0, 20.0}) {
      while (static_cast<double>(told.size()) < share * m) {
        told.push_back(make());
        filter.insert(told.back());
      }
      SCOPED_TRACE(::testing::PrintToString(p.cell_bits) + " bits, " + ::testing::PrintToString(share));
      const StableMoment moment = stable_after(m, K, P, Max, static_cast<double>(told.size()));
      const double load = moment.load, sigma = std::sqrt(load * (1 - load) / m);
      EXPECT_NEAR(filter.rates().false_positive, moment.false_positive,
                  moment.false_positive * (5 * K * sigma / load + 0.005));
      std::size_t passing = 0;
      for (const Digest& key : told) passing += !filter.contains(key);
      const double f = moment.false_negative, count = static_cast<double>(told.size());
      EXPECT_NEAR(static_cast<double>(passing) / count, f, 5 * std::sqrt(f * (1 - f) / count) + 0.002);
    }
    EXPECT_NEAR(stable_after(m, K, P, Max, 1e9).load, stable_load(m, K, P, Max), 1e-4);
  }
}

}  // namespace
}  // namespace nodup::theory
