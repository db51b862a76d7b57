// SPDX-License-Identifier: Apache-2.0
//
// Law: contains tells what insert would answer, and changes nothing.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(ContainsAgrees);

TEST_P(ContainsAgrees, TellsWhatInsertWillAnswer) {
  // A high error and twice the capacity, so that the two also agree on thousands of false positives.
  AnyFilter filter = kind().make({.keys = 1500, .error = 0.2});
  const std::vector<Digest> stream = stream_with_duplicates(6000, 3000, 3);
  std::size_t seen_count = 0, disagree = 0, unseen_after = 0;
  for (const Digest& event : stream) {
    const std::span one(&event, 1);
    const bool seen = contains(filter, one)[0];
    const bool is_new = insert(filter, one)[0];
    seen_count += seen;
    disagree += seen == is_new;
    unseen_after += !contains(filter, one)[0];
  }
  EXPECT_EQ(disagree, 0u);
  if (!kind().forgets) {
    EXPECT_EQ(unseen_after, 0u);
  }
  EXPECT_GT(seen_count, 2000u);  // the stream has about 3400 duplicates
}

TEST_P(ContainsAgrees, BatchesTellTheSameAsSingles) {
  AnyFilter filter = kind().make({.keys = 2000, .error = 0.1});
  const std::vector<Digest> stream = stream_with_duplicates(9000, 6000, 4);
  insert(filter, std::span(stream).first(5000));
  const Answers at_once = contains(filter, stream);
  for (std::size_t i = 0; i < stream.size(); ++i)
    ASSERT_EQ(at_once[i], contains(filter, std::span(stream).subspan(i, 1))[0]) << "event " << i;
  EXPECT_GT(at_once.count(false), 0u);
}

TEST_P(ContainsAgrees, ChangesNothing) {
  AnyFilter filter = kind().make({.keys = 2000, .error = 1e-2});
  insert(filter, KeyMaker(5).make(2500));
  const std::string before = saved(filter);
  contains(filter, KeyMaker(5).make(2500));
  contains(filter, KeyMaker(6).make(2500));
  EXPECT_TRUE(saved(filter) == before);
}

}  // namespace
}  // namespace nodup::testing
