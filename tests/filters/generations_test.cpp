// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/generations.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "nodup/error.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::own_bytes;
using testing::Random;
using testing::reader_of;

constexpr Tick kMostTick = UINT64_MAX;

// Generations beside the list of all keys they ever took: the naive model.
class Remembering {
 public:
  Remembering(const Window& window, std::uint64_t live) : generations(window, live) {}

  // As a filter does it. `early`: as one does whose newest generation is full.
  void remember(Tick t, bool early = false) {
    const Window& window = generations.window();
    generations.advance(t);
    if (early || generations.must_open(t)) {
      if (generations.count() == generations.live() && !generations.oldest_is_over()) gave_up = true;
      generations.open(t).tag = ++opened;
    }
    Generation& home = generations[generations.age_of(t)];
    ++home.keys;
    keys.push_back({t, home.tag, t < generations.now() ? window.lateness : 0});
  }

  // Every event that may come now, of times from the latest allowed to the clock, finds what it should.
  void check() const {
    const Window& window = generations.window();
    const Tick now = generations.now();
    const Tick length = Generations::length(window, generations.live());
    const WindowReading reading = generations.reading();
    RC_ASSERT(reading.now == now);
    RC_ASSERT(reading.effective == window.span || gave_up);
    for (const Tick t : {Generations::since(now, window.lateness), Generations::since(now, window.lateness / 2), now}) {
      const std::uint64_t reach = generations.reach(t);
      RC_ASSERT(reach <= generations.count());
      if (!generations.must_open(t) && !generations.oldest_is_over()) check_stretch(t);
      for (const Key& key : keys) {
        std::uint64_t age = 0;
        while (age < reach && generations[age].tag != key.tag) ++age;
        const bool found = age < reach;
        const Tick effective_since = Generations::since(t, reading.effective);
        if (reading.effective > 0 && key.t >= effective_since) RC_ASSERT(found);
        if (t > key.t && t - key.t > window.span + (length - 1) + key.late) RC_ASSERT(!found);
        if (found && key.t < Generations::since(t, window.span)) RC_ASSERT(generations.in_slack(age, t));
      }
    }
  }

  // It says the same as the single questions, for t and for all of its times.
  void check_stretch(Tick t) const {
    const TimeStretch stretch = generations.stretch(t);
    RC_ASSERT(stretch.holds(t));
    for (const Tick u : {t, stretch.from, stretch.until - 1, stretch.from + (stretch.until - stretch.from) / 2}) {
      RC_ASSERT(stretch.own == generations.age_of(u));
      RC_ASSERT(stretch.reach == generations.reach(u));
      for (std::uint64_t age = 0; age < generations.count(); ++age)
        RC_ASSERT((age >= stretch.slack_from) == generations.in_slack(age, u));
    }
  }

  struct Key {
    Tick t;
    std::uint64_t tag;
    Tick late;  // how much longer than the slack it may be remembered
  };
  Generations generations;
  std::uint64_t opened = 0;
  bool gave_up = false;  // a generation was given up that was still needed
  std::vector<Key> keys;
};

// Steps of the clock at which a mistake by one would show.
Tick step(Random& random, const Window& window, Tick length) {
  const Tick steps[] = {0,
                        0,
                        1,
                        length - 1,
                        length,
                        length + 1,
                        window.span,
                        window.span,
                        window.span + 1,
                        length / 2,
                        random.below(2 * length + 1),
                        5 * window.span};
  return steps[random.below(std::size(steps))];
}

Window any_window(Random& random) {
  const Tick span = 1 + random.below(random.below(2) == 0 ? 12 : 1000);
  return {.span = span,
          .lateness = random.below(3) == 0 ? 0 : random.below(2 * span),
          .slack = 0.02 + 0.01 * static_cast<double>(random.below(120)),
          .refresh = false};
}

