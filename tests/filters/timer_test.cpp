// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/timer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "nodup/theory/timer.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::own_bytes;
using testing::Random;

struct Event {
  std::uint64_t key;
  Tick time;
};

Digest digest(std::uint64_t key) { return KeyMaker(key)(); }

// Of each key, the latest time of an event that was passed (or seen), beside what the filter says.
struct Watched {
  explicit Watched(const Timer::Params& p) : filter(p), window(p.window), slack(Timer::slack(p)) {}

  bool insert(const Event& event, Tick lateness_used = 0) {
    filter.make_room(1);
    const auto [last, first_time] = passed.try_emplace(event.key, 0);
    const bool duplicate = !first_time && last->second + window.span >= event.time;
    const bool forgotten = first_time || static_cast<double>(last->second + lateness_used) +
                                                 static_cast<double>(window.span) * (1 + slack) + 1 <
                                             static_cast<double>(event.time);
    const bool is_new = filter.insert(digest(event.key), event.time);
    false_negatives += duplicate && is_new;
    duplicates += duplicate;
    false_positives += forgotten && !is_new;
    forgotten_keys += forgotten;
    if (is_new || window.refresh) last->second = std::max(last->second, event.time);
    return is_new;
  }

  Timer filter;
  Window window;
  double slack;
  std::map<std::uint64_t, Tick> passed;
  std::uint64_t false_negatives = 0, duplicates = 0, false_positives = 0, forgotten_keys = 0;
};

TEST(Timer, NothingPassedWithinTheWindowIsNewAndNothingIsKeptBeyondTheSlack) {
  for (const bool refresh : {false, true}) {
    for (const Tick step : {1u, 7u, 100u, 3000u}) {
      SCOPED_TRACE(step);
      const Window window{.span = 5000, .refresh = refresh};
      Watched watched(Timer::fit({.keys = 5000 / step + 1, .error = 1e-9, .window = window}));
      Random random(step);
      for (Tick t = 1; t < 400 * std::max<Tick>(step, 100); t += 1 + random.below(2 * step))
        watched.insert({random.below(3 * (5000 / step + 1)), t});
      EXPECT_EQ(watched.false_negatives, 0u);
      EXPECT_EQ(watched.false_positives, 0u);
      EXPECT_GT(watched.duplicates, 20u);
      EXPECT_GT(watched.forgotten_keys, 20u);
      EXPECT_EQ(watched.filter.window().effective, 5000u);
    }
  }
}

