// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/solve.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace nodup {
namespace {

RC_GTEST_PROP(Solve, FindsTheBorderFromBothSides, (std::uint64_t a, std::uint64_t b, std::uint64_t border)) {
  const std::uint64_t least = std::min(a, b), most = std::max(a, b);
  RC_ASSERT(least_where(least, most, [&](std::uint64_t x) { return x >= border; }) == std::clamp(border, least, most));
  RC_ASSERT(greatest_where(least, most, [&](std::uint64_t x) { return x <= border; }) ==
            std::clamp(border, least, most));
}

TEST(Solve, WholeRangeOf64Bits) {
  constexpr std::uint64_t kTop = UINT64_MAX;
  for (const std::uint64_t border : {std::uint64_t{0}, std::uint64_t{1}, kTop / 2, kTop - 1, kTop}) {
    EXPECT_EQ(least_where(0, kTop, [&](std::uint64_t x) { return x >= border; }), border);
    EXPECT_EQ(greatest_where(0, kTop, [&](std::uint64_t x) { return x <= border; }), border);
  }
}

TEST(Solve, WhereNothingIsGoodTheEndIsReturned) {
  EXPECT_EQ(least_where(3, 9, [](std::uint64_t) { return false; }), 9u);
  EXPECT_EQ(greatest_where(3, 9, [](std::uint64_t) { return false; }), 3u);
}

TEST(Solve, AsksFewQuestions) {
  int asked = 0;
  least_where(0, UINT64_MAX, [&](std::uint64_t x) {
    ++asked;
    return x >= 12345;
  });
  EXPECT_LE(asked, 64);
}

}  // namespace
}  // namespace nodup
