// SPDX-License-Identifier: Apache-2.0
//
// Law: what is older than the span and the slack is new again; and what was dropped though older than the span is
// counted. Some kinds forget a key bit by bit (age partitioning: half of the keys in each generation past the slack),
// so shortly past it only their number is bounded.
#include <cmath>

#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowForgets);

constexpr Tick kSpan = 2000;
constexpr double kError = 1e-5;

TEST_P(WindowForgets, WhatIsOlderThanTheSlack) {
  const Goal goal{.keys = kSpan, .error = kError, .window = {.span = kSpan, .slack = 0.1}};
  const Plan plan = kind().plan(goal);
  EXPECT_LE(plan.slack, 0.1 * (1 + 1e-9));
  AnyFilter filter = kind().make(goal);
  KeyMaker make(84);
  const std::vector<Event> events = one_per_tick(make, 1, 8 * kSpan);
  std::size_t just_past = 0, just_past_seen = 0, long_past = 0, long_past_seen = 0;
  play(filter, events, 50, [&](std::size_t first, std::size_t count, const Answers&) {
    const Tick now = first + count;
    for (const std::size_t back : {1200, 2300, 2600, 3000, 4000, 5999, 6001, 7000, 10'000}) {
      if (now <= back) continue;
      const Event& old = events[now - back - 1];
      const bool seen = contains_at(filter, {&old.key, 1}, now)[0];
      ASSERT_EQ(now - old.t, back);
      if (back <= kSpan) {
        ASSERT_TRUE(seen);
      } else {
        (back <= 3 * kSpan ? just_past : long_past) += 1;
        (back <= 3 * kSpan ? just_past_seen : long_past_seen) += seen;
      }
    }
  });
  ASSERT_GT(just_past, 500u);
  ASSERT_GT(long_past, 200u);
  EXPECT_LE(just_past_seen, just_past / 5) << "of " << just_past;
  EXPECT_LE(long_past_seen, 1u) << "of " << long_past;  // a false positive
}

// Each key again and again: it passes once per span and slack, not less often.
TEST_P(WindowForgets, AKeyPassesOncePerSpan) {
  const Goal goal{.keys = 200, .error = kError, .window = {.span = kSpan, .slack = 0.1}};
  AnyFilter filter = kind().make(goal);
  const std::vector<Digest> keys = KeyMaker(85).make(100);
  constexpr Tick kEnd = 40 * kSpan;
  std::size_t passed = 0;
  Tick t = 0;
  for (std::size_t i = 0; t < kEnd; t += 7, ++i) passed += insert_at(filter, keys[i % keys.size()], t);
  // Every key comes each 700 ticks: it passes at the first of these moments past the span, the 2100th tick, or when the
  // slack is over, the 2800th (a kind that forgets bit by bit may need a moment longer).
  EXPECT_LE(passed, keys.size() * (kEnd / 2100 + 1));
  EXPECT_GE(passed, keys.size() * (kEnd / 3000));
}

TEST_P(WindowForgets, DropsInTheSlackAreCounted) {
  const Window window{.span = kSpan, .lateness = 100, .slack = 0.3};
  AnyFilter filter = kind().make({.keys = kSpan, .error = kError, .window = window});
  const std::vector<Digest> stream = stream_with_duplicates(40'000, 3000, 86);
  WindowOracle truth(window);
  Random random(87);
  std::size_t drops = 0, older = 0;
  Tick now = 0;
  for (const Digest& key : stream) {
    now += random.below(2);
    const Tick t = Generations::since(now, random.below(window.lateness + 1));
    const bool is_new = insert_at(filter, key, t);
    drops += !is_new;
    older += !is_new && !truth.contains(key, t);
    truth.note(key, t, is_new);
  }
  const std::uint64_t counted = filter.window().dropped_in_slack;
  EXPECT_LE(counted, drops);
  // Kinds that forget bit by bit take some old keys for younger ones.
  EXPECT_GE(static_cast<double>(counted), 0.9 * static_cast<double>(older)) << "of " << drops;
  // One generation in the slack holds also keys that are young enough, but not many times as many.
  EXPECT_LE(static_cast<double>(counted), 4 * static_cast<double>(older) + 5) << "of " << drops;
}

TEST_P(WindowForgets, ByTheClockAlone) {
  const Window window{.span = 1000, .slack = 0.1};
  AnyFilter filter = kind().make({.keys = 1000, .error = kError, .window = window});
  const std::vector<Digest> keys = KeyMaker(88).make(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) insert_at(filter, keys[i], 5000 + i / 10);
  filter.advance(6000);
  EXPECT_EQ(filter.window().now, 6000u);
  Answers seen = contains(filter, keys);
  EXPECT_EQ(seen.count(false), 0u);
  filter.advance(40'000);
  EXPECT_EQ(filter.window().now, 40'000u);
  seen = contains(filter, keys);
  EXPECT_LE(seen.count(true), 1u);
  EXPECT_EQ(contains_at(filter, keys, 40'000).count(true), seen.count(true));
  EXPECT_GE(insert(filter, keys).count(true), keys.size() - 1);
}

TEST_P(WindowForgets, AClockThatGoesBackChangesNothing) {
  const Window window{.span = 1000};
  AnyFilter filter = kind().make({.keys = 1000, .error = kError, .window = window});
  KeyMaker make(89);
  play(filter, one_per_tick(make, 5000, 900));
  const std::string before = own_bytes(filter);
  for (const Tick t : {0, 1, 4999, 5000, 5898}) filter.advance(t);
  EXPECT_TRUE(own_bytes(filter) == before);
  EXPECT_EQ(filter.window().now, 5899u);
}

}  // namespace
}  // namespace nodup::testing
