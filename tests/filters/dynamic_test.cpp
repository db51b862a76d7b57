// SPDX-License-Identifier: Apache-2.0
//
// What the laws cannot see of the counting and the dynamic filter: counters, the row of filters, and who may be erased.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "nodup/filters/dynamic.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::loaded;
using testing::own_bytes;

TEST(CounterArray, CountsUpAndDownBesideItsNeighbours) {
  CounterArray counters(40);
  EXPECT_EQ(counters.bytes(), 24u);
  for (int i = 0; i < 3; ++i) counters.increment(7);
  EXPECT_EQ(counters.increment(8), 0u);
  EXPECT_EQ(counters.get(6), 0u);
  EXPECT_EQ(counters.get(7), 3u);
  EXPECT_EQ(counters.get(8), 1u);
  EXPECT_EQ(counters.decrement(8), 1u);
  EXPECT_EQ(counters.decrement(8), 0u);
  EXPECT_EQ(counters.get(8), 0u);
  EXPECT_EQ(counters.get(7), 3u);
  EXPECT_EQ(counters.count_above_zero(), 1u);
  EXPECT_TRUE(counters.zero_from(8));
  EXPECT_FALSE(counters.zero_from(7));
}

TEST(CounterArray, ASaturatedCounterStays) {
  CounterArray counters(16);
  for (int i = 0; i < 20; ++i) counters.increment(3);
  EXPECT_EQ(counters.get(3), CounterArray::kMost);
  EXPECT_EQ(counters.count_saturated(), 1u);
  counters.decrement(3);
  EXPECT_EQ(counters.get(3), CounterArray::kMost);
  EXPECT_EQ(counters.get(2), 0u);
  EXPECT_EQ(counters.get(4), 0u);
}

TEST(CounterArray, SumsSaturateOneByOne) {
  CounterArray a(256), b(256);
  for (unsigned i = 0; i < 256; ++i) {
    for (unsigned n = 0; n < i / 16; ++n) a.increment(i);
    for (unsigned n = 0; n < i % 16; ++n) b.increment(i);
  }
  EXPECT_EQ(a.count_above_zero(b), 255u);
  a.add(b);
  EXPECT_EQ(a.count_above_zero(), 255u);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(a.get(i), std::min(15u, i / 16 + i % 16)) << i;
}

void fill(Dynamic& filter, const std::vector<Digest>& keys) {
  for (const Digest& key : keys) {
    filter.make_room(1);
    filter.insert(key);
  }
}

// Keys come and go in an order in which no erase after the first empties a counter of its own.
TEST(Counting, KeysAreAdditionsLessRemovals) {
  Counting filter({.bits = 64, .probes = 2, .keys = 4});
  KeyMaker make(20);
  const std::vector<Digest> keys = make.make(30);
  for (const Digest& key : keys) filter.add(key);
  filter.add(keys[0]);
  EXPECT_EQ(filter.keys(), 31u);
  std::uint64_t removed = 0;
  for (const Digest& key : keys) removed += filter.erase(key) == Erased::removed;
  EXPECT_EQ(removed, 30u);
  EXPECT_EQ(filter.keys(), 1u);
  EXPECT_EQ(filter.erase(keys[0]), Erased::removed);
  EXPECT_EQ(filter.keys(), 0u);
}

TEST(Counting, KeysNeverFallBelowNone) {
  Counting filter({.bits = 64, .probes = 2, .keys = 4});
  for (int i = 0; i < 20; ++i) filter.add({1, 2});
  EXPECT_EQ(filter.saturated(), 2u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(filter.erase({1, 2}), Erased::removed) << "its counters stay";
  EXPECT_EQ(filter.keys(), 0u);
  EXPECT_EQ(own_bytes(loaded<Counting>(own_bytes(filter))), own_bytes(filter));
}

TEST(Counting, KeysWithoutCountersAreDamage) {
  Counting filter({.bits = 64, .probes = 2, .keys = 4});
  std::string bytes = own_bytes(filter);
  EXPECT_NO_THROW(loaded<Counting>(bytes));
  bytes[24] = 1;  // keys held
  EXPECT_THROW(loaded<Counting>(bytes), Error);
}

// Within five sigma of what it says itself, the FP of the whole being 1 - (1 - P of the full ones)^{s-1} (1 - P last).
void expect_measured(const Dynamic& filter, std::size_t probes, std::uint64_t seed) {
  KeyMaker make(seed);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < probes; ++i) wrong += filter.contains(make());
  const double expected = static_cast<double>(probes) * filter.rates().false_positive;
  EXPECT_NEAR(static_cast<double>(wrong), expected, 5 * std::sqrt(expected));
}

