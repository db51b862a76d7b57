// SPDX-License-Identifier: Apache-2.0
//
// Law: a plan reaches its goal at every scale, costs no less for more keys, and keeps to the limit on memory or
// refuses. Planning takes no memory, so 10^12 keys are no trouble.
#include <cmath>

#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(FitMeetsGoal);

constexpr double kErrors[] = {0.999, 0.5, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};

TEST_P(FitMeetsGoal, ErrorIsReachedAtEveryScale) {
  for (const double error : kErrors) {
    for (double keys = 1; keys <= 1e12; keys *= 10) {
      const Plan plan = kind().plan({.keys = static_cast<std::uint64_t>(keys), .error = error});
      EXPECT_LE(plan.rates.false_positive, error * (1 + 1e-9)) << keys << " keys";
      EXPECT_EQ(plan.keys, static_cast<std::uint64_t>(keys));
      EXPECT_GT(plan.bytes, 0u);
      EXPECT_GE(plan.lines_per_event, 1 - 1e-9);
      EXPECT_FALSE(plan.facts.empty());
    }
  }
}

TEST_P(FitMeetsGoal, WindowsAreKeptWithTheSlackThatIsAllowed) {
  if (!kind().ages) GTEST_SKIP() << "it keeps no window";
  constexpr Tick kHour = 3'600'000'000'000;
  for (const Tick span : {Tick{1000}, Tick{10'000'000}, kHour, 24 * kHour}) {
    for (const double slack : {0.08, 0.15, 0.5, 1.0}) {
      for (const Tick lateness : {Tick{0}, span / 12}) {
        for (const double error : {1e-1, 1e-4, 1e-7}) {
          const Goal goal{.keys = 1'000'000, .error = error, .window = {span, lateness, slack, false}};
          const Plan plan = kind().plan(goal);
          // Ticks are whole.
          EXPECT_LE(plan.slack, slack + 1.0 / static_cast<double>(span)) << span << ' ' << lateness << ' ' << error;
          EXPECT_LE(plan.rates.false_positive, error * (1 + 1e-9)) << span << ' ' << slack << ' ' << lateness;
        }
      }
    }
  }
}

TEST_P(FitMeetsGoal, MoreKeysNeverCostLess) {
  for (const double error : {0.5, 1e-2, 1e-6, 1e-9}) {
    std::uint64_t last = 0;
    for (double keys = 1; keys <= 1e12; keys *= 1.6) {
      const std::uint64_t bytes = kind().plan({.keys = static_cast<std::uint64_t>(keys), .error = error}).bytes;
      EXPECT_GE(bytes, last) << keys << " keys, error " << error;
      last = bytes;
    }
  }
}

TEST_P(FitMeetsGoal, NoKeysAreTakenForOne) {
  const Plan none = kind().plan({.keys = 0, .error = 1e-3}), one = kind().plan({.keys = 1, .error = 1e-3});
  EXPECT_EQ(none.bytes, one.bytes);
  EXPECT_EQ(none.keys, 1u);
}

TEST_P(FitMeetsGoal, LimitOnMemoryIsKeptOrRefused) {
  for (const std::uint64_t limit : {64u, 100u, 1000u, 4096u, 65536u, 1'000'000u}) {
    for (const std::uint64_t keys : {1u, 100u, 10'000u, 1'000'000u}) {
      const Goal goal{.keys = keys, .error = 1e-6, .bytes = limit};
      if (kind().plan(goal).bytes <= limit)
        EXPECT_LE(kind().make(goal).bytes(), limit) << keys << " keys";
      else
        EXPECT_THROW(kind().make(goal), Error) << keys << " keys in " << limit;
    }
  }
}

TEST_P(FitMeetsGoal, LimitBeyondTheNeedChangesNothing) {
  if (kind().forgets) GTEST_SKIP() << "it takes all the memory it may, and then forgets less";
  const Plan free = kind().plan({.keys = 10'000, .error = 1e-4});
  for (const std::uint64_t limit : {free.bytes + 64, std::uint64_t{1} << 62, UINT64_MAX}) {
    const Plan limited = kind().plan({.keys = 10'000, .error = 1e-4, .bytes = limit});
    EXPECT_EQ(limited.bytes, free.bytes);
    EXPECT_EQ(limited.rates.false_positive, free.rates.false_positive);
  }
}

TEST_P(FitMeetsGoal, ImpossibleErrorsAreRefusedByThoseThatErr) {
  for (const double error : {0.0, 1.0, -1.0, 2.0, std::nan(""), HUGE_VAL}) {
    try {
      // Whoever takes such a goal must be right always.
      EXPECT_LT(kind().plan({.keys = 1000, .error = error}).rates.false_positive, 1e-30) << error;
    } catch (const Error& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("error"), std::string::npos) << refusal.what();
    }
  }
}

TEST_P(FitMeetsGoal, AbsurdGoalsArePlannedOrRefusedButNeverMade) {
  for (const Goal& goal : {Goal{.keys = UINT64_MAX, .error = 1e-9}, Goal{.keys = UINT64_MAX, .error = 1e-300},
                           Goal{.keys = std::uint64_t{1} << 60, .error = 1e-6, .bytes = UINT64_MAX}}) {
    EXPECT_THROW(kind().make(goal), Error);
  }
}

}  // namespace
}  // namespace nodup::testing