TEST(Timer, SlackOfEightPercentTakesFourBitsPerCell) {
  const Timer::Params p = Timer::fit({.keys = 1'000'000, .error = 1e-3, .window = {.span = 1'000'000'000}});
  EXPECT_EQ(p.generations, 14u);
  EXPECT_EQ(p.width(), 4u);
  EXPECT_NEAR(Timer::slack(p), 1 / 13.0, 1e-6);
  // 14.4 cells per key held, of 4 bits; 61 % of the error; 1 / 13 more keys.
  const double bits = 8.0 * static_cast<double>(Timer::bytes(p)) / 1e6;
  EXPECT_NEAR(bits, 4 * 1.4427 * std::log2(1e3 / 0.6079) * 14 / 13, 0.3);
}

// The paper's w = 1000 and delays up to 400 (papers: plain overwriting gave 41 false negatives of 2901 duplicates).
TEST(Timer, LateEventsAreJudgedByTheirOwnTime) {
  const Window window{.span = 1000, .lateness = 400};
  // A high error: many keys share cells, which is what overwriting would spoil.
  Watched watched(Timer::fit({.keys = 1000, .error = 0.05, .window = window}));
  Random random(3);
  for (Tick now = 401; now < 20'000; ++now) watched.insert({random.below(3000), now - random.below(401)});
  EXPECT_EQ(watched.false_negatives, 0u);
  EXPECT_GT(watched.duplicates, 2500u);
}

// The newer of two keys that share cells must not be forgotten with the older one, which came later.
TEST(Timer, ALateKeyDoesNotMakeSharedCellsOlder) {
  Timer::Params p{.cells = 12, .probes = 2, .keys = 1, .error = 0.5, .window = {.span = 100, .lateness = 80}};
  p.generations = 254;
  std::uint64_t asked = 0, kept = 0, late_ones = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Timer filter(p);  // no room is made: everything shares the few cells
    filter.insert(digest(3 * i), 925);
    if (!filter.insert(digest(3 * i + 1), 1000)) continue;
    ++asked;
    late_ones += filter.insert(digest(3 * i + 2), 925);
    kept += filter.contains(digest(3 * i + 1), 1100);
  }
  EXPECT_EQ(kept, asked);
  EXPECT_GT(late_ones, 100u);
}

// A tag that is given out again while an older stage, which is not swept, still has cells with it.
TEST(Timer, AClosedStageDoesNotComeBackToLife) {
  Watched watched(Timer::fit({.keys = 1000, .error = 1e-9, .window = {.span = 1300}}));
  std::uint64_t most = 0, seen = 0;
  for (Tick t = 1; t < 6000; ++t) {
    for (std::uint64_t i = 0; i < (t < 1300 ? 2 : 1); ++i) watched.insert({10 * t + i, t});
    if (t > 1450) seen += watched.filter.contains(digest(10 * (t - 1450)), t);
    most = std::max(most, watched.filter.stages());
  }
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(seen, 0u);
  EXPECT_EQ(watched.false_negatives, 0u);
}

TEST(Timer, AnIdleNightForgetsEverythingAndCostsNothing) {
  const Window window{.span = 1000};
  Watched watched(Timer::fit({.keys = 1000, .error = 1e-9, .window = window}));
  Tick t = 0;
  for (int night = 0; night < 50; ++night) {
    for (std::uint64_t i = 0; i < 900; ++i) watched.insert({i, ++t});
    t += 1100 + 77777 * static_cast<Tick>(night);
    if (night % 2 == 0) watched.filter.advance(t);
    EXPECT_FALSE(watched.filter.contains(digest(899), t));
  }
  EXPECT_EQ(watched.false_positives, 0u);
  EXPECT_EQ(watched.false_negatives, 0u);
  EXPECT_EQ(watched.filter.stages(), 1u);
  watched.filter.advance(t + 1);
  EXPECT_EQ(watched.filter.keys(), 0u);
  EXPECT_EQ(watched.filter.rates().false_positive, 0);
}

// An array that takes 64 events for a sweep, and a stream with hardly an event per generation: tags are always short.
TEST(Timer, ATagIsUsedAgainOnlyWhenNoCellCarriesIt) {
  Timer::Params p = Timer::fit({.keys = 200'000, .error = 1e-9, .window = {.span = 1000}});
  ASSERT_GT(p.cells, 64 * Timer::kMostSweep);
  for (const Tick step : {5u, 60u, 200u, 990u, 1500u}) {
    SCOPED_TRACE(step);
    Watched watched(p);
    Random random(step);
    Tick t = 1;
    std::uint64_t resurrected = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      // Each key comes once; each is asked for again long after.
      watched.insert({i, t});
      if (i >= 600) resurrected += watched.filter.contains(digest(i - 600), t);
      if (i >= 1 && step <= 900) {
        EXPECT_TRUE(watched.filter.contains(digest(i - 1), t));
      }
      t += 1 + random.below(step);
    }
    // Long after: beyond any extension of a generation, by the events of two sweeps.
    EXPECT_EQ(resurrected, 0u);
    EXPECT_EQ(watched.false_negatives, 0u);
  }
}

std::uint64_t run_slots(Timer& filter, Tick& now, Tick slots, std::uint64_t per_slot, Random& random,
                        std::uint64_t domain) {
  std::uint64_t most = 0;
  for (Tick end = now + slots; now < end; ++now) {
    for (std::uint64_t i = 0; i < per_slot; ++i) {
      filter.make_room(1);
      filter.insert(digest(random.below(domain)), now);
    }
    most = std::max(most, filter.stages());
  }
  return most;
}

TEST(Timer, GrowsInABurstKeepsItsErrorAndComesBack) {
  const Goal goal{.keys = 1000, .error = 0.01, .window = {.span = 1000}};
  Timer filter(Timer::fit(goal));
  const std::uint64_t base = filter.bytes();
  Random random(5);
  Tick now = 1;
  const auto expect_error = [&] {
    std::uint64_t seen = 0;
    constexpr std::uint64_t kProbes = 100'000;
    KeyMaker fresh(now);
    for (std::uint64_t i = 0; i < kProbes; ++i) seen += filter.contains(fresh());
    const double told = filter.rates().false_positive, measured = static_cast<double>(seen) / kProbes;
    EXPECT_LE(told, 0.01);
    EXPECT_NEAR(measured, told, 5 * std::sqrt(told / kProbes) + 0.05 * told);
  };
  EXPECT_EQ(run_slots(filter, now, 5000, 1, random, UINT64_MAX), 1u);
  expect_error();
  for (int burst = 0; burst < 3; ++burst) {
    EXPECT_GT(run_slots(filter, now, 3000, 20, random, UINT64_MAX), 1u);
    EXPECT_GT(filter.bytes(), base);
    expect_error();
    run_slots(filter, now, 3000, 1, random, UINT64_MAX);
    EXPECT_EQ(filter.stages(), 1u);
    EXPECT_EQ(filter.bytes(), base);
    expect_error();
  }
}

// A stage of the first burst is still there, with the share of the error that its number has, when the second one
// comes.
TEST(Timer, KeepsItsErrorWhenABurstFollowsTheOneBefore) {
  Timer filter(Timer::fit({.keys = 1000, .error = 0.01, .window = {.span = 1000}}));
  Random random(13);
  Tick now = 1;
  run_slots(filter, now, 300, 20, random, UINT64_MAX);
  // The first stage goes; then the second, and with it a first one comes.
  while (filter.stages() > 2) run_slots(filter, now, 1, 1, random, UINT64_MAX);
  const std::uint64_t bytes = filter.bytes();
  while (filter.bytes() == bytes && now < 10'000) run_slots(filter, now, 1, 1, random, UINT64_MAX);
  ASSERT_EQ(filter.stages(), 2u);
  for (int i = 0; i < 18; ++i) {
    run_slots(filter, now, 50, 25, random, UINT64_MAX);
    EXPECT_LE(filter.rates().false_positive, 0.01) << i;
  }
  EXPECT_GT(filter.stages(), 3u);
}

TEST(Timer, HoldsItsWindowThroughGrowthAndShrinking) {
  for (const bool refresh : {false, true}) {
    const Window window{.span = 3000, .lateness = 400, .refresh = refresh};
    Watched watched(Timer::fit({.keys = 100, .error = 1e-9, .window = window}));
    Random random(6);
    Tick now = 401;
    std::uint64_t most = 0;
    for (int phase = 0; phase < 10; ++phase) {
      const bool burst = phase % 3 == 1;
      for (const Tick end = now + 4000; now < end; now += burst ? 1 : 5)
        for (int i = 0; i < (burst ? 2 : 1); ++i)
          watched.insert({random.below(burst ? 20'000 : 50), now - random.below(401)}, 400);
      most = std::max(most, watched.filter.stages());
    }
    EXPECT_GT(most, 1u);
    EXPECT_EQ(watched.filter.stages(), 1u);
    EXPECT_EQ(watched.false_negatives, 0u);
    EXPECT_EQ(watched.false_positives, 0u);
    EXPECT_GT(watched.duplicates, 1000u);
  }
}

TEST(Timer, UnderAMemoryLimitItGoesOnAndTellsTheErrorItHas) {
  Goal goal{.keys = 1000, .error = 1e-4, .window = {.span = 1000}};
  goal.bytes = 3 * Timer::bytes(Timer::fit(goal));
  Timer filter(Timer::fit(goal));
  Random random(7);
  Tick now = 1;
  for (int round = 0; round < 10; ++round) {
    run_slots(filter, now, 300, 30, random, UINT64_MAX);
    EXPECT_LE(filter.bytes(), goal.bytes);
  }
  const double told = filter.rates().false_positive;
  EXPECT_GT(told, 1e-3);
  std::uint64_t seen = 0;
  constexpr std::uint64_t kProbes = 100'000;
  KeyMaker fresh(8);
  for (std::uint64_t i = 0; i < kProbes; ++i) seen += filter.contains(fresh());
  EXPECT_NEAR(static_cast<double>(seen) / kProbes, told, 5 * std::sqrt(told / kProbes) + 0.05 * told);
  // The rest of a burst passes like any other.
  run_slots(filter, now, 3000, 1, random, UINT64_MAX);
  EXPECT_LE(filter.rates().false_positive, 1e-4);
}

TEST(Timer, EqualTimersTradeFalsePositivesForFalseNegatives) {
  for (const std::uint64_t equal : {2u, 3u, 4u}) {
    SCOPED_TRACE(equal);
    Timer::Params p{.cells = 40'000, .probes = 8, .keys = 5000, .error = 0.05, .window = {.span = 2000}};
    p.generations = 254;
    p.equal = equal;
    Timer filter(p);
    KeyMaker keys(9);
    std::vector<std::pair<Digest, Tick>> passed;
    for (Tick t = 1; t <= 6000; ++t)
      for (int i = 0; i < 2; ++i) {
        const Digest d = keys();
        if (filter.insert(d, t) && t + 2000 >= 6000) passed.emplace_back(d, t);
      }
    std::uint64_t missed = 0, seen = 0;
    for (const auto& [d, t] : passed) missed += !filter.contains(d);
    constexpr std::uint64_t kProbes = 200'000;
    for (std::uint64_t i = 0; i < kProbes; ++i) seen += filter.contains(keys());
    const Rates told = filter.rates();
    const auto near = [](std::uint64_t count, std::uint64_t of, double rate) {
      const double n = static_cast<double>(of);
      EXPECT_NEAR(static_cast<double>(count) / n, rate, 5 * std::sqrt(rate / n) + 0.05 * rate);
    };
    near(seen, kProbes, told.false_positive);
    near(missed, passed.size(), told.false_negative);
    EXPECT_GT(missed, 0u);
    EXPECT_LT(told.false_positive, 0.5 * std::pow(0.6, 8));
    // The plan, by its model of even generations, says about the same.
    EXPECT_NEAR(Timer::rates(p, 4000).false_negative, told.false_negative, 0.1 * told.false_negative);
  }
}

TEST(Timer, ForOneDrawPerShareTheTheoryIsABirthdayProblem) {
  const std::vector<double> days(365, 1.0 / 365);
  EXPECT_NEAR(theory::draws_spread(days, 23, 1), 1 - 0.507297, 1e-6);
  EXPECT_NEAR(theory::draws_spread(days, 5, 5), 1, 1e-9);
}

std::vector<Event> bursty_stream(std::uint64_t seed) {
  std::vector<Event> stream;
  Random random(seed);
  Tick now = 100;
  for (int phase = 0; phase < 8; ++phase) {
    const std::uint64_t rate = phase % 2 == 1 ? 25 : 1;
    for (const Tick end = now + (rate > 1 ? 400 : 800); now < end; ++now)
      for (std::uint64_t i = 0; i < rate; ++i) stream.push_back({random.below(8000), now - random.below(50)});
    if (phase == 5) now += 100'000;
  }
  return stream;
}

Timer::Params bursty_params() {
  return Timer::fit({.keys = 150, .error = 0.05, .window = {.span = 200, .lateness = 50}});
}

TEST(Timer, HowTheStreamIsCutChangesNothing) {
  const std::vector<Event> stream = bursty_stream(11);
  Timer single(bursty_params());
  std::vector<bool> answers;
  int opened = 0, came_back = 0;
  for (const Event& event : stream) {
    single.make_room(1);
    const std::uint64_t stages = single.stages(), bytes = single.bytes();
    answers.push_back(single.insert(digest(event.key), event.time));
    opened += single.stages() > stages;
    came_back += single.bytes() < bytes && single.bytes() == Timer::bytes(bursty_params());
  }
  EXPECT_GT(opened, 4);
  EXPECT_GT(came_back, 1);
  for (const std::size_t batch : {13u, 700u, 6000u, 100'000u}) {
    Timer batched(bursty_params());
    for (std::size_t from = 0; from < stream.size(); from += batch) {
      const std::size_t to = std::min(from + batch, stream.size());
      batched.make_room(to - from);
      for (std::size_t i = from; i < to; ++i) {
        // Telling the time first is telling it once.
        if (i % 3 == 0) batched.advance(stream[i].time);
        ASSERT_EQ(batched.insert(digest(stream[i].key), stream[i].time), answers[i]) << batch << ' ' << i;
      }
    }
    EXPECT_TRUE(own_bytes(batched) == own_bytes(single)) << batch;
  }
}

TEST(Timer, SavedAtAnyMomentItGoesOnAsIfNothingHadHappened) {
  const std::vector<Event> stream = bursty_stream(12);
  Timer original(bursty_params());
  auto reloaded = std::make_unique<Timer>(bursty_params());
  std::size_t saved_with_stages = 0;
  std::unique_ptr<Timer> rest_at_once;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (i % 997 == 0) {
      const std::string bytes = own_bytes(*reloaded);
      saved_with_stages += reloaded->stages() > 1;
      reloaded = std::make_unique<Timer>(testing::loaded<Timer>(bytes));
      ASSERT_TRUE(own_bytes(*reloaded) == bytes) << i;
      ASSERT_TRUE(own_bytes(original) == bytes) << i;
      EXPECT_EQ(reloaded->rates().false_positive, original.rates().false_positive);
      EXPECT_EQ(reloaded->keys(), original.keys());
      // A large stage alone: those below it have to be made again for the next burst.
      if (original.stages() == 1 && original.bytes() > Timer::bytes(bursty_params()) && !rest_at_once) {
        rest_at_once = std::make_unique<Timer>(testing::loaded<Timer>(bytes));
        rest_at_once->make_room(stream.size() - i);
        for (std::size_t j = i; j < stream.size(); ++j) rest_at_once->insert(digest(stream[j].key), stream[j].time);
      }
    }
    original.make_room(1);
    reloaded->make_room(1);
    ASSERT_EQ(reloaded->insert(digest(stream[i].key), stream[i].time),
              original.insert(digest(stream[i].key), stream[i].time));
  }
  EXPECT_GT(saved_with_stages, 2u);
  ASSERT_TRUE(rest_at_once);
  EXPECT_TRUE(own_bytes(*rest_at_once) == own_bytes(original));
}

}  // namespace
}  // namespace nodup
