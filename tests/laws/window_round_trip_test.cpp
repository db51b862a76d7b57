// SPDX-License-Identifier: Apache-2.0
//
// Law: a window saved in its middle and loaded goes on as if nothing had been: the same bytes, clock, answers, and
// the same bytes again in the end. How the stream was cut into batches shows in none of it.
#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowRoundTrip);

void expect_same_reading(const AnyFilter& a, const AnyFilter& b) {
  RC_ASSERT(a.window().now == b.window().now);
  RC_ASSERT(a.window().asked == b.window().asked);
  RC_ASSERT(a.window().effective == b.window().effective);
  RC_ASSERT(a.window().dropped_in_slack == b.window().dropped_in_slack);
  RC_ASSERT(a.keys() == b.keys());
  RC_ASSERT(a.facts() == b.facts());
  RC_ASSERT(a.rates().false_positive == b.rates().false_positive);
}

// Small enough that filters are overrun now and then.
Goal any_goal() {
  return {.keys = *rc::gen::element<std::uint64_t>(20, 300, 5000), .error = 0.05, .window = *any_window()};
}

TEST_P(WindowRoundTrip, GoesOnWithTheSameFuture) {
  EXPECT_TRUE(rc::check([&] {
    const Goal goal = any_goal();
    const std::vector<Event> events = stream_of(*any_steps(), goal.window, 1000);
    const std::size_t middle = *rc::gen::inRange<std::size_t>(0, events.size() + 1);
    AnyFilter original = kind().make(goal);
    play(original, std::span(events).first(middle));

    const std::string bytes = own_bytes(original);
    AnyFilter loaded = loaded_of(kind(), bytes);
    RC_ASSERT(own_bytes(loaded) == bytes);
    expect_same_reading(original, loaded);

    const Answers before = play(original, std::span(events).subspan(middle));
    const Answers after = play(loaded, std::span(events).subspan(middle), 7);
    for (std::size_t i = 0; i < before.size; ++i) RC_ASSERT(events[middle + i].idle || before[i] == after[i]);
    RC_ASSERT(own_bytes(original) == own_bytes(loaded));
    expect_same_reading(original, loaded);
  }));
}

TEST_P(WindowRoundTrip, BatchEqualsSingle) {
  EXPECT_TRUE(rc::check([&] {
    const Goal goal = any_goal();
    const std::vector<Event> events = stream_of(*any_steps(), goal.window, 1000);
    AnyFilter ones = kind().make(goal), batches = kind().make(goal);
    const Answers single = play(ones, events, 1);
    const Answers batched = play(batches, events, *rc::gen::inRange<std::size_t>(2, 400));
    for (std::size_t i = 0; i < events.size(); ++i) RC_ASSERT(events[i].idle || single[i] == batched[i]);
    RC_ASSERT(own_bytes(ones) == own_bytes(batches));
  }));
}

// A filter that is overrun all the time, where generations end by their number of keys and by time alike.
TEST_P(WindowRoundTrip, BatchEqualsSingleWhenFull) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Window window{.span = 1000, .lateness = seed % 3 * 50, .slack = 0.15, .refresh = seed % 2 == 1};
    std::vector<Step> steps(30);
    for (Step& step : steps)
      step = {static_cast<unsigned>(random.below(50)), static_cast<unsigned>(random.below(kWhats)),
              static_cast<unsigned>(random.below(300)), static_cast<unsigned>(1 + random.below(12))};
    const std::vector<Event> events = stream_of(steps, window, 1000);
    const Goal goal{.keys = 20, .error = 0.05, .window = window};
    AnyFilter ones = kind().make(goal), batches = kind().make(goal);
    const Answers single = play(ones, events, 1), batched = play(batches, events, 2 + random.below(60));
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_TRUE(events[i].idle || single[i] == batched[i]) << seed;
    ASSERT_TRUE(own_bytes(ones) == own_bytes(batches)) << seed;
  }
}

// Errors in both directions agree as well: capacities of some twenty keys see to false positives.
TEST_P(WindowRoundTrip, ContainsTellsWhatInsertAnswers) {
  EXPECT_TRUE(rc::check([&] {
    const Goal goal = any_goal();
    const std::vector<Event> events = stream_of(*any_steps(), goal.window, 1000);
    AnyFilter filter = kind().make(goal);
    for (const Event& event : events) {
      filter.advance(event.t);
      if (event.idle) continue;
      const std::string before = own_bytes(filter);
      const bool seen = contains_at(filter, {&event.key, 1}, event.t)[0];
      RC_ASSERT(own_bytes(filter) == before);
      RC_ASSERT(insert_at(filter, event.key, event.t) != seen);
      if (goal.window.lateness == 0) RC_ASSERT(contains(filter, {&event.key, 1})[0]);
    }
  }));
}

}  // namespace
}  // namespace nodup::testing
