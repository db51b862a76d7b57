// SPDX-License-Identifier: Apache-2.0
//
// Law: how a stream is cut into batches changes neither an answer nor a saved byte, also when a key stands twice in one
// batch and when the filter grows in between.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(BatchEqualsSingle);

void expect_same_in_any_batches(const Kind& kind, const Goal& goal, std::span<const Digest> stream,
                                std::uint64_t seed) {
  AnyFilter single = kind.make(goal);
  const Answers one_by_one = insert(single, stream, 1);

  AnyFilter batched = kind.make(goal);
  Random random(seed);
  Answers in_batches(stream.size());
  for (std::size_t i = 0; i < stream.size();) {
    // Empty batches, tiny ones, and ones longer than any window of prefetching or internal piece.
    const std::size_t most = random.below(4) == 0 ? 3000 : 40;
    const std::size_t size = std::min<std::size_t>(random.below(most), stream.size() - i);
    batched.make_room(size);
    batched.insert_all(stream.subspan(i, size), in_batches.data.get() + i);
    i += size;
  }

  std::size_t different = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) different += one_by_one[i] != in_batches[i];
  EXPECT_EQ(different, 0u);
  EXPECT_EQ(single.keys(), batched.keys());
  EXPECT_TRUE(saved(single) == saved(batched)) << "the saved bytes differ";
}

TEST_P(BatchEqualsSingle, WithinCapacity) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    expect_same_in_any_batches(kind(), {.keys = 6000, .error = 1e-2}, stream_with_duplicates(15000, 6000, seed), seed);
}

TEST_P(BatchEqualsSingle, FarPastCapacity) {
  for (std::uint64_t seed = 10; seed < 15; ++seed)
    expect_same_in_any_batches(kind(), {.keys = 300, .error = 1e-1}, stream_with_duplicates(15000, 6000, seed), seed);
}

TEST_P(BatchEqualsSingle, OneKeyOverAndOver) {
  const std::vector<Digest> stream(500, Digest{3, 5});
  expect_same_in_any_batches(kind(), {.keys = 10, .error = 1e-3}, stream, 20);
}

}  // namespace
}  // namespace nodup::testing
