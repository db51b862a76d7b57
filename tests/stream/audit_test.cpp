// SPDX-License-Identifier: Apache-2.0
//
// The audit against the truth. Verdicts are made up: right, but for errors thrown in, so that what is to be measured is
// known. tests/stream/pipeline_window_test.cpp follows all keys through the pipeline; experiments/audit measures how
// often the intervals hold the true rates of real filters.
#include "nodup/stream/audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/stream/generate.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::Oracle;
using testing::Random;
using testing::WindowOracle;

struct Truth {
  double fresh = 0, lost = 0, duplicates = 0, passed = 0;
  double false_positive() const { return lost / fresh; }
  double false_negative() const { return passed / duplicates; }
};

void tell(Audit& audit, Digest key, Tick t, bool is_new) { audit.observe({&key, 1}, &t, &is_new); }

void expect_exactly(const std::optional<Interval>& measured, double rate) {
  ASSERT_TRUE(measured);
  EXPECT_DOUBLE_EQ(measured->value, rate);
  EXPECT_EQ(measured->low, measured->value);
  EXPECT_EQ(measured->high, measured->value);
}

TEST(Audit, FollowingAllKeysIsExact) {
  for (const std::size_t distinct : {10, 1000, 60'000}) {
    Audit audit({.rate = 1});
    Oracle oracle;
    Truth truth;
    Random random(distinct);
    for (const Digest& key : testing::stream_with_duplicates(100'000, distinct, 7)) {
      const bool fresh = oracle.insert(key);
      const bool is_new = fresh != (random.below(8) == 0);
      (fresh ? truth.fresh : truth.duplicates) += 1;
      truth.lost += fresh && !is_new;
      truth.passed += !fresh && is_new;
      tell(audit, key, 0, is_new);
    }
    const AuditReading reading = audit.reading();
    EXPECT_EQ(reading.rate, 1);
    EXPECT_EQ(reading.keys, oracle.keys());
    expect_exactly(reading.false_positive, truth.false_positive());
    expect_exactly(reading.false_negative, truth.false_negative());
  }
}

// Out of order within the lateness. Few keys, so that none is pushed out of the cache of frequent ones, and many.
TEST(Audit, FollowingAllKeysOfAWindowIsExact) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const bool many = round % 2 == 0;
    const Window window{.span = 1 + random.below(3000),
                        .lateness = many ? 0 : random.below(200),
                        .slack = 0.1,
                        .refresh = random.below(2) == 0};
    const Tick reach =
        window.span + static_cast<Tick>(std::ceil(0.1 * static_cast<double>(window.span))) + window.lateness;
    Audit audit({.rate = 1, .window = window});
    WindowOracle oracle(window);
    Truth truth;
    Tick now = 1'000'000;
    const std::size_t distinct = many ? 20'000 : 50;
    for (const Digest& key : testing::stream_with_duplicates(40'000, distinct, 100 + static_cast<unsigned>(round))) {
      now += random.below(many ? 2 : 60);
      const Tick t = now - random.below(window.lateness + 1);
      const bool duplicate = oracle.contains(key, t), fresh = !oracle.within(key, t, reach);
      const bool is_new = duplicate == (random.below(8) == 0);
      truth.duplicates += duplicate;
      truth.passed += duplicate && is_new;
      truth.fresh += fresh;
      truth.lost += fresh && !is_new;
      oracle.note(key, t, is_new);
      tell(audit, key, t, is_new);
    }
    const AuditReading reading = audit.reading();
    ASSERT_NO_FATAL_FAILURE(expect_exactly(reading.false_positive, truth.false_positive())) << round;
    ASSERT_NO_FATAL_FAILURE(expect_exactly(reading.false_negative, truth.false_negative())) << round;
  }
}

// What is left after halving is what would have been followed at the lower rate from the start.
TEST(Audit, HalvedIsAsIfItHadBeenSo) {
  for (const bool timed : {false, true}) {
    const Window window = timed ? Window{.span = 5000} : Window{};
    Audit halved({.rate = 0.5, .window = window, .most_keys = 300});
    Audit low({.rate = 1.0 / 128, .window = window, .most_keys = 300});
    Random random(5);
    Tick now = 0;
    for (const Digest& key : testing::stream_with_duplicates(60'000, 30'000, 8)) {
      const bool is_new = random.below(2) == 0;
      tell(halved, key, ++now, is_new);
      tell(low, key, now, is_new);
      if (now % 1000 == 0) {
        ASSERT_LE(halved.reading().keys, 300u);
      }
    }
    const AuditReading a = halved.reading(), b = low.reading();
    EXPECT_EQ(a.rate, b.rate);
    EXPECT_EQ(a.rate, 1.0 / 128);
    EXPECT_EQ(a.keys, b.keys);
    EXPECT_EQ(a.false_positive->value, b.false_positive->value);
    EXPECT_EQ(a.false_positive->high, b.false_positive->high);
    EXPECT_EQ(a.false_negative->value, b.false_negative->value);
    EXPECT_EQ(a.false_negative->low, b.false_negative->low);
  }
}

TEST(Audit, BatchesMakeNoDifference) {
  const std::vector<Digest> keys = testing::stream_with_duplicates(50'000, 20'000, 9);
  const auto is_new = std::make_unique<bool[]>(keys.size());
  Random random(6);
  std::generate_n(is_new.get(), keys.size(), [&] { return random.below(3) == 0; });
  Audit one({.rate = 1.0 / 16}), many({.rate = 1.0 / 16});
  one.observe(keys, nullptr, is_new.get());
  for (std::size_t from = 0; from < keys.size();) {
    const std::size_t n = std::min<std::size_t>(random.below(100), keys.size() - from);
    many.observe(std::span(keys).subspan(from, n), nullptr, is_new.get() + from);
    from += n;
  }
  EXPECT_EQ(one.reading().keys, many.reading().keys);
  EXPECT_EQ(one.reading().false_negative->value, many.reading().false_negative->value);
  EXPECT_EQ(one.reading().false_positive->high, many.reading().false_positive->high);
}

TEST(Audit, SaysNothingAboutNothing) {
  Audit audit({});
  EXPECT_FALSE(audit.reading().false_positive);
  EXPECT_FALSE(audit.reading().false_negative);
  // One key, not in the sample: its second event is frequent, its first one of the others, and may be anything.
  const Digest key = KeyMaker(1)();
  tell(audit, key, 0, true);
  tell(audit, key, 0, true);
  ASSERT_EQ(audit.reading().keys, 0u);
  EXPECT_FALSE(audit.reading().false_positive);
  const Interval passed = *audit.reading().false_negative;
  EXPECT_EQ(passed.value, 1);
  EXPECT_EQ(passed.low, 0.5);
  EXPECT_EQ(passed.high, 1);
}

TEST(Audit, RefusesSharesThatMakeNoSense) {
  for (const double rate : {0.0, -0.1, 1.1, std::nan("")}) EXPECT_THROW(Audit({.rate = rate}), Error) << rate;
  Audit least({.rate = 1e-30});  // less than one key of all there can be
  EXPECT_GT(least.reading().rate, 0);
}

// How often the intervals hold the true rates. Whether an event is judged wrongly depends on its key, so errors
// cluster; frequent keys are judged better, as by a filter that forgets.
struct Coverage {
  double false_positive = 0, false_negative = 0;  // shares of the streams
};

Coverage coverage(StreamShape::Shape shape, double distinct, int streams) {
  constexpr std::uint64_t kEvents = 10'000;
  Coverage held;
  for (int stream = 1; stream <= streams; ++stream) {
    const auto seed = static_cast<std::uint64_t>(stream);
    EventGenerator events({.events = kEvents, .distinct = distinct, .shape = shape, .seed = seed});
    Audit audit({.rate = 1.0 / 32});
    std::unordered_map<std::uint64_t, std::uint64_t> latest;
    Truth truth;
    Random random(seed);
    for (std::uint64_t i = 1; i <= kEvents; ++i) {
      const std::uint64_t id = events.next_key();
      const Digest key = KeyMaker(id * 1000 + seed)();
      const auto [place, fresh] = latest.try_emplace(id, i);
      const double badness = 0.5 * static_cast<double>(key.hi >> 11) / (std::uint64_t{1} << 53);
      const double age = static_cast<double>(i - place->second) / kEvents;
      place->second = i;
      const bool wrong = static_cast<double>(random.below(1 << 20)) < (fresh ? 0.2 : badness + age) * (1 << 20);
      (fresh ? truth.fresh : truth.duplicates) += 1;
      truth.lost += fresh && wrong;
      truth.passed += !fresh && wrong;
      tell(audit, key, 0, fresh != wrong);
    }
    const AuditReading reading = audit.reading();
    const auto holds = [](const std::optional<Interval>& measured, double rate) {
      return measured && measured->low <= rate && rate <= measured->high;
    };
    held.false_positive += holds(reading.false_positive, truth.false_positive());
    held.false_negative += holds(reading.false_negative, truth.false_negative());
  }
  return {held.false_positive / streams, held.false_negative / streams};
}

// At 5 sigma of 200 streams. Intervals of which none ever fails would be too wide.
TEST(Audit, IntervalsHoldTheTrueRates) {
  using Shape = StreamShape::Shape;
  constexpr int kStreams = 200;
  const double least = 0.95 - 5 * std::sqrt(0.95 * 0.05 / kStreams);
  double failed = 0;
  for (const auto& [shape, distinct] :
       {std::pair(Shape::uniform, 0.15), std::pair(Shape::uniform, 0.6), std::pair(Shape::zipf, 0.4)}) {
    const Coverage held = coverage(shape, distinct, kStreams);
    EXPECT_GE(held.false_positive, least) << distinct;
    EXPECT_GE(held.false_negative, least) << distinct;
    failed += 2 - held.false_positive - held.false_negative;
  }
  EXPECT_GE(failed / 6, 0.01);
}

}  // namespace
}  // namespace nodup
