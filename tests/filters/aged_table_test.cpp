// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/oracle.hpp"

namespace nodup::testing {
namespace {

Goal count_window(std::uint64_t span, double error, bool compact = false) {
  return {.keys = span, .error = error, .window = {.span = span, .by_count = true}, .compact = compact};
}

// What the issue that asked for this filter wants: bits per event of the window, in a full steady state, with nothing
// given up, and a slack of 0.08 at most.
TEST(AgedTable, BitsPerEventInAFullSteadyState) {
  constexpr std::uint64_t kSpan = 200'000;
  struct Wanted {
    double error, fast, compact;
  };
  for (const Wanted& w : {Wanted{1e-2, 18.5, 16.5}, {1e-3, 23.5, 20}, {1e-4, 28, 24.5}, {1e-6, 36.5, 31.5}}) {
    for (const bool compact : {false, true}) {
      const AgedTable::Params p = AgedTable::fit(count_window(kSpan, w.error, compact));
      EXPECT_LE(8.0 * static_cast<double>(AgedTable::bytes(p)) / kSpan, compact ? w.compact : w.fast) << w.error;
      EXPECT_LE(AgedTable::slack(p), 0.08);
      AgedTable filter(p);
      KeyMaker make(1);
      std::vector<Digest> keys = make.make(kSpan * 5 / 2);
      std::uint64_t lost = 0;
      std::vector<bool> passed(keys.size());
      for (std::uint64_t i = 0; i < keys.size(); ++i) lost += !(passed[i] = filter.insert(keys[i], i + 1));
      EXPECT_EQ(filter.window().effective, kSpan) << "something was given up";
      // Whatever was passed within the window is there, and the error is the planned one.
      for (std::uint64_t i = keys.size() - kSpan; i < keys.size(); ++i)
        ASSERT_TRUE(filter.contains(keys[i]) || !passed[i]);
      const auto n = static_cast<double>(keys.size());
      EXPECT_LE(static_cast<double>(lost), n * w.error + 5 * std::sqrt(n * w.error) + 1);
      constexpr std::uint64_t kProbes = 2'000'000;
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < kProbes; ++i) wrong += filter.contains(make());
      const double expected = AgedTable::rates(p, kSpan).false_positive * kProbes;
      EXPECT_LE(static_cast<double>(wrong), expected + 5 * std::sqrt(expected)) << w.error;
      EXPECT_GE(static_cast<double>(wrong), 0.9 * expected - 5 * std::sqrt(expected)) << w.error;
    }
  }
}

// Each event is a window after the one before: tags must be used again without a lap of clearing between.
TEST(AgedTable, JumpsOfTheClockCostNothing) {
  Goal goal{.keys = 3'000'000, .error = 1e-6, .window = {.span = 1000}};
  AgedTable filter(AgedTable::fit(goal));
  KeyMaker make(2);
  std::vector<Digest> keys = make.make(2000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(filter.insert(keys[i], i * 5000 + 1));
    EXPECT_FALSE(filter.insert(keys[i], i * 5000 + 1000));
    EXPECT_EQ(filter.window().effective, 1000u);
  }
  // Keys of long ago are new again.
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) seen += filter.contains(keys[i]);
  EXPECT_EQ(seen, 0u);
}

// A table made for far more keys than come, so that clearing by passing events alone would never get through: keys are
// forgotten in time all the same. (Once a burst and a table larger than one piece, once a few keys per generation.)
TEST(AgedTable, KeysAreForgottenInTimeInATableMuchTooLarge) {
  for (const std::uint64_t burst : {0u, 5000u}) {
    Goal goal{.keys = 20'000'000, .error = 1e-9, .window = {.span = 1300}};
    AgedTable filter(AgedTable::fit(goal));
    KeyMaker make(8);
    Tick now = 1;
    for (std::uint64_t i = 0; i < burst; ++i) filter.insert(make(), now);
    std::vector<std::pair<Digest, Tick>> passed;
    std::uint64_t late = 0;
    for (int step = 0; step < 20'000; ++step) {
      now += 30;  // three events in a generation of 100
      passed.emplace_back(make(), now);
      filter.insert(passed.back().first, now);
      if (step < 100) continue;
      // One that left the window and its slack a little while ago is new again.
      const auto& [key, at] = passed[passed.size() - 1 - 1500 / 30];
      late += filter.contains(key, now);
    }
    // After the burst a few generations may be stretched while its slots are cleared.
    EXPECT_LE(late, burst == 0 ? 0u : 20u);
  }
}

