// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/slot_table.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/oracle.hpp"

namespace nodup::testing {
namespace {

using Tagged = SlotTable<true>;
using Plain = SlotTable<false>;

// Every width that may be, at every place a bucket can begin.
TEST(SlotTable, SlotsKeepWhatIsPutIntoThem) {
  for (const unsigned tag_bits : {4u, 5u, 6u}) {
    for (unsigned width = 6; width <= 60; width = width == 58 ? 60 : width + 1) {
      if (width > 57 && width != (tag_bits == 4 ? 60 : 58)) continue;
      Tagged table({.buckets = 17, .fingerprint_bits = width, .tag_bits = tag_bits}, PagePolicy::small);
      Random random(width);
      std::vector<std::pair<std::uint64_t, unsigned>> model(17 * 4);
      for (int step = 0; step < 1000; ++step) {
        const std::uint64_t slot = random.below(model.size());
        model[slot] = {random() >> (64 - width), static_cast<unsigned>(random.below(1u << tag_bits))};
        table.set({slot / 4, static_cast<unsigned>(slot % 4)}, model[slot].first, model[slot].second);
      }
      for (std::uint64_t slot = 0; slot < model.size(); ++slot) {
        const Tagged::Slot place{slot / 4, static_cast<unsigned>(slot % 4)};
        ASSERT_EQ(table.fingerprint(place), model[slot].first) << width << " bits";
        ASSERT_EQ(table.tag(place), model[slot].second) << width << " bits";
        // Fingerprints that differ in one bit are not equal, at any place of the bit.
        for (unsigned bit = 0; bit < width; ++bit)
          ASSERT_EQ(table.equal(place.bucket, model[slot].first ^ std::uint64_t{1} << bit) >> place.index & 1, 0u);
        ASSERT_EQ(table.equal(place.bucket, model[slot].first) >> place.index & 1, 1u);
      }
    }
  }
}

TEST(SlotTable, FreeSlotsAreThoseOfFreeTags) {
  for (const unsigned tag_bits : {4u, 6u}) {
    Tagged table({.buckets = 5, .fingerprint_bits = 9, .tag_bits = tag_bits}, PagePolicy::small);
    Random random(tag_bits);
    for (int round = 0; round < 300; ++round) {
      const TagSet free = random();
      table.set_free(free);
      for (unsigned i = 0; i < 4; ++i)
        table.set({round % 5u, i}, random() & 511, static_cast<unsigned>(random.below(1u << tag_bits)));
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned tag = table.tag({round % 5u, i});
        ASSERT_EQ(table.free(round % 5u) >> i & 1, tag == 0 || (free >> tag & 1) != 0);
      }
    }
  }
}

TEST(SlotTable, ClearingEmptiesStaleSlotsOnly) {
  Tagged table({.buckets = 100, .fingerprint_bits = 13, .tag_bits = 4}, PagePolicy::small);
  Random random(5);
  unsigned stale = 0;
  const TagSet free = 0b1010'0110'0000'1000;
  table.set_free(free);
  for (std::uint64_t slot = 0; slot < 400; ++slot) {
    const auto tag = static_cast<unsigned>(random.below(16));
    table.set({slot / 4, static_cast<unsigned>(slot % 4)}, 7, tag);
    stale += tag != 0 && (free >> tag & 1) != 0;
  }
  unsigned told = 0;
  table.clear_stale(0, 100, [&](unsigned tag) {
    EXPECT_NE(tag, 0u);
    EXPECT_NE(free >> tag & 1, 0u);
    ++told;
  });
  EXPECT_EQ(told, stale);
  table.clear_stale(0, 100, [&](unsigned) { ADD_FAILURE() << "nothing was left"; });
}

// Up to 97 % of the slots, and nobody is lost on the way.
template <class Table>
void fill(Table table) {
  const std::uint64_t wanted = table.shape().slots() * 97 / 100;
  KeyMaker make(11);
  std::vector<Digest> held;
  while (held.size() < wanted) {
    const Digest d = make();
    const auto place = table.place(d);
    if (table.find(place, ~TagSet{1}).exists()) continue;
    const auto way = table.make_way(place);
    ASSERT_TRUE(way.slot.exists()) << "at " << held.size() << " of " << table.shape().slots();
    EXPECT_EQ(way.overwritten, 0u);
    table.set(way.slot, place.fingerprint, static_cast<unsigned>(1 + held.size() % 15));
    held.push_back(d);
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto slot = table.find(table.place(held[i]), ~TagSet{1});
    ASSERT_TRUE(slot.exists()) << "key " << i << " is lost";
  }
}

TEST(SlotTable, FillsUpWithoutLoss) {
  for (const unsigned width : {8u, 14u, 15u, 23u, 28u, 29u, 57u}) {
    fill(Tagged({.buckets = 5001, .fingerprint_bits = width, .tag_bits = 4}, PagePolicy::small));
    fill(Plain({.buckets = 5001, .fingerprint_bits = width, .tag_bits = 0}, PagePolicy::small));
  }
}

TEST(SlotTable, NoWayLeavesEverythingInPlace) {
  Tagged table({.buckets = 50, .fingerprint_bits = 12, .tag_bits = 4}, PagePolicy::small);
  for (std::uint64_t slot = 0; slot < 200; ++slot)
    table.set({slot / 4, static_cast<unsigned>(slot % 4)}, slot * 17, static_cast<unsigned>(1 + slot % 15));
  const std::vector<std::byte> before(table.payload().begin(), table.payload().end());
  for (const Digest& d : KeyMaker(3).make(100)) EXPECT_FALSE(table.make_way(table.place(d)).slot.exists());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), table.payload().begin()));
}

}  // namespace
}  // namespace nodup::testing