TEST(Dynamic, MeasuredErrorIsTheReportedOne) {
  for (const std::size_t keys : {500, 1000, 2500, 8000}) {
    Dynamic filter(Dynamic::fit({.keys = 1000, .error = 1e-2}));
    fill(filter, KeyMaker(1).make(keys));
    EXPECT_EQ(filter.filters() == 1, keys <= 1000) << keys;
    expect_measured(filter, 200'000, 2);
  }
}

// What was planned is one filter; ten and a hundred times as much is a row whose total error keeps its bound.
TEST(Dynamic, KeepsTheTotalErrorAtTenAndAHundredTimesThePlan) {
  for (const double error : {1e-1, 1e-2, 1e-4}) {
    Dynamic filter(Dynamic::fit({.keys = 300, .error = error}));
    KeyMaker make(3);
    fill(filter, make.make(300));
    EXPECT_EQ(filter.filter_count(), 1u);
    fill(filter, make.make(2700));
    EXPECT_LE(filter.rates().false_positive, error);
    expect_measured(filter, 100'000, 4);
    fill(filter, make.make(27'000));
    EXPECT_LE(filter.rates().false_positive, error);
    expect_measured(filter, 30'000, 5);
    // None was opened before those before it were full, but for chance.
    double capacity = 0;
    const auto keys = static_cast<double>(filter.keys());  // less than came: false positives are not held
    for (std::uint64_t i = 1; i < filter.filters(); ++i) capacity += filter.params().capacity(i);
    EXPECT_LE(capacity, keys * 1.02);
    EXPECT_GE(capacity + filter.params().capacity(filter.filters()), keys * 0.98);
  }
}

TEST(Dynamic, ManyAdditionsOfFewKeysOpenNoFurtherFilter) {
  Dynamic filter(Dynamic::fit({.keys = 1000, .error = 1e-3}));
  const std::vector<Digest> keys = KeyMaker(21).make(100);
  for (int round = 0; round < 100; ++round) {
    for (const Digest& key : keys) {
      filter.make_room(1);
      filter.add(key);
    }
  }
  EXPECT_EQ(filter.keys(), 10'000u);
  EXPECT_EQ(filter.filter_count(), 1u);
}

TEST(Dynamic, LaterFiltersTakeFewerKeys) {
  const Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-3});
  EXPECT_GE(params.capacity(1), 1000);
  EXPECT_LE(params.capacity(1), 1100);  // and a margin
  for (std::uint64_t i = 2; i < 20; ++i) EXPECT_LT(params.capacity(i), params.capacity(i - 1)) << i;
  // But never so few that a row has a filter for every key.
  for (const double error : {0.9, 0.1, 1e-3}) {
    const Dynamic::Params p = Dynamic::fit({.keys = 1000, .error = error});
    EXPECT_GE(p.capacity(60'000), p.capacity(1) / 16 * 0.9) << error;
  }
}

// A limit on memory that no error can be kept in: the bound is what the memory gives, and a row that goes on without
// the limit does not take a filter for every key.
TEST(Dynamic, GrowsSensiblyFromTooLittleMemory) {
  Dynamic filter(Dynamic::fit({.keys = 10'000, .error = 1e-6, .bytes = 5000}));
  fill(filter, KeyMaker(22).make(10'000));
  EXPECT_EQ(filter.filter_count(), 1u);
  filter.limit_memory(0);
  fill(filter, KeyMaker(23).make(10'000));
  EXPECT_LE(filter.filter_count(), 200u);
}

TEST(Dynamic, InsertsChangeTheOpenFilterAlone) {
  Dynamic filter(Dynamic::fit({.keys = 1000, .error = 1e-3}));
  fill(filter, KeyMaker(24).make(3500));
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < filter.filter_count(); ++i) keys.push_back(filter.filter(i).keys());
  const std::size_t open = filter.open();
  fill(filter, KeyMaker(25).make(10));
  ASSERT_EQ(filter.filter_count(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(filter.filter(i).keys(), keys[i] + (i == open ? 10 : 0)) << i;
}

TEST(Dynamic, ShrinksWhenKeysHaveGone) {
  Dynamic filter(Dynamic::fit({.keys = 1000, .error = 1e-4}));
  const std::vector<Digest> keys = KeyMaker(3).make(5000);
  fill(filter, keys);
  const std::uint64_t bytes = filter.bytes();
  for (std::size_t i = 0; i < 4500; ++i) ASSERT_NE(filter.erase(keys[i]), Erased::absent) << i;
  EXPECT_EQ(filter.filters(), 1u);
  EXPECT_LT(filter.bytes(), bytes / 2);
  for (std::size_t i = 4500; i < 5000; ++i) EXPECT_TRUE(filter.contains(keys[i]));
  EXPECT_LE(filter.rates().false_positive, 1e-4);
}

// Two filters that both look as if they had the key: nothing is touched.
TEST(Dynamic, RefusesToGuess) {
  Dynamic filter(Dynamic::fit({.keys = 1000, .error = 0.1}));
  const std::vector<Digest> keys = KeyMaker(4).make(6000);
  fill(filter, keys);
  ASSERT_GT(filter.filters(), 3u);
  std::uint64_t ambiguous = 0;
  for (const Digest& key : keys) {
    if (!filter.contains(key)) continue;
    if (filter.erasable(key) != Erased::ambiguous) continue;
    ++ambiguous;
    const std::string before = own_bytes(filter);
    ASSERT_EQ(filter.erase(key), Erased::ambiguous);
    ASSERT_TRUE(own_bytes(filter) == before);
  }
  EXPECT_GT(ambiguous, 0u);
}

TEST(Dynamic, AKeyAddedAgainLaterStaysInItsFilter) {
  Dynamic filter(Dynamic::fit({.keys = 100, .error = 1e-9}));
  const std::vector<Digest> keys = KeyMaker(5).make(500);
  fill(filter, keys);
  ASSERT_GT(filter.filters(), 3u);
  EXPECT_FALSE(filter.add(keys[0]));
  EXPECT_EQ(filter.erase(keys[0]), Erased::removed);
  EXPECT_TRUE(filter.contains(keys[0]));
  EXPECT_EQ(filter.erase(keys[0]), Erased::removed);
  EXPECT_FALSE(filter.contains(keys[0]));
}

TEST(Dynamic, KeepsToTheMemoryGiven) {
  Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-3});
  params.max_bytes = 3 * Dynamic::bytes(params);
  Dynamic filter(params);
  fill(filter, KeyMaker(6).make(10'000));
  EXPECT_EQ(filter.bytes(), params.max_bytes);
  EXPECT_GT(filter.rates().false_positive, 1e-3) << "and says what that costs";
}

Dynamic with(const Dynamic::Params& params, std::uint64_t seed, std::size_t keys) {
  Dynamic filter(params);
  fill(filter, KeyMaker(seed).make(keys));
  return filter;
}

TEST(Dynamic, AUnionKeepsTheTotalError) {
  const Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-2});
  // Into one filter, if they fit; half a filter into the last of a row.
  for (const auto& [ours, theirs] : {std::pair{500, 490}, {0, 2500}, {2500, 0}, {2200, 300}, {300, 2200}}) {
    Dynamic a = with(params, 30, static_cast<std::size_t>(ours)),
            b = with(params, 31, static_cast<std::size_t>(theirs));
    const std::uint64_t keys = a.keys() + b.keys();
    a.merge(b);
    EXPECT_EQ(a.keys(), keys);
    EXPECT_LE(a.rates().false_positive, 1e-2) << ours << ' ' << theirs;
    for (std::size_t i = 0; i < a.filter_count(); ++i)
      EXPECT_LE(a.filter(i).above_zero(), params.most_above_zero(i + 1));
    EXPECT_EQ(a.filters() == 1, ours == 500);
    // And goes on to keep it.
    fill(a, KeyMaker(32).make(10'000));
    EXPECT_LE(a.rates().false_positive, 1e-2) << ours << ' ' << theirs;
    for (const std::uint64_t seed : {30, 31})
      for (const Digest& key : KeyMaker(seed).make(static_cast<std::size_t>(seed == 30 ? ours : theirs)))
        ASSERT_TRUE(a.contains(key));
  }
}

TEST(Dynamic, AUnionThatWouldErrMoreOftenIsRefusedAndChangesNothing) {
  const Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-2});
  Dynamic a = with(params, 33, 1500);
  const Dynamic b = with(params, 34, 1500);
  const std::string before = own_bytes(a);
  EXPECT_THROW(a.merge(b), Error);
  EXPECT_TRUE(own_bytes(a) == before);
  a.limit_memory(a.bytes());
  EXPECT_THROW(a.merge(with(params, 35, 400)), Error);
  EXPECT_TRUE(own_bytes(a) == before);
}

TEST(Dynamic, UnequalFiltersAreDamage) {
  const Counting small({.bits = 64, .probes = 2, .keys = 4}), large({.bits = 128, .probes = 2, .keys = 4});
  std::string bytes;
  Writer out = testing::writer_to(bytes);
  out.f64(0.1);
  out.u64(2);
  small.save(out);
  large.save(out);
  EXPECT_THROW(loaded<Dynamic>(bytes), Error);
}

}  // namespace
}  // namespace nodup
