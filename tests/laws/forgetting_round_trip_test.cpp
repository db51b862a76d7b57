// SPDX-License-Identifier: Apache-2.0
//
// Law: chance is part of the filter. The same stream gets the same answers, and a filter that was saved in the middle
// and loaded goes on as if nothing had been, however long it has been forgetting.
#include "tests/laws/forgetting.hpp"

namespace nodup::testing {
namespace {

NODUP_FORGETTING_LAW(ForgettingRoundTrip);

TEST_P(ForgettingRoundTrip, SavedInTheMiddleItGoesOnTheSame) {
  const std::vector<Digest> stream = stream_with_duplicates(12 * kRoom, 6 * kRoom, 74);
  AnyFilter through = kind().make(endless_goal()), again = kind().make(endless_goal());
  const Answers answers = insert(through, stream);

  Answers in_parts(stream.size());
  std::size_t done = 0;
  // Before it forgets, at an odd number, and long after.
  for (const std::size_t until : {std::size_t{100}, std::size_t{kRoom + 7}, std::size_t{8 * kRoom}, stream.size()}) {
    again.make_room(until - done);
    again.insert_all(std::span(stream).subspan(done, until - done), in_parts.data.get() + done);
    done = until;
    const std::string bytes = saved(again);
    again = std::move(load_saved(bytes).filter);
    EXPECT_TRUE(saved(again) == bytes);
  }
  std::size_t different = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) different += answers[i] != in_parts[i];
  EXPECT_EQ(different, 0u);
  EXPECT_TRUE(saved(again) == saved(through)) << "the saved bytes differ";
  EXPECT_GT(through.keys(), 6 * kRoom * 3 / 10) << "too few passed for the test to mean much";
}

}  // namespace
}  // namespace nodup::testing