TEST(AgedTable, GrowsByFurtherTablesAndDropsThem) {
  AgedTable filter(AgedTable::fit({.keys = 1000, .error = 1e-4, .window = {.span = 1'000'000}}));
  const std::uint64_t at_first = filter.bytes();
  KeyMaker make(3);
  std::vector<Digest> burst = make.make(20'000);
  for (std::uint64_t i = 0; i < burst.size(); ++i) {
    filter.make_room(1);
    filter.insert(burst[i], 500'000 + i);
  }
  EXPECT_GT(filter.bytes(), at_first);
  EXPECT_EQ(filter.window().effective, 1'000'000u);
  for (const Digest& d : burst) ASSERT_TRUE(filter.contains(d));
  EXPECT_LE(filter.rates().false_positive, 1e-4);
  const std::uint64_t at_most = filter.bytes();
  // The next window has few: the older tables go.
  for (std::uint64_t i = 0; i < 200; ++i) filter.insert(make(), 1'600'000 + i * 10'000);
  EXPECT_LT(filter.bytes(), at_most);
  for (const Digest& d : burst) ASSERT_FALSE(filter.contains(d));
}

TEST(AgedTable, UnderALimitTheWindowShrinksAndTellsSo) {
  Goal goal{.keys = 100'000, .error = 1e-4, .bytes = 65'536, .window = {.span = 1'000'000'000}};
  AgedTable filter(AgedTable::fit(goal));
  KeyMaker make(4);
  std::vector<Digest> keys = make.make(300'000);
  std::vector<bool> passed(keys.size());
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    filter.make_room(1);
    passed[i] = filter.insert(keys[i], 1 + i);
    if (i % 1000 != 999) continue;
    const Tick effective = std::min<Tick>(filter.window().effective, i);
    for (std::uint64_t back = 0; back <= effective; ++back)
      ASSERT_TRUE(filter.contains(keys[i - back]) || !passed[i - back]) << i;
  }
  EXPECT_LE(filter.bytes(), goal.bytes);
  // 65536 bytes hold about 40000 keys of 13 bits; at most a few generations of them are given up at once.
  EXPECT_GT(filter.window().effective, 20'000u);
  EXPECT_LT(filter.window().effective, 60'000u);
}

TEST(AgedTable, BurstInOneTickUnderALimit) {
  AgedTable filter(AgedTable::fit({.keys = 20'000, .error = 1e-3, .bytes = 32'768, .window = {.span = 1000}}));
  KeyMaker make(5);
  for (int i = 0; i < 100'000; ++i) {
    filter.make_room(1);
    const Digest d = make();
    filter.insert(d, 7);
    ASSERT_TRUE(filter.contains(d));
  }
  EXPECT_EQ(filter.window().effective, 0u);  // of one tick not all keys fit
  EXPECT_GT(filter.keys(), 10'000u);         // but most of the memory is in use
}

TEST(AgedTable, SmallerSlackTakesWiderTags) {
  const auto fit = [](double slack, Tick lateness) {
    return AgedTable::fit(
        {.keys = 1000, .error = 1e-3, .window = {.span = 10'000, .lateness = lateness, .slack = slack}});
  };
  EXPECT_EQ(fit(0.08, 0).tag_bits, 4u);
  EXPECT_EQ(fit(0.05, 0).tag_bits, 5u);
  EXPECT_EQ(fit(0.02, 0).tag_bits, 6u);
  EXPECT_EQ(fit(0.08, 10'000).tag_bits, 5u);
  EXPECT_GT(AgedTable::slack(fit(0.001, 0)), 0.001) << "and tells where that is not enough";
}

TEST(AgedTable, SlotsFromTwelveToSixtyFourBits) {
  for (const double error : {0.5, 1e-9, 1e-15, 1e-17}) {
    const AgedTable::Params p = AgedTable::fit(count_window(5000, error));
    EXPECT_GE(p.fingerprint_bits + p.tag_bits, 12u);
    EXPECT_LE(p.fingerprint_bits + p.tag_bits, 64u);
    EXPECT_LE(AgedTable::rates(p, 5000).false_positive, error);
    AgedTable filter(p);
    KeyMaker make(6);
    std::vector<Digest> keys = make.make(12'000);
    std::vector<bool> passed(keys.size());
    for (std::uint64_t i = 0; i < keys.size(); ++i) {
      passed[i] = filter.insert(keys[i], i + 1);
      const std::uint64_t before = i - std::min<std::uint64_t>(i, 4999);
      ASSERT_TRUE(filter.contains(keys[before]) || !passed[before]);
    }
  }
}

}  // namespace
}  // namespace nodup::testing
