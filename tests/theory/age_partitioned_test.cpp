// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/age_partitioned.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/oracle.hpp"

namespace nodup::theory {
namespace {

using ::nodup::testing::Random;

// Rows of the paper's Table 2; "correct" where a printed cell is a misprint.
struct Row {
  std::uint64_t k, l;
  double error, efficiency, window, found, missed, past;
};
constexpr Row kTable2[] = {
    {4, 3, .1006, -1, 4.71, 4.38, 2.16, .625},
    {10, 7, .001211, -1, 10.86, 10.42, 1.85, .2854},
    {14, 11, .0000992, -1, 14.91, 14.51, 1.93, -1},
    {5, 7, .1016, -1, -1, -1, -1, -1},
    {7, 5, .01123, -1, -1, -1, -1, -1},
    {12, 14, .000981, -1, -1, -1, -1, -1},
    {13, 23, .000990, .491, -1, -1, -1, -1},
    {19, 22, -1, .470, -1, -1, -1, -1},
    {20, 33, -1, .519, -1, -1, 3.67, -1},
    {21, 54, -1, .571, -1, -1, -1, -1},
    {11, 46, -1, -1, 15.23, -1, -1, -1},
    {18, 16, -1, -1, 18.94, -1, -1, -1},
    {17, 36, -1, -1, -1, 18.45, -1, -1},
};

void expect_printed(double value, double printed, double digit, const Row& row, const char* column) {
  if (printed >= 0) {
    EXPECT_NEAR(value, printed, .51 * digit) << column << " of (" << row.k << ", " << row.l << ")";
  }
}

TEST(AgePartitionedTheory, Table2AsPrinted) {
  for (const Row& row : kTable2) {
    const std::vector<double> fill = age_fill_linear(row.k, row.l);
    const double error = age_false_positive(row.k, fill);
    const AgeWalk walk = age_walk(row.k, fill);
    // As many digits as the table has: four behind the point above 0.1, six or seven below.
    expect_printed(error, row.error,
                   row.error > .05    ? 1e-4
                   : row.error > .005 ? 1e-5
                   : row.error > 5e-4 ? 1e-6
                                      : 1e-7,
                   row, "error");
    expect_printed(age_efficiency(row.k, row.l, error), row.efficiency, 1e-3, row, "efficiency");
    expect_printed(age_window_accesses(row.k, fill), row.window, 1e-2, row, "window");
    expect_printed(walk.accesses_found, row.found, 1e-2, row, "found");
    expect_printed(walk.accesses_missed, row.missed, 1e-2, row, "missed");
    expect_printed(age_past_window(row.k, row.l), row.past, 1e-4, row, "past window");
    EXPECT_NEAR(walk.found / error, 1, 1e-9);
  }
}

TEST(AgePartitionedTheory, TrueFillLiesAboveTheLinear) {
  // What simulations of windows of 1000 keys show; there g is a whole number, which is worth 0.3 %.
  for (const auto& [k, l, error] : {std::tuple{4, 3, .1074},
                                    {5, 7, .1058},
                                    {7, 5, .01284},
                                    {10, 7, .001471},
                                    {12, 14, .001050},
                                    {14, 11, .0001199}})
    EXPECT_NEAR(age_false_positive(k, age_fill(k, l)) / error, 1, 3e-3) << k << " " << l;
  EXPECT_NEAR(age_slice_fill(1443, 1000), 1 - std::pow(1 - 1 / 1443., 1000), 1e-12);
}

// Section 6: blocks of B bits, b per key. (k, l, B, b), error, bits per key.
TEST(AgePartitionedTheory, BlocksAsPrinted) {
  EXPECT_NEAR(age_false_positive(2, age_block_fills(2, 5, 4, 128, age_block_capacity(128))), .0197654, 5.1e-8);
  EXPECT_NEAR(age_block_capacity(16) / (16 * std::log(2.)), .968, 5.1e-4);
  EXPECT_NEAR(age_block_capacity(128) / (128 * std::log(2.)), .996, 5.1e-4);
  EXPECT_NEAR(age_block_capacity(8) / (8 * std::log(2.)), .936, 5.1e-4);
  EXPECT_NEAR(age_block_capacity(64) / (64 * std::log(2.)), .992, 5.1e-4);
  const std::vector<double> fill = age_block_fills(2, 5, 4, 128, age_block_capacity(128));
  EXPECT_NEAR(age_window_accesses(2, fill), 3.81, .0051);
  EXPECT_NEAR(age_walk(2, fill).accesses_missed, 3.33, .0051);
  // Measured sizes, where g is rounded down.
  struct {
    std::uint64_t k, l, b, q;
    double bits;
  } sizes[] = {{2, 3, 4, 16, 19.87},  {2, 3, 4, 128, 19.31}, {2, 5, 4, 16, 16.69},
               {2, 5, 4, 128, 16.22}, {3, 5, 4, 16, 28.61},  {3, 8, 4, 128, 23.90},
               {2, 3, 8, 8, 41.11},   {2, 5, 8, 64, 32.58},  {2, 3, 8, 64, 38.78}};
  for (const auto& s : sizes) EXPECT_NEAR(age_block_bits_per_key(s.k, s.l, s.b, s.q), s.bits, .02);
}

// Figure 4, k = 10, l = 15: halved with every generation past the window until it meets the background.
TEST(AgePartitionedTheory, Decay) {
  const std::vector<double> fill = age_fill(10, 15);
  for (std::uint64_t d = 0; d <= 15; ++d) EXPECT_DOUBLE_EQ(age_decay(10, fill, d), 1);
  constexpr double kFigure[] = {.5003, .2506, .1261, .0640, .0333, .0181, .0108, .0074, .0059, .0054};
  for (std::uint64_t d = 16; d <= 25; ++d) EXPECT_NEAR(age_decay(10, fill, d), kFigure[d - 16], 6e-5) << d;
  EXPECT_DOUBLE_EQ(age_decay(10, fill, 25), age_false_positive(10, fill));
}

// Without ageing: k slices half full. Table 1.
TEST(AgePartitionedTheory, PlainSlices) {
  const std::vector<double> fill(7, .5);
  double by_hand = 0;
  for (int i = 1; i <= 7; ++i) by_hand += i * std::pow(.5, i);
  EXPECT_DOUBLE_EQ(age_false_positive(7, fill), std::pow(.5, 7));
  EXPECT_NEAR(age_walk(7, fill).accesses_missed, by_hand * 128 / 127, 1e-12);
  EXPECT_DOUBLE_EQ(age_walk(7, fill).accesses_found, 7);
}

// The walk against Algorithm 1 played with dice, on a fill that is different everywhere.
TEST(AgePartitionedTheory, WalkAsPlayed) {
  constexpr std::uint64_t k = 3, kSlices = 11, kRounds = 200'000;
  Random random(5);
  std::vector<double> fill(kSlices);
  for (double& r : fill) r = .2 + .6 * static_cast<double>(random.below(1000)) / 1000;
  double rounds_found = 0, accesses_found = 0, accesses_missed = 0, runs = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    bool match[kSlices];
    for (std::uint64_t i = 0; i < kSlices; ++i) match[i] = static_cast<double>(random() >> 11) * 0x1p-53 < fill[i];
    std::int64_t i = kSlices - k;
    std::uint64_t before = 0, now = 0, accesses = 0;
    bool found = false;
    while (i >= 0 && !found) {
      ++accesses;
      if (match[i]) {
        ++now, ++i;
        found = before + now == k;
      } else {
        i -= k;
        before = now, now = 0;
      }
    }
    rounds_found += found;
    (found ? accesses_found : accesses_missed) += static_cast<double>(accesses);
    std::uint64_t run = 0, longest = 0;
    for (const bool m : match) longest = std::max(longest, run = m ? run + 1 : 0);
    ASSERT_EQ(found, longest >= k);
    runs += longest >= k;
  }
  const AgeWalk walk = age_walk(k, fill);
  const double p = walk.found, sigma = std::sqrt(p * (1 - p) / kRounds);
  EXPECT_NEAR(runs / kRounds, age_false_positive(k, fill), 5 * sigma);
  EXPECT_NEAR(rounds_found / kRounds, p, 5 * sigma);
  // Accesses lie between 1 and 2 * kSlices; their deviation is below 4.
  EXPECT_NEAR(accesses_found / rounds_found, walk.accesses_found, 5 * 4 / std::sqrt(rounds_found));
  EXPECT_NEAR(accesses_missed / (kRounds - rounds_found), walk.accesses_missed,
              5 * 4 / std::sqrt(kRounds - rounds_found));
}

}  // namespace
}  // namespace nodup::theory
