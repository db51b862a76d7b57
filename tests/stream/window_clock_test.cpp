// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/window_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::Random;

constexpr Tick kNow = 1'800'000'000'000'000'000;  // somewhen in 2027
constexpr Tick kSecond = 1'000'000'000;

// As a key leaves it when `times` are those of the records with one, and the records of `bad` have none.
Batch batch_of(std::size_t records, std::vector<std::size_t> bad = {}, std::vector<Tick> times = {},
               bool header = false) {
  Batch batch;
  for (std::size_t i = 0; i < records; ++i) batch.ends.push_back(2 * i + 1);
  batch.header = header ? 1 : 0;
  batch.digests.resize(records - bad.size() - batch.header);
  for (const std::size_t i : bad) batch.bad.push_back({i, "bad"});
  batch.ticks = std::move(times);
  return batch;
}

WindowClock clock_of(
    TimeBase base, Tick lateness = 0, Tick now = 0, std::function<Tick()> wall = [] { return kNow; }) {
  return {{.base = base, .lateness = lateness, .wall = std::move(wall)}, now};
}

using Ticks = std::vector<Tick>;
using Indexes = std::vector<std::size_t>;

TEST(WindowClock, WithoutAWindowThereAreNoTicks) {
  WindowClock clock = clock_of(TimeBase::none);
  Batch batch = batch_of(3);
  clock.refuse_future(batch);
  clock.stamp(batch);
  EXPECT_TRUE(batch.ticks.empty());
  EXPECT_TRUE(batch.bad.empty());
}

TEST(WindowClock, CountsAllRecordsButHeaders) {
  WindowClock clock = clock_of(TimeBase::records, 0, 100);
  Batch batch = batch_of(7, {1, 4, 6}, {}, true);  // a header, then bad, good, good, bad, good, bad
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{102, 103, 105}));
  EXPECT_EQ(clock.now(), 106u);
  batch = batch_of(2);
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{107, 108}));
  batch = batch_of(2, {0, 1});
  clock.stamp(batch);
  EXPECT_TRUE(batch.ticks.empty());
  EXPECT_EQ(clock.now(), 110u);
  EXPECT_TRUE(clock.late().empty());
}

TEST(WindowClock, ArrivalNeverGoesBack) {
  Tick wall = 50;
  WindowClock clock = clock_of(TimeBase::arrival, 0, 10, [&] { return wall; });
  Batch batch = batch_of(3, {1});
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{50, 50}));
  wall = 40;
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{50, 50}));
  wall = 60;
  clock.look();  // without a record
  EXPECT_EQ(clock.now(), 60u);
  wall = 55;
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{60, 60}));
}

// The state of yesterday's run may be ahead of a clock that was set back.
TEST(WindowClock, GoesOnFromTheFilter) {
  WindowClock arrival = clock_of(TimeBase::arrival, 0, kNow + 5), event = clock_of(TimeBase::event, 10, 1000);
  Batch batch = batch_of(1);
  arrival.stamp(batch);
  EXPECT_EQ(batch.ticks, Ticks{kNow + 5});
  batch = batch_of(2, {}, {989, 990});
  event.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{990, 990}));
  EXPECT_EQ(event.late(), Indexes{0});
}

TEST(WindowClock, OnlyArrivalGoesOnWithoutRecords) {
  for (const TimeBase base : {TimeBase::records, TimeBase::event, TimeBase::none}) {
    WindowClock clock = clock_of(base, 0, 7);
    clock.look();
    EXPECT_EQ(clock.now(), 7u);
  }
}

TEST(WindowClock, LateEventsAreJudgedAtTheEdge) {
  WindowClock clock = clock_of(TimeBase::event, 10);
  Batch batch = batch_of(6, {}, {100, 90, 89, 120, 109, 110});
  clock.stamp(batch);
  EXPECT_EQ(batch.ticks, (Ticks{100, 90, 90, 120, 110, 110}));
  EXPECT_EQ(clock.late(), (Indexes{2, 4}));
  EXPECT_EQ(clock.now(), 120u);
  batch = batch_of(1, {}, {115});
  clock.stamp(batch);
  EXPECT_TRUE(clock.late().empty()) << "those of the batch before";
}

TEST(WindowClock, TimesToComeAreBadRecords) {
  const WindowClock clock = clock_of(TimeBase::event, 5 * kSecond);
  // A header, then: fine, the last that is fine, one too many, bad already (its tick means nothing), fine.
  Batch batch = batch_of(6, {4}, {}, true);
  batch.ticks = {kNow + 99 * kSecond, kNow, kNow + 5 * kSecond, kNow + 5 * kSecond + 1, UINT64_MAX, 3};
  clock.refuse_future(batch);
  ASSERT_EQ(batch.bad.size(), 2u);
  EXPECT_EQ(batch.bad[0].index, 3u);
  EXPECT_EQ(
      batch.bad[0].reason,
      "its time 2027-01-15T08:00:05.000000001Z lies in the future: here it is 2027-01-15T08:00:00Z, and --lateness "
      "allows 5s");
  EXPECT_EQ(batch.bad[1].index, 4u);
  EXPECT_EQ(batch.bad[1].reason, "bad");
}

TEST(WindowClock, NoTimeIsTooLateForAnEndlessLateness) {
  const WindowClock clock = clock_of(TimeBase::event, UINT64_MAX - 5);
  Batch batch = batch_of(2, {}, {UINT64_MAX, 0});
  clock.refuse_future(batch);
  EXPECT_TRUE(batch.bad.empty());
}

// However the stream is cut: the same ticks, the same late ones.
TEST(WindowClock, CutsDoNotMatter) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    Ticks times;
    for (std::uint64_t n = 1 + random.below(60); n > 0; --n) times.push_back(1000 + random.below(100));
    const Tick lateness = random.below(60);
    WindowClock whole = clock_of(TimeBase::event, lateness), pieces = clock_of(TimeBase::event, lateness);
    Batch all = batch_of(times.size(), {}, times);
    whole.stamp(all);
    Ticks ticks;
    Indexes late;
    for (std::size_t from = 0; from < times.size();) {
      const std::size_t to = std::min<std::size_t>(times.size(), from + 1 + random.below(9));
      Batch piece = batch_of(
          to - from, {},
          Ticks(times.begin() + static_cast<std::ptrdiff_t>(from), times.begin() + static_cast<std::ptrdiff_t>(to)));
      pieces.stamp(piece);
      ticks.insert(ticks.end(), piece.ticks.begin(), piece.ticks.end());
      for (const std::size_t i : pieces.late()) late.push_back(from + i);
      from = to;
    }
    ASSERT_EQ(ticks, all.ticks);
    ASSERT_EQ(late, whole.late());
    // And as it should be: never further behind the latest than the lateness.
    Tick latest = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      latest = std::max(latest, times[i]);
      ASSERT_EQ(ticks[i], std::max(times[i], latest - std::min(latest, lateness)));
    }
  }
}

}  // namespace
}  // namespace nodup
