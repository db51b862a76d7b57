// SPDX-License-Identifier: Apache-2.0
//
// Law: what was inserted is seen from then on, also past the capacity. For every kind that promises it. Kinds that age
// and are given no window hold at least the keys they were built for, the latest ones, and say when they forgot any.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(NoFalseNegative);

TEST_P(NoFalseNegative, KeysStaySeenUpToThreeTimesTheCapacity) {
  if (kind().forgets) GTEST_SKIP() << "it promises no such thing";
  constexpr std::uint64_t kCapacity = 5000;
  AnyFilter filter = kind().make({.keys = kCapacity, .error = 1e-3});
  KeyMaker make(1);
  std::vector<Digest> all;
  for (int round = 0; round < 3; ++round) {
    const std::vector<Digest> more = make.make(kCapacity);
    insert(filter, more);
    all.insert(all.end(), more.begin(), more.end());
    EXPECT_EQ(filter.rates().false_negative, 0);
    if (filter.window().effective < Window::kEndless) return;  // it ages, and says so
    EXPECT_EQ(contains(filter, all).count(false), 0u) << "after " << all.size() << " keys";
  }
  EXPECT_EQ(insert(filter, all).count(true), 0u) << "a duplicate was judged new";
}

// At every moment the latest that were passed, also of kinds that age.
TEST_P(NoFalseNegative, TheLatestKeysStaySeen) {
  if (kind().forgets) GTEST_SKIP() << "it promises no such thing";
  constexpr std::uint64_t kCapacity = 400;
  AnyFilter filter = kind().make({.keys = kCapacity, .error = 1e-2});
  std::vector<Digest> passed;
  for (const Digest& key : KeyMaker(3).make(5 * kCapacity)) {
    if (insert(filter, {&key, 1})[0]) passed.push_back(key);
    const std::size_t latest = std::min<std::size_t>(passed.size(), kCapacity);
    ASSERT_EQ(contains(filter, std::span(passed).last(latest)).count(false), 0u) << passed.size();
  }
  // A table of fingerprints is soon saturated past its capacity.
  EXPECT_GT(passed.size(), kind().ages ? 2 * kCapacity : kCapacity);
}

TEST_P(NoFalseNegative, OddDigests) {
  // Digests that a good hash makes once in 2^64 keys, but a hostile one at will.
  constexpr std::uint64_t kAll = UINT64_MAX;
  std::vector<Digest> odd = {{0, 0},    {0, 1}, {1, 0},           {kAll, kAll}, {kAll, 0},
                             {0, kAll}, {1, 1}, {kAll, kAll - 1}, {kAll, 1},    {1, kAll}};
  for (std::uint64_t i = 2; i < 40; ++i) {
    odd.push_back({kAll, i});
    odd.push_back({0, i});
    odd.push_back({i << 32, 0});
  }
  AnyFilter filter = kind().make({.keys = odd.size(), .error = 1e-3});
  insert(filter, odd, 1);
  if (kind().forgets) GTEST_SKIP() << "it promises no such thing";
  EXPECT_EQ(contains(filter, odd).count(false), 0u);
  EXPECT_EQ(insert(filter, odd, 7).count(true), 0u);
}

TEST_P(NoFalseNegative, TheFirstKeyIsNew) {
  AnyFilter filter = kind().make({.keys = 0, .error = 0.5});
  const std::vector<Digest> first = KeyMaker(2).make(1);
  EXPECT_FALSE(contains(filter, first)[0]);
  EXPECT_TRUE(insert(filter, first)[0]);
  EXPECT_EQ(filter.keys(), 1u);
}

}  // namespace
}  // namespace nodup::testing
