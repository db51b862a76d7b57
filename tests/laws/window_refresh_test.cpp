// SPDX-License-Identifier: Apache-2.0
//
// Law: with refresh a key that is seen again within every span stays a duplicate for ever; without, it passes once in
// every span.
#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowRefresh);

constexpr Tick kSpan = 1300;

// Of `keys` that come every `interval` ticks for 30 spans, beside others, how often any passes.
std::size_t times_passed(const Kind& kind, bool refresh, Tick interval, std::size_t count) {
  const Goal goal{.keys = kSpan, .error = 1e-5, .window = {.span = kSpan, .slack = 0.1, .refresh = refresh}};
  AnyFilter filter = kind.make(goal);
  const std::vector<Digest> keys = KeyMaker(95).make(count);
  KeyMaker others(96);
  std::size_t passed = 0;
  for (Tick t = 0; t < 30 * kSpan; ++t) {
    if (t % interval < count)
      passed += insert_at(filter, keys[t % interval], t);
    else if (t % 2 == 0)
      insert_at(filter, others(), t);
  }
  return passed;
}

TEST_P(WindowRefresh, KeysSeenAgainStayDuplicates) {
  for (const Tick interval : {60, 650, 1299, 1300})
    EXPECT_EQ(times_passed(kind(), true, interval, 50), 50u) << interval;
}

TEST_P(WindowRefresh, WithoutItTheyPassOnceInEverySpan) {
  for (const Tick interval : {60, 650, 1299, 1300}) {
    // They pass at the first multiple of the interval past the span; with slack and a moment for kinds that forget bit
    // by bit, past 1.1 and at most about two spans.
    const std::size_t passed = times_passed(kind(), false, interval, 50);
    const Tick soonest = (kSpan / interval + 1) * interval;
    EXPECT_LE(passed, 50 * (30 * kSpan / soonest + 1)) << interval;
    EXPECT_GE(passed, 50 * (30 * kSpan / (soonest + interval + kSpan / 4) - 1)) << interval;
  }
}

}  // namespace
}  // namespace nodup::testing
