// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/exact.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::Oracle;
using testing::own_bytes;
using testing::Random;

// Digests that crowd at the start, the end and a few places between: long runs, and runs that pass the end.
Digest crowded(Random& random) {
  const std::uint64_t los[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2, random()};
  return {los[random.below(6)], random.below(30)};
}

RC_GTEST_PROP(DigestTables, AgreeWithASortedSet, (std::uint64_t seed)) {
  const std::uint64_t slots = *rc::gen::inRange<std::uint64_t>(2, 120);
  DigestTable table(slots);
  std::set<Digest> twin;
  Random random(seed);
  for (int step = 0; step < 400; ++step) {
    const Digest d = crowded(random);
    if (d == Digest{}) continue;
    RC_ASSERT(table.contains(d) == twin.contains(d));
    if (twin.size() + 1 < slots) {  // full but for the one slot that ends a search
      RC_ASSERT(table.insert(d) == twin.insert(d).second);
      RC_ASSERT(table.contains(d));
    }
  }
  RC_ASSERT(table.size() == twin.size());
  std::vector<Digest> walked;
  table.for_each([&](Digest d) { walked.push_back(d); });
  RC_ASSERT(walked == std::vector<Digest>(twin.begin(), twin.end()));
}

RC_GTEST_PROP(DigestTables, AppendMakesTheTableThatInsertMakes, (std::uint64_t seed)) {
  Random random(seed);
  std::set<Digest> keys;
  for (std::uint64_t i = random.below(100); i > 0; --i) keys.insert(crowded(random));
  keys.erase(Digest{});
  const std::uint64_t slots = keys.size() + 1 + random.below(30);
  DigestTable appended(slots), inserted(slots);
  std::uint64_t next = 0;
  for (const Digest d : keys) appended.append(d, next);
  std::vector<Digest> shuffled(keys.begin(), keys.end());
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  for (const Digest d : shuffled) inserted.insert(d);
  std::vector<Digest> walked;
  appended.for_each([&](Digest d) { walked.push_back(d); });
  RC_ASSERT(walked == std::vector<Digest>(keys.begin(), keys.end()));
  for (const Digest d : keys) RC_ASSERT(appended.contains(d) && inserted.contains(d));
  // The order of insertion leaves no trace: later keys meet the same table.
  for (int i = 0; i < 50; ++i) {
    const Digest d = crowded(random);
    if (d != Digest{}) RC_ASSERT(appended.contains(d) == inserted.contains(d));
  }
}

RC_GTEST_PROP(ExactFilter, IsItsOracle, (std::uint64_t seed)) {
  Exact filter(Exact::fit({.keys = 1, .error = 0}));
  Oracle truth;
  Random random(seed);
  for (int step = 0; step < 600; ++step) {
    const Digest d = crowded(random);
    filter.make_room(1);
    RC_ASSERT(filter.contains(d) == truth.contains(d));
    RC_ASSERT(filter.insert(d) == truth.insert(d));
    RC_ASSERT(filter.keys() == truth.keys());
  }
}

TEST(ExactFilter, ZeroDigestIsAKeyAsAnyOther) {
  Exact filter({.keys = 10});
  EXPECT_FALSE(filter.contains({0, 0}));
  EXPECT_TRUE(filter.insert({0, 0}));
  EXPECT_FALSE(filter.insert({0, 0}));
  EXPECT_EQ(filter.keys(), 1u);
  filter.make_room(1000);
  EXPECT_TRUE(filter.contains({0, 0}));
  Exact other({.keys = 10});
  other.merge(filter);
  EXPECT_TRUE(other.contains({0, 0}));
  EXPECT_TRUE(testing::loaded<Exact>(own_bytes(other)).contains({0, 0}));
  EXPECT_EQ(testing::loaded<Exact>(own_bytes(other)).keys(), 1u);
}

TEST(ExactFilter, EqualSetsHaveEqualBytes) {
  std::vector<Digest> keys = KeyMaker(1).make(10'000);
  keys.push_back({0, 0});
  const auto build = [&](std::size_t batch) {
    Exact filter({.keys = 5});
    for (std::size_t i = 0; i < keys.size(); i += batch) {
      filter.make_room(batch);
      for (std::size_t j = i; j < std::min(i + batch, keys.size()); ++j) filter.insert(keys[j]);
    }
    return own_bytes(filter);
  };
  const std::string bytes = build(1);
  std::reverse(keys.begin(), keys.end());
  EXPECT_TRUE(build(777) == bytes);
  EXPECT_TRUE(own_bytes(testing::loaded<Exact>(bytes)) == bytes);
  ASSERT_EQ(bytes.size(), 16 + 16 * keys.size());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::memcmp(bytes.data() + 16, keys.data(), 16 * keys.size()), 0) << "not in ascending order";
}