RC_GTEST_PROP(Generations, AsManyAsNeededSufficeAndKeepTheSlack, (std::uint64_t seed)) {
  Random random(seed);
  const Window window = any_window(random);
  const std::uint64_t live = Generations::needed(window, 1 << 20);
  const Tick length = Generations::length(window, live);
  // Ticks are whole: a generation of one tick makes no slack at all.
  RC_ASSERT(static_cast<double>(length - 1) <= window.slack * static_cast<double>(window.span) * (1 + 1e-9));
  RC_ASSERT(live >= 2u);

  Remembering model(window, live);
  Tick now = random.below(3) == 0 ? 0 : random.below(10'000);
  for (int i = 0; i < 60; ++i) {
    now += step(random, window, length);
    if (random.below(8) == 0) model.generations.advance(now);  // idle
    const Tick late = random.below(2) == 0 ? 0 : random.below(window.lateness + 1);
    now = std::max(now, model.generations.now());
    model.remember(Generations::since(now, late));
    model.check();
  }
  RC_ASSERT(!model.gave_up);
}

RC_GTEST_PROP(Generations, WhatIsGivenUpShowsInTheWindow, (std::uint64_t seed)) {
  Random random(seed);
  const Window window = any_window(random);
  const std::uint64_t live = 2 + random.below(12);
  Remembering model(window, live);
  Tick now = random.below(2) == 0 ? 0 : random.below(10'000);
  for (int i = 0; i < 60; ++i) {
    now += step(random, window, Generations::length(window, live));
    const Tick late = random.below(2) == 0 ? 0 : random.below(window.lateness + 1);
    model.remember(Generations::since(now, late), random.below(3) == 0);
    if (random.below(20) == 0 && model.generations.count() > 0) {
      model.generations.give_up_oldest();
      model.gave_up = true;
    }
    now = model.generations.now();
    model.check();
  }
}

// An event in every tick needs the most generations at once.
TEST(Generations, AStreamWithoutIdleTimeGivesNothingUp) {
  for (const Tick lateness : {0, 1, 7, 40}) {
    for (Tick span = 1; span <= 60; ++span) {
      for (std::uint64_t live = 2; live <= 20; ++live) {
        Generations generations({.span = span, .lateness = lateness}, live);
        for (Tick t = 0; t <= 3 * (span + lateness); ++t) {
          generations.advance(t);
          if (!generations.must_open(t)) continue;
          ASSERT_TRUE(generations.count() < live || generations.oldest_is_over()) << span << ' ' << live << ' ' << t;
          generations.open(t);
        }
      }
    }
  }
}

TEST(Generations, HowManyAndHowLong) {
  EXPECT_EQ(Generations::needed({.span = 1300, .slack = 0.08}, 100), 14u);
  EXPECT_EQ(Generations::length({.span = 1300, .slack = 0.08}, 14), 100u);
  EXPECT_DOUBLE_EQ(Generations::slack({.span = 1300}, 14), 1.0 / 13);
  EXPECT_EQ(Generations::needed({.span = 1000, .slack = 0.001}, 16), 16u);  // no more than can be told apart
  EXPECT_EQ(Generations::needed({.span = 1000, .slack = 50}, 16), 2u);
  EXPECT_EQ(Generations::needed({.span = 1000, .slack = 0}, 16), 16u);
  EXPECT_EQ(Generations::needed({.span = 1000, .slack = -1}, 16), 16u);
  // The lateness is kept as well, at the same slack of the span.
  EXPECT_EQ(Generations::needed({.span = 1000, .lateness = 1000, .slack = 0.1}, 100), 21u);
  // No window: nothing is over by time, and the numbers hold at the end of the range.
  EXPECT_EQ(Generations::length({}, 5), Window::kEndless);
  EXPECT_EQ(Generations::slack({}, 5), 0);
  EXPECT_LE(Generations::length({.span = kMostTick - 1, .lateness = kMostTick}, 14), kMostTick / 13 + 1);
}

TEST(Generations, IdleTimeOpensNone) {
  Generations generations({.span = 100}, 11);
  generations.advance(1'000'000);
  EXPECT_EQ(generations.count(), 0u);
  EXPECT_TRUE(generations.must_open(1'000'000));
  generations.open(1'000'000);
  generations.advance(5);  // a clock that goes back does nothing
  EXPECT_EQ(generations.now(), 1'000'000u);
  EXPECT_FALSE(generations.oldest_is_over());
  generations.advance(1'000'109);
  EXPECT_EQ(generations.count(), 1u);
  EXPECT_FALSE(generations.oldest_is_over());
  generations.advance(1'000'110);
  EXPECT_TRUE(generations.oldest_is_over());
}

// Full ones are closed early, at the same tick if need be: keys of that tick stay in both.
TEST(Generations, SeveralInOneTick) {
  Generations generations({.span = 100}, 3);
  generations.open(7).tag = 1;
  generations[0].keys = 1;
  generations.open(7).tag = 2;
  generations[0].keys = 1;
  generations.open(7).tag = 3;
  EXPECT_EQ(generations[2].end, 8u);
  EXPECT_EQ(generations[1].end, 8u);
  EXPECT_EQ(generations.age_of(7), 0u);
  EXPECT_EQ(generations.reach(107), 3u);
  EXPECT_EQ(generations.reach(108), 1u);
  EXPECT_EQ(generations.reading().effective, 100u);

  generations.open(7);  // none is left: keys of this very tick are given up
  EXPECT_EQ(generations.count(), 3u);
  EXPECT_EQ(generations[2].tag, 2u);
  EXPECT_EQ(generations.reading().effective, 0u);
  generations.advance(50);
  EXPECT_EQ(generations.reading().effective, 42u);
  generations.advance(108);  // the gap has left the window
  EXPECT_EQ(generations.reading().effective, 100u);
}

TEST(Generations, AnEmptyOneIsGivenUpWithoutLoss) {
  Generations generations({.span = 100}, 2);
  generations.open(1);
  generations.give_up_oldest();
  EXPECT_EQ(generations.reading().effective, 100u);
}

// A late event has a window, too: the effective one is what even that event gets.
TEST(Generations, TheEffectiveWindowHoldsForLateEvents) {
  Generations generations({.span = 100, .lateness = 30}, 14);
  generations.open(0);
  generations[0].keys = 1;
  generations.advance(120);
  generations.open(120);
  generations.advance(125);
  generations.give_up_oldest();  // of ticks 0 to 9, which an event of time 95 may still ask for
  EXPECT_EQ(generations.reading().effective, 85u);
  generations.advance(140);
  EXPECT_EQ(generations.reading().effective, 100u);
}

// A late key from idle time is put into the generation after it. That one may then hold keys older than its begin.
TEST(Generations, LateKeysFromIdleTime) {
  Generations generations({.span = 50, .lateness = 50}, 11);
  generations.open(0);
  generations.advance(100);
  generations.open(100);
  EXPECT_EQ(generations.age_of(60), 0u);
  EXPECT_EQ(generations.age_of(9), 1u);
  EXPECT_TRUE(generations.in_slack(0, 111));
  EXPECT_FALSE(generations.in_slack(0, 100));
  // Without idle time before it, it holds none that are older.
  generations.advance(110);
  generations.open(110);
  EXPECT_FALSE(generations.in_slack(0, 160));
  EXPECT_TRUE(generations.in_slack(0, 161));
}

TEST(Generations, TheLastTickThereIs) {
  for (const Window window : {Window{.span = 100}, Window{}}) {
    Generations generations(window, 5);
    generations.advance(kMostTick);
    ASSERT_TRUE(generations.must_open(kMostTick));
    generations.open(kMostTick);
    // It would never be over: the ones before would be given up for nothing.
    EXPECT_FALSE(generations.must_open(kMostTick));
    EXPECT_EQ(generations.age_of(kMostTick), 0u);
    EXPECT_EQ(generations.reach(kMostTick), 1u);
  }
}

TEST(Generations, WithoutAWindowNothingIsForgottenByTime) {
  Generations generations({}, 3);
  generations.open(5);
  generations.advance(kMostTick - 1);
  EXPECT_FALSE(generations.must_open(kMostTick - 1));
  EXPECT_FALSE(generations.oldest_is_over());
  EXPECT_EQ(generations.reach(kMostTick - 1), 1u);
  EXPECT_FALSE(generations.in_slack(0, kMostTick - 1));
  EXPECT_EQ(generations.reading().effective, Window::kEndless);
}

Generations some(const Window& window, std::uint64_t live, std::uint64_t seed) {
  Random random(seed);
  Remembering model(window, live);
  Tick now = 0;
  for (int i = 0; i < 40; ++i) {
    now += random.below(window.span / 3);
    model.remember(Generations::since(now, random.below(window.lateness + 1)), random.below(9) == 0);
    if (random.below(5) == 0) model.generations.count_in_slack();
    now = model.generations.now();
  }
  return model.generations;
}

TEST(Generations, SavedAndLoadedTheyAreTheSame) {
  const Window window{.span = 100, .lateness = 20};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Generations original = some(window, 7, seed);
    const std::string bytes = own_bytes(original);
    Generations loaded(window, 7);
    Reader in = reader_of(bytes);
    loaded.load(in, 40);
    EXPECT_EQ(in.remaining(), 0u);
    EXPECT_TRUE(own_bytes(loaded) == bytes);
    EXPECT_EQ(loaded.now(), original.now());
    EXPECT_EQ(loaded.reading().effective, original.reading().effective);
    EXPECT_EQ(loaded.reading().dropped_in_slack, original.reading().dropped_in_slack);
    for (Tick t = original.now() - 20; t <= original.now() + 150; ++t) {
      ASSERT_EQ(loaded.reach(t), original.reach(t));
      ASSERT_EQ(loaded.must_open(t), original.must_open(t));
      ASSERT_EQ(loaded.age_of(t), original.age_of(t));
    }
  }
}

TEST(Generations, EmptyOnesAreSavedToo) {
  const std::string bytes = own_bytes(Generations({.span = 10}, 3));
  Generations loaded({.span = 10}, 3);
  Reader in = reader_of(bytes);
  loaded.load(in, 0);
  EXPECT_EQ(loaded.count(), 0u);
}

// What may not be: out of order, from the future, too many, of unknown tags.
TEST(Generations, DamagedOnesAreRefused) {
  const Window window{.span = 100, .lateness = 20};
  const std::string good = own_bytes(some(window, 7, 1));
  const auto load = [&](const std::string& bytes, std::uint64_t most_tag = 40, std::uint64_t live = 7) {
    Generations loaded(window, live);
    Reader in = reader_of(bytes);
    loaded.load(in, most_tag);
    return loaded;
  };
  const auto with = [&](std::size_t word, std::uint64_t value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + 8 * word, &value, 8);
    return bytes;
  };
  const Generations sound = load(good);
  ASSERT_GE(sound.count(), 3u);
  EXPECT_THROW(load(good, 1), Error);                      // tags
  EXPECT_THROW(load(good, 40, sound.count() - 1), Error);  // too many
  EXPECT_THROW(load(with(0, sound[0].first - 1)), Error);  // a clock before the newest
  EXPECT_THROW(load(with(3, kMostTick)), Error);           // a huge count
  EXPECT_THROW(load(with(4, sound[0].end + 1)), Error);    // ends before it begins
  EXPECT_THROW(load(with(8, sound[0].first + 1)), Error);  // begins after the newer one
  EXPECT_THROW(load(with(9, sound[0].end + 1)), Error);    // ends after the newer one
  for (std::size_t length = 0; length < good.size(); ++length) EXPECT_THROW(load(good.substr(0, length)), Error);

  // Anything else that loads also works.
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    try {
      Generations odd = load(with(random.below(good.size() / 8), random() >> random.below(64)), kMostTick);
      const Tick now = odd.now();
      odd.advance(now + 1);
      if (odd.must_open(now)) odd.open(now);
      ASSERT_LT(odd.age_of(now), odd.count());
      ASSERT_LE(odd.reach(now), odd.count());
      ASSERT_LE(odd.reading().effective, window.span);
    } catch (const Error&) {
    }
  }
}

TEST(Generations, WindowsAreSavedAndChecked) {
  const auto round_trip = [](const Window& window) {
    std::string bytes;
    Writer out = testing::writer_to(bytes);
    save_window(out, window);
    Reader in = reader_of(bytes);
    return load_window(in);
  };
  const Window window = round_trip({.span = 100, .lateness = 7, .slack = 0.25, .refresh = true});
  EXPECT_EQ(window.span, 100u);
  EXPECT_EQ(window.lateness, 7u);
  EXPECT_EQ(window.slack, 0.25);
  EXPECT_TRUE(window.refresh);
  EXPECT_TRUE(round_trip({}).endless());
  EXPECT_THROW(round_trip({.span = 0}), Error);
  EXPECT_THROW(round_trip({.span = 5, .slack = 0}), Error);
}

}  // namespace
}  // namespace nodup
