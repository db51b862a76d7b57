// SPDX-License-Identifier: Apache-2.0
//
// Law: nothing passed (with refresh: seen) within the window is ever judged new, from the first insertion on, whatever
// the times and however the stream is cut into batches.
#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowGuarantee);

// Enough that nothing needs to be given up, in however many generations the keys are held.
Goal roomy_goal(const Window& window, std::size_t events) {
  return {.keys = 64 * (events + 1), .error = 1e-3, .window = window};
}

// Of the keys that must be seen by an event of time t, how many are not.
std::size_t unseen(const AnyFilter& filter, const WindowOracle& truth, Tick t) {
  std::vector<Digest> keys;
  for (const auto& [key, latest] : truth.latest())
    if (truth.contains(key, t)) keys.push_back(key);
  return contains_at(filter, keys, t).count(false);
}

// False negatives among all events, and among all keys that could come between batches.
std::size_t false_negatives(AnyFilter& filter, const Window& window, std::span<const Event> events, std::size_t batch) {
  WindowOracle truth(window);
  std::size_t wrong = 0;
  play(filter, events, batch, [&](std::size_t first, std::size_t count, const Answers& is_new) {
    for (std::size_t i = 0; i < count; ++i) {
      const Event& event = events[first + i];
      wrong += is_new[i] && truth.contains(event.key, event.t);
      truth.note(event.key, event.t, is_new[i]);
    }
    const Tick now = filter.window().now;
    wrong += unseen(filter, truth, now);
    wrong += unseen(filter, truth, Generations::since(now, window.lateness));
  });
  return wrong;
}

TEST_P(WindowGuarantee, UnderAnyTimes) {
  EXPECT_TRUE(rc::check([&] {
    const Window window = *any_window();
    const Tick start = *rc::gen::element<Tick>(0, 1, 5000, 1'700'000'000'000'000'000);
    const std::vector<Event> events = stream_of(*any_steps(), window, start);
    const std::size_t batch = *rc::gen::inRange(1, 301);
    AnyFilter filter = kind().make(roomy_goal(window, events.size()));
    RC_ASSERT(false_negatives(filter, window, events, batch) == 0u);
    RC_ASSERT(filter.window().asked == window.span);
    RC_ASSERT(filter.window().effective == window.span);
  }));
}

// Streams that look like those people have, longer than RapidCheck draws them.
struct Shape {
  const char* name;
  std::size_t distinct;  // keys it draws from
  Tick quiet, burst;     // ticks between events, half the time each, and in runs
};

TEST_P(WindowGuarantee, UnderLongStreams) {
  constexpr Shape kShapes[] = {{"count window", 3000, 1, 1},
                               {"random", 3000, 7, 7},
                               {"bursty", 3000, 200, 0},
                               {"duplicates", 20, 5, 2},
                               {"sparse", 200, 700, 300}};
  for (const bool refresh : {false, true}) {
    for (const Tick lateness : {0, 150}) {
      const Window window{.span = 1000, .lateness = lateness, .refresh = refresh};
      for (const Shape& shape : kShapes) {
        SCOPED_TRACE(shape.name);
        const std::vector<Digest> stream = stream_with_duplicates(20'000, shape.distinct, 81);
        Random random(82);
        std::vector<Event> events(stream.size());
        Tick now = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
          const Tick most = i / 300 % 2 == 0 ? shape.quiet : shape.burst;
          now += most < 2 ? most : random.below(2 * most);
          events[i] = {stream[i], Generations::since(now, random.below(lateness + 1))};
          now = std::max(now, events[i].t);
        }
        AnyFilter filter = kind().make({.keys = 40'000, .error = 1e-3, .window = window});
        EXPECT_EQ(false_negatives(filter, window, events, 250), 0u);
        EXPECT_EQ(filter.window().effective, window.span);
      }
    }
  }
}

// As small as the planner makes it, and as full as it was planned for: one distinct key in each tick.
TEST_P(WindowGuarantee, AtCapacity) {
  for (const Tick span : {1, 10, 100, 1000, 1234}) {
    const Window window{.span = span};
    AnyFilter filter = kind().make({.keys = span, .error = 1e-2, .window = window});
    KeyMaker make(83);
    const std::vector<Event> events = one_per_tick(make, 0, 5 * span + 7);
    EXPECT_EQ(false_negatives(filter, window, events, 97), 0u) << span;
    EXPECT_EQ(filter.window().effective, span);
  }
}

// Far too little planned: a kind that grows opens table after table. Keys then stand in different places in each, and
// one that looks like another in one table need not do so in the next.
TEST_P(WindowGuarantee, InManyTables) {
  if (!kind().grows) return;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Tick lateness = seed % 2 == 0 ? 0 : 300;
    const Window window{.span = 1000, .lateness = lateness, .refresh = seed % 4 < 2};
    AnyFilter filter = kind().make({.keys = 10, .error = 0.05, .window = window});
    KeyMaker make(seed);
    std::vector<Digest> keys(800);
    for (Digest& key : keys) key = make();
    std::vector<Event> events(3000);
    for (std::size_t i = 0; i < events.size(); ++i)
      events[i] = {keys[random.below(keys.size())], Generations::since(2000 + i, random.below(lateness + 1))};
    EXPECT_EQ(false_negatives(filter, window, events, 1 + random.below(100)), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace nodup::testing
