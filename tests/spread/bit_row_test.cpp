// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/bit_row.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/spread/rows.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::kSmallRow;
using testing::loaded;
using testing::own_bytes;
using testing::Random;
using testing::set_of;

std::vector<Digest> joined(std::vector<Digest> a, const std::vector<Digest>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(CounterArray, ABitForEveryCounterAboveZero) {
  for (const std::uint64_t size : {1u, 16u, 17u, 64u, 65u, 1000u}) {
    CounterArray counters(size);
    Random random(size);
    for (std::uint64_t i = 0; i < size; ++i)
      for (std::uint64_t n = random.below(2) * random.below(17); n > 0; --n) counters.increment(i);
    const std::vector<std::uint64_t> bits = counters.above_zero();
    ASSERT_EQ(bits.size(), (size + 63) / 64);
    for (std::uint64_t i = 0; i < bits.size() * 64; ++i)
      EXPECT_EQ(bits[i / 64] >> (i % 64) & 1, i < size && counters.get(i) > 0) << size << ": " << i;
  }
}

TEST(BitPart, AnswersAsItsFilterInAQuarterOfTheBytes) {
  Counting filter(kSmallRow.filter);
  for (const Digest& key : KeyMaker(1).make(80)) filter.add(key);
  const BitPart part(filter);
  std::uint64_t seen = 0;
  for (const Digest& key : joined(KeyMaker(1).make(100), KeyMaker(2).make(10'000))) {
    EXPECT_EQ(part.contains(key), filter.contains(key));
    seen += part.contains(key);
  }
  EXPECT_GE(seen, 80u);
  EXPECT_DOUBLE_EQ(part.false_positive(), filter.rates().false_positive);
  EXPECT_EQ(part.bytes(), 128u);
  EXPECT_EQ(filter.bytes(), 504u);
  EXPECT_EQ(loaded<BitPart>(own_bytes(part)), part);
}

TEST(BitRow, AnswersAsItsFilter) {
  // Its later filters are so much less full than the first that they would fit into fewer.
  const Dynamic set = set_of(KeyMaker(1).make(5000));
  const BitRow row(set);
  EXPECT_EQ(row.parts(), set.filters());
  EXPECT_NEAR(row.false_positive(), set.rates().false_positive, 1e-12);
  for (const Digest& key : joined(KeyMaker(1).make(5000), KeyMaker(2).make(10'000)))
    EXPECT_EQ(row.contains(key), set.contains(key));
}

TEST(BitRow, AUnionHasTheKeysOfBothAndErrsAsItSays) {
  for (const std::uint64_t most_parts : {std::uint64_t{1}, std::uint64_t{5}, BitRow::kAnyLength}) {
    BitRow row(kSmallRow.filter, most_parts);
    for (std::uint64_t node = 0; node < 40; ++node) row.merge(BitRow(set_of(KeyMaker(node).make(node))));
    for (std::uint64_t node = 0; node < 40; ++node)
      for (const Digest& key : KeyMaker(node).make(node)) EXPECT_TRUE(row.contains(key));
    EXPECT_LE(row.parts(), most_parts);
    constexpr double kProbes = 100'000;
    double wrong = 0;
    for (const Digest& key : KeyMaker(100).make(static_cast<std::size_t>(kProbes))) wrong += row.contains(key);
    const double p = row.false_positive();
    EXPECT_NEAR(wrong / kProbes, p, 5 * std::sqrt(p * (1 - p) / kProbes)) << most_parts;
  }
}

TEST(BitRow, PartsAreUnitedWhileTheyFit) {
  // 40 sets of 10 keys, each in a part of its own, are the keys of eight full parts.
  BitRow row(kSmallRow.filter);
  for (std::uint64_t node = 0; node < 40; ++node) row.merge(BitRow(set_of(KeyMaker(node).make(10))));
  EXPECT_GE(row.parts(), 8u);
  EXPECT_LE(row.parts(), 10u);
  // In one part they are far too many; in eight each errs as little as a full one.
  const double one_full = Counting::rates(kSmallRow.filter, 50).false_positive;
  EXPECT_LT(row.false_positive(), 10 * 1.5 * one_full);
}

TEST(BitRow, UnionOfFixedSizeIsOrWhateverTheOrder) {
  const BitRow a(set_of(KeyMaker(1).make(30)), 1), b(set_of(KeyMaker(2).make(90)), 1), c(set_of({}), 1);
  BitRow ab = a.empty_like(), ba = a.empty_like();
  for (const BitRow* row : {&a, &b, &c}) ab.merge(*row);
  for (const BitRow* row : {&c, &b, &a}) ba.merge(*row);
  EXPECT_EQ(own_bytes(ab), own_bytes(ba));
}

TEST(BitRow, WhatIsHeldAlreadyAddsNothing) {
  BitRow row(set_of(KeyMaker(1).make(300)));
  const std::string before = own_bytes(row);
  row.merge(BitRow(row));
  row.merge(BitRow(set_of(KeyMaker(1).make(300))));
  row.merge(row.empty_like());
  EXPECT_EQ(own_bytes(row), before);
}

TEST(BitRow, RefusesPartsOfOtherParameters) {
  BitRow row(kSmallRow.filter);
  BloomParams other = kSmallRow.filter;
  ++other.bits;
  EXPECT_THROW(row.merge(BitRow(other)), Error);
}

TEST(BitRow, SavedAndLoaded) {
  const BitRow row(set_of(KeyMaker(1).make(120)), 7);
  EXPECT_EQ(own_bytes(loaded<BitRow>(own_bytes(row))), own_bytes(row));
  testing::expect_safe_to_load(row, false);
}

}  // namespace
}  // namespace nodup
