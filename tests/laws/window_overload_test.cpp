// SPDX-License-Identifier: Apache-2.0
//
// Law: more keys than a filter was planned for take no more memory than its limit and are not forgotten silently: what
// was passed within window().effective is never judged new, and when the rush is over the window is whole again.
#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowOverload);

constexpr Tick kSpan = 3000;

// `per_tick` distinct keys in each tick, a third of them repeated at random distances.
void overload(const Kind& kind, const Goal& goal, std::uint64_t per_tick) {
  const Window& window = goal.window;
  AnyFilter filter = kind.make(goal);
  WindowOracle truth(window);
  std::vector<Event> passed;
  Random random(91);
  KeyMaker make(92);
  bool shrunk = false, erring = false;
  const auto add = [&](Digest key, Tick t) {
    const bool is_new = insert_at(filter, key, t);
    const Tick effective = filter.window().effective;
    ASSERT_LE(effective, window.span);
    ASSERT_FALSE(is_new && effective > 0 && truth.within(key, t, effective))
        << "at " << t << ", effective " << effective;
    truth.note(key, t, is_new);
    if (is_new) passed.push_back({key, t});
  };
  Tick now = 100;
  for (; now < 100 + 3 * kSpan; ++now) {
    for (std::uint64_t i = 0; i < per_tick; ++i) {
      add(make(), Generations::since(now, random.below(window.lateness + 1)));
      if (random.below(3) == 0) {
        const std::uint64_t back = random.below(std::min<std::uint64_t>(passed.size(), kSpan * per_tick));
        add(passed[passed.size() - 1 - back].key, now);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    ASSERT_LE(filter.bytes(), goal.bytes > 0 ? goal.bytes : UINT64_MAX);
    shrunk |= filter.window().effective < window.span;
    if (now % 100 == 0) {
      erring |= filter.rates().false_positive > 1.5 * goal.error;
      std::vector<Digest> keys;
      const Tick effective = filter.window().effective, clock = filter.window().now;
      for (const auto& [key, latest] : truth.latest())
        if (effective > 0 && truth.within(key, clock, effective)) keys.push_back(key);
      ASSERT_EQ(contains(filter, keys).count(false), 0u) << "at " << now << ", effective " << effective;
    }
  }
  // Nobody can hold so many keys in so little: it shows in one of the two.
  if (!kind.grows && kind.name != ExactWindow::kName) {
    EXPECT_TRUE(shrunk || erring);
  }

  // One key in ten ticks for a few spans: all is well again.
  for (const Tick end = now + 4 * (kSpan + window.lateness); now < end; now += 10) {
    add(make(), now);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(filter.window().effective, window.span);
  EXPECT_LE(filter.rates().false_positive, 1.05 * kind.plan(goal).rates.false_positive);
}

TEST_P(WindowOverload, FiveTimesTheKeys) {
  overload(kind(), {.keys = kSpan, .error = 1e-3, .window = {.span = kSpan}}, 5);
}

TEST_P(WindowOverload, FiveTimesTheKeysWithinALimit) {
  Goal goal{.keys = kSpan, .error = 1e-3, .window = {.span = kSpan}};
  goal.bytes = kind().plan(goal).bytes;
  overload(kind(), goal, 5);
}

TEST_P(WindowOverload, WithLateEventsAndRefresh) {
  Goal goal{.keys = kSpan, .error = 1e-3, .window = {.span = kSpan, .lateness = 300, .refresh = true}};
  goal.bytes = kind().plan(goal).bytes;
  overload(kind(), goal, 3);
}

// All in one tick: no time passes between the first and the last.
TEST_P(WindowOverload, InOneTick) {
  const Goal goal{.keys = 500, .error = 1e-3, .window = {.span = 100}};
  AnyFilter filter = kind().make(goal);
  const std::vector<Digest> keys = KeyMaker(93).make(10'000);
  for (const Digest& key : keys) insert_at(filter, key, 50);
  if (contains(filter, keys).count(false) > 0) {
    EXPECT_LT(filter.window().effective, 100u);
  }
  filter.advance(1000);
  EXPECT_EQ(filter.window().effective, 100u);
  const std::vector<Digest> fresh = KeyMaker(94).make(100);
  for (const Digest& key : fresh) insert_at(filter, key, 1000);
  filter.advance(1100);
  EXPECT_EQ(contains(filter, fresh).count(false), 0u);
}

}  // namespace
}  // namespace nodup::testing
