// SPDX-License-Identifier: Apache-2.0
//
// Law: a key that was passed and is erased is new again, and no other key is forgotten with it. A kind that cannot
// erase says so.
#include "tests/laws/window.hpp"

namespace nodup::testing {
namespace {

NODUP_WINDOW_LAW(WindowErase);

TEST_P(WindowErase, TheErasedAreNewAndAllOthersStay) {
  constexpr Tick kSpan = 4000;
  AnyFilter filter = kind().make({.keys = kSpan, .error = 1e-6, .window = {.span = kSpan}});
  KeyMaker make(97);
  std::vector<Event> events = one_per_tick(make, 0, 3 * kSpan);
  const Answers is_new = play(filter, events);
  if (!kind().erases) {
    EXPECT_THROW(filter.erase(events.back().key), Error);
    return;
  }
  std::vector<Digest> erased, kept;
  std::size_t ambiguous = 0;
  const std::uint64_t held = filter.keys();
  for (std::size_t i = events.size() - kSpan; i < events.size(); ++i) {
    if (!is_new[i]) continue;
    if (i % 3 != 0) {
      kept.push_back(events[i].key);
      continue;
    }
    const Erased answer = filter.erase(events[i].key);
    ASSERT_NE(answer, Erased::absent) << i;
    ambiguous += answer == Erased::ambiguous;
    (answer == Erased::removed ? erased : kept).push_back(events[i].key);
  }
  EXPECT_LE(ambiguous, 2u);
  EXPECT_EQ(contains(filter, kept).count(false), 0u);
  EXPECT_LE(contains(filter, erased).count(true), 1u);
  EXPECT_EQ(filter.keys(), held - erased.size());
  EXPECT_GE(insert(filter, erased).count(true), erased.size() - 1);
  EXPECT_EQ(contains(filter, kept).count(false), 0u);
  EXPECT_EQ(contains(filter, erased).count(false), 0u);
}

TEST_P(WindowErase, WhatIsNotThereIsAbsent) {
  if (!kind().erases) GTEST_SKIP() << "it cannot erase";
  AnyFilter filter = kind().make({.keys = 1000, .error = 1e-6, .window = {.span = 1000}});
  const std::vector<Digest> keys = KeyMaker(98).make(1000), others = KeyMaker(99).make(1000);
  EXPECT_EQ(filter.erase(keys[0]), Erased::absent);
  for (std::size_t i = 0; i < keys.size(); ++i) insert_at(filter, keys[i], i);
  const std::string before = own_bytes(filter);
  for (const Digest& other : others) {
    if (contains(filter, {&other, 1})[0]) continue;
    EXPECT_EQ(filter.erase(other), Erased::absent);
  }
  EXPECT_TRUE(own_bytes(filter) == before);
  EXPECT_EQ(filter.erase(keys[5]), Erased::removed);
  EXPECT_EQ(filter.erase(keys[5]), Erased::absent);
  filter.advance(5000);
  EXPECT_EQ(filter.erase(keys[7]), Erased::absent) << "it has left the window";
}

}  // namespace
}  // namespace nodup::testing
