// SPDX-License-Identifier: Apache-2.0
//
// Law: a merged filter answers as one that was given both streams. A kind that cannot merge says so, and a merge that
// is refused changes nothing.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(MergeIsUnion);

// Whether the kind merges at all.
bool merged(AnyFilter& into, const AnyFilter& other) {
  const std::string before = saved(into);
  try {
    into.merge(other);
    return true;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(into.kind()), std::string::npos) << error.what();
    EXPECT_TRUE(saved(into) == before) << "a refused merge changed the filter";
    return false;
  }
}

TEST_P(MergeIsUnion, AnswersAsOneGivenBothStreams) {
  const Goal goal{.keys = 8000, .error = 0.05};
  const std::vector<Digest> keys = KeyMaker(7).make(8000);
  const auto left = std::span(keys).first(5000), right = std::span(keys).last(5000);  // 2000 in both
  AnyFilter a = kind().make(goal), b = kind().make(goal), both = kind().make(goal);
  insert(a, left);
  insert(b, right);
  insert(both, keys);
  const std::uint64_t a_keys = a.keys(), b_keys = b.keys();
  ASSERT_EQ(merged(a, b), kind().merges);
  if (!kind().merges) return;

  EXPECT_EQ(contains(a, keys).count(false), 0u);
  const std::vector<Digest> fresh = KeyMaker(8).make(50000);
  const Answers by_merge = contains(a, fresh), by_stream = contains(both, fresh);
  std::size_t different = 0;
  for (std::size_t i = 0; i < fresh.size(); ++i) different += by_merge[i] != by_stream[i];
  EXPECT_EQ(different, 0u);
  EXPECT_GE(a.keys(), std::max(a_keys, b_keys));
  EXPECT_LE(a.keys(), a_keys + b_keys);
  EXPECT_EQ(insert(a, keys).count(true), 0u);
}

TEST_P(MergeIsUnion, WithAnEmptyOneAndWithItself) {
  const Goal goal{.keys = 3000, .error = 1e-2};
  const std::vector<Digest> keys = KeyMaker(9).make(3000);
  AnyFilter full = kind().make(goal), empty = kind().make(goal), twin = kind().make(goal);
  insert(full, keys);
  insert(twin, keys);
  ASSERT_EQ(merged(full, empty), kind().merges);
  if (!kind().merges) return;
  EXPECT_EQ(full.keys(), twin.keys());
  EXPECT_TRUE(saved(full) == saved(twin)) << "an empty filter added something";
  ASSERT_TRUE(merged(empty, full));
  EXPECT_EQ(contains(empty, keys).count(false), 0u);
  ASSERT_TRUE(merged(full, twin));
  EXPECT_EQ(contains(full, KeyMaker(10).make(5000)).count(true), contains(twin, KeyMaker(10).make(5000)).count(true));
}

TEST_P(MergeIsUnion, DifferentGoalsAreRefusedOrMergedRightly) {
  const std::vector<Digest> keys = KeyMaker(11).make(3000);
  for (const Goal& other_goal : {Goal{.keys = 90000, .error = 1e-2}, Goal{.keys = 1000, .error = 1e-5}}) {
    AnyFilter a = kind().make({.keys = 1000, .error = 1e-2}), b = kind().make(other_goal);
    insert(a, std::span(keys).first(1500));
    insert(b, std::span(keys).last(1500));
    if (merged(a, b)) {
      EXPECT_EQ(contains(a, keys).count(false), 0u);
    }
  }
}

TEST_P(MergeIsUnion, AnotherKindIsRefused) {
  AnyFilter a = kind().make({.keys = 100, .error = 1e-2});
  for (const Kind& other : filter_kinds()) {
    if (other.name == kind().name) continue;
    EXPECT_FALSE(merged(a, other.make({.keys = 100, .error = 1e-2}))) << other.name;
  }
}

}  // namespace
}  // namespace nodup::testing