TEST(ExactFilter, DamageIsFound) {
  Exact filter({.keys = 3});
  for (const Digest d : {Digest{0, 0}, Digest{1, 5}, Digest{2, 1}}) filter.insert(d);
  const std::string good = own_bytes(filter);
  EXPECT_NO_THROW(testing::loaded<Exact>(good));
  const auto with = [&](std::size_t index, std::uint64_t value) {
    std::string bad = good;
    std::memcpy(bad.data() + 8 * index, &value, sizeof value);
    return bad;
  };
  // room, count, then lo and hi of the three
  const std::pair<std::string, const char*> bad[] = {
      {with(0, 0), "no room"},
      {with(0, UINT64_MAX), "room beyond measure"},
      {with(0, std::uint64_t{1} << 50), "room beyond the machine"},
      {with(1, 4), "more keys than there are"},
      {with(1, std::uint64_t{1} << 60), "a count whose bytes overflow"},
      {with(4, 2), "not ascending"},
      {with(6, 1), "not ascending in the low half"},
      {with(6, 0), "zero after another"},
      {good.substr(0, 32) + good.substr(16, 16) + good.substr(48), "zero twice"},
      {good.substr(0, 48) + good.substr(32, 16), "a key twice"},
  };
  for (const auto& [bytes, what] : bad) EXPECT_THROW(testing::loaded<Exact>(bytes), Error) << what;
}

TEST(ExactFilter, GrowthKeepsEveryKeyAndTheLoad) {
  Exact filter({.keys = 1});
  const std::vector<Digest> keys = KeyMaker(2).make(200'000);
  std::uint64_t moves = 0, bytes = filter.bytes();
  for (const Digest d : keys) {
    filter.make_room(1);
    moves += filter.bytes() != bytes;
    bytes = filter.bytes();
    ASSERT_TRUE(filter.insert(d));
    ASSERT_LE(static_cast<double>(filter.keys()), 0.8 * static_cast<double>(bytes) / 16);
  }
  EXPECT_LE(moves, 18u) << "growth must double";
  EXPECT_LE(bytes, 200'000 * 40u + 200);
  for (const Digest d : keys) ASSERT_TRUE(filter.contains(d));
}

TEST(ExactFilter, LimitIsKeptAndTheMessageHelps) {
  constexpr std::uint64_t kLimit = 100'000;
  Exact filter(Exact::fit({.keys = 0, .error = 0, .bytes = kLimit}));
  const std::vector<Digest> keys = KeyMaker(3).make(6000);
  std::size_t held = 0;
  try {
    for (; held < keys.size(); ++held) {
      const std::uint64_t before = filter.bytes();
      filter.make_room(1);
      // While the table moves the old and the new one are both there.
      ASSERT_LE(filter.bytes() == before ? before : before + filter.bytes(), kLimit);
      filter.insert(keys[held]);
    }
    FAIL() << "held all";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const std::string& part :
         {std::to_string(held) + " keys", std::string("100000"), std::string("--memory"), std::string("--error")})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_GE(held, kLimit / 16 / 2 * 4 / 5) << "half of the memory at least is put to use";
  for (std::size_t i = 0; i < held; ++i) ASSERT_TRUE(filter.contains(keys[i]));
  filter.limit_memory(2 * kLimit);
  filter.make_room(1);
  EXPECT_TRUE(filter.insert(keys[held]));
  EXPECT_THROW(filter.make_room(UINT64_MAX), Error);
  filter.limit_memory(10);  // less than it has: it stays, and cannot grow
  EXPECT_THROW(filter.make_room(100'000), Error);
  filter.limit_memory(0);
  filter.make_room(100'000);
}

TEST(ExactFilter, WhatDoesNotFitIsRefusedAtOnce) {
  const Goal goal{.keys = 1000, .error = 0, .bytes = 10'000};
  EXPECT_GT(Exact::bytes(Exact::fit(goal)), goal.bytes);
  EXPECT_THROW(Exact{Exact::fit(goal)}, Error);
}

TEST(ExactFilter, MergeWithinTheLimitCountsCommonKeysOnce) {
  const std::vector<Digest> keys = KeyMaker(4).make(1000);
  const std::uint64_t just = Exact::bytes({.keys = 1000});
  Exact a({.keys = 1000, .max_bytes = just}), b({.keys = 1000});
  for (const Digest d : keys) {
    a.insert(d);
    b.insert(d);
  }
  a.merge(b);
  a.merge(a);
  EXPECT_EQ(a.keys(), 1000u);
  b.make_room(1);
  b.insert({7, 7});
  const std::string before = own_bytes(a);
  EXPECT_THROW(a.merge(b), Error);
  EXPECT_TRUE(own_bytes(a) == before);
}

TEST(ExactFilter, ChanceOfACollisionIsStated) {
  EXPECT_DOUBLE_EQ(Exact::rates({}, 1'000'000'000).false_positive, 1e9 / 340282366920938463463.374607431768211456e18);
}

}  // namespace
}  // namespace nodup
