// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "nodup/bits/bit_array.hpp"
#include "nodup/bits/cell_array.hpp"
#include "nodup/error.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::Random;

RC_GTEST_PROP(BitArrays, BehaveAsAVectorOfBool, (std::uint64_t seed)) {
  const std::uint64_t size = *rc::gen::inRange<std::uint64_t>(1, 1000);
  BitArray bits(size, PagePolicy::small);
  std::vector<bool> twin(size);
  Random random(seed);
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t i = random.below(size);
    switch (random.below(3)) {
      case 0:
        bits.set(i);
        twin[i] = true;
        break;
      case 1:
        bits.reset(i);
        twin[i] = false;
        break;
      default:
        RC_ASSERT(bits.test_and_set(i) == twin[i]);
        twin[i] = true;
    }
    RC_ASSERT(bits.test(i) == twin[i]);
  }
  std::uint64_t ones = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    RC_ASSERT(bits.test(i) == twin[i]);
    ones += twin[i];
  }
  RC_ASSERT(bits.count() == ones);
  RC_ASSERT(bits.size() == size && bits.words() == (size + 63) / 64 && bits.bytes() == bits.words() * 8);
}

TEST(BitArrays, BeginZeroed) {
  for (const std::uint64_t size : {1u, 63u, 64u, 65u, 4096u, 100'000'000u}) {
    const BitArray bits(size);
    EXPECT_FALSE(bits.test(0));
    EXPECT_FALSE(bits.test(size - 1));
    EXPECT_EQ(bits.count(), 0u);
  }
  EXPECT_EQ(BitArray().count(), 0u);
}

TEST(BitArrays, MergeIsOr) {
  constexpr std::uint64_t kBits = 1000;
  BitArray a(kBits), b(kBits);
  Random random(1);
  std::vector<bool> either(kBits);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t in_a = random.below(kBits), in_b = random.below(kBits);
    a.set(in_a);
    b.set(in_b);
    either[in_a] = either[in_b] = true;
  }
  const std::uint64_t b_ones = b.count();
  a.merge(b);
  for (std::uint64_t i = 0; i < kBits; ++i) EXPECT_EQ(a.test(i), either[i]) << i;
  EXPECT_EQ(b.count(), b_ones);
}

TEST(BitArrays, PlacesAbove32BitsAreTheirOwn) {
  // A gibibyte of address space, of which a few pages are ever touched.
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;
  BitArray bits(2 * kFar, PagePolicy::small);
  bits.set(kFar + 5);
  EXPECT_FALSE(bits.test(5));
  EXPECT_TRUE(bits.test(kFar + 5));
  EXPECT_FALSE(bits.test_and_set(5));
  bits.reset(kFar + 5);
  EXPECT_TRUE(bits.test(5));
  EXPECT_FALSE(bits.test_and_set(2 * kFar - 1));
  EXPECT_TRUE(bits.test(2 * kFar - 1));
}

TEST(BitArrays, MoveHandsTheBitsOver) {
  BitArray a(100);
  a.set(70);
  BitArray b(std::move(a));
  EXPECT_TRUE(b.test(70));
  BitArray c;
  c = std::move(b);
  EXPECT_TRUE(c.test(70));
  EXPECT_EQ(c.size(), 100u);
}

TEST(BitArrays, MoreThanTheMachineHasIsRefused) { EXPECT_THROW(BitArray(std::uint64_t{1} << 60), Error); }

