// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/interval.hpp"

#include <gtest/gtest.h>

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

TEST(Interval, Wilson) {
  // 10 of 100: 5.52 to 17.44 %, as printed in textbooks.
  const Interval tenth = wilson(0.1, 100, 1.959964);
  EXPECT_EQ(tenth.value, 0.1);
  EXPECT_NEAR(tenth.low, 0.0552, 0.0001);
  EXPECT_NEAR(tenth.high, 0.1744, 0.0001);
  const Interval none = wilson(0, 100, 2);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 4.0 / 104, 1e-12);
  const Interval all = wilson(1, 100, 2);
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(all.low, 100.0 / 104, 1e-12);
}

}  // namespace
}  // namespace nodup
