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
  a.add(b);
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(a.get(i), std::min(15u, i / 16 + i % 16)) << i;
}

void fill(Dynamic& filter, const std::vector<Digest>& keys) {
  for (const Digest& key : keys) {
    filter.make_room(1);
    filter.insert(key);
  }
}

TEST(Dynamic, GrowsByEqualFiltersAndKeepsTheTotalError) {
  const Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-2});
  Dynamic filter(params);
  fill(filter, KeyMaker(1).make(8000));
  EXPECT_GE(filter.filters(), 8u);
  EXPECT_LE(filter.filters(), 16u);
  EXPECT_LE(filter.rates().false_positive, 1e-2);
  const std::vector<Digest> others = KeyMaker(2).make(100'000);
  std::uint64_t wrong = 0;
  for (const Digest& other : others) wrong += filter.contains(other);
  EXPECT_LT(static_cast<double>(wrong), 1e5 * 1e-2);
  // Within five sigma of what it says itself.
  const double expected = 1e5 * filter.rates().false_positive;
  EXPECT_NEAR(static_cast<double>(wrong), expected, 5 * std::sqrt(expected));
}

TEST(Dynamic, LaterFiltersTakeFewerKeys) {
  const Dynamic::Params params = Dynamic::fit({.keys = 1000, .error = 1e-3});
  EXPECT_EQ(params.capacity(1), 1000u);
  for (std::uint64_t i = 2; i < 20; ++i) EXPECT_LT(params.capacity(i), params.capacity(i - 1)) << i;
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
}

// Two filters that both look as if they had the key: nothing is touched.
TEST(Dynamic, RefusesToGuess) {
  Dynamic filter(Dynamic::fit({.keys = 50, .error = 0.5}));
  const std::vector<Digest> keys = KeyMaker(4).make(400);
  fill(filter, keys);
  ASSERT_GT(filter.filters(), 3u);
  std::uint64_t ambiguous = 0;
  for (const Digest& key : keys) {
    if (!filter.contains(key)) continue;
    const std::string before = own_bytes(filter);
    Dynamic copy = loaded<Dynamic>(before);
    if (copy.erase(key) != Erased::ambiguous) continue;
    ++ambiguous;
    ASSERT_TRUE(own_bytes(copy) == before);
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