TEST(CellArrays, EveryWidthHoldsItsNumbersWithoutTouchingNeighbours) {
  for (unsigned width = 1; width <= CellArray::kWidest; ++width) {
    SCOPED_TRACE(width);
    constexpr std::uint64_t kCells = 131;
    CellArray cells(kCells, width, PagePolicy::small);
    EXPECT_EQ(cells.max_value(), ~std::uint64_t{0} >> (64 - width));
    std::vector<std::uint64_t> twin(kCells);
    Random random(width);
    for (int step = 0; step < 3000; ++step) {
      const std::uint64_t i = random.below(kCells);
      // Zero and all ones are the values that show a neighbour's damage.
      const std::uint64_t kinds[] = {0, cells.max_value(), random() & cells.max_value()};
      twin[i] = kinds[random.below(3)];
      cells.set(i, twin[i]);
      for (const std::uint64_t near : {i - (i > 0), i, i + (i + 1 < kCells)}) ASSERT_EQ(cells.get(near), twin[near]);
    }
    for (std::uint64_t i = 0; i < kCells; ++i) ASSERT_EQ(cells.get(i), twin[i]) << i;
  }
}

TEST(CellArrays, ClearingOneValueTouchesNoOther) {
  Random random(7);
  for (unsigned width = 1; width <= CellArray::kWidest; ++width) {
    constexpr std::uint64_t kCells = 64 * 5 + 13;
    CellArray cells(kCells, width, PagePolicy::small);
    std::vector<std::uint64_t> twin(kCells);
    // Few values, so that equal ones stand next to each other; among them all ones and near misses.
    const std::uint64_t most = cells.max_value();
    const std::uint64_t values[] = {0, 1, most, most - (width > 1), most / 2 + 1, 1};
    for (std::uint64_t i = 0; i < kCells; ++i) cells.set(i, twin[i] = values[random.below(6)]);
    for (const auto& [first, count] : {std::pair{64u, 0u}, {64u, 1u}, {128u, 100u}, {320u, 13u}, {0u, 333u}}) {
      for (const std::uint64_t value : {most, std::uint64_t{1}}) {
        const auto part = std::span(twin).subspan(first, count);
        const auto expected = static_cast<std::uint64_t>(std::ranges::count(part, value));
        EXPECT_EQ(cells.clear_equal(first, count, value), expected) << width;
        std::ranges::replace(part, value, 0);
        for (std::uint64_t i = 0; i < kCells; ++i) ASSERT_EQ(cells.get(i), twin[i]) << width << ' ' << i;
      }
    }
    cells.clear();
    for (std::uint64_t i = 0; i < kCells; ++i) ASSERT_EQ(cells.get(i), 0u);
  }
}

TEST(CellArrays, BitsAboveTheWidthAreIgnored) {
  CellArray cells(10, 5);
  cells.set(3, ~std::uint64_t{0});
  EXPECT_EQ(cells.get(2), 0u);
  EXPECT_EQ(cells.get(3), 31u);
  EXPECT_EQ(cells.get(4), 0u);
}

TEST(CellArrays, PackedWithoutGaps) {
  EXPECT_EQ(CellArray::packed_bytes(8, 3), 3u);
  EXPECT_EQ(CellArray::packed_bytes(9, 3), 4u);
  EXPECT_EQ(CellArray::packed_bytes(0, 57), 0u);
  // The product of the two passes 2^64 bits.
  EXPECT_EQ(CellArray::packed_bytes(std::uint64_t{1} << 60, 32), std::uint64_t{1} << 62);
  EXPECT_EQ(CellArray(1000, 4).bytes(), 500u + 8u);
}

TEST(CellArrays, PlacesAbove32BitsAreTheirOwn) {
  constexpr std::uint64_t kFar = (std::uint64_t{1} << 32) / 9;  // bit 2^32 lies in this cell of 9 bits
  CellArray cells(2 * kFar, 9, PagePolicy::small);
  cells.set(kFar + 1, 300);
  EXPECT_EQ(cells.get(0), 0u);
  EXPECT_EQ(cells.get(1), 0u);
  EXPECT_EQ(cells.get(kFar + 1), 300u);
  cells.set(2 * kFar - 1, 511);
  EXPECT_EQ(cells.get(2 * kFar - 1), 511u);
}

}  // namespace
}  // namespace nodup
