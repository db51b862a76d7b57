// SPDX-License-Identifier: Apache-2.0
//
// Law: a filter takes the memory that its plan said, from the start and until it holds its keys.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(MemoryIsAsPlanned);

TEST_P(MemoryIsAsPlanned, FromTheStartUntilItIsFull) {
  for (const Goal& goal :
       {Goal{.keys = 1, .error = 1e-2}, Goal{.keys = 1000, .error = 1e-6}, Goal{.keys = 40'000, .error = 1e-3},
        Goal{.keys = 40'000, .error = 1e-9, .bytes = 1'000'000}}) {
    const std::uint64_t planned = kind().plan(goal).bytes;
    ASSERT_GT(planned, 0u);
    AnyFilter filter = kind().make(goal);
    EXPECT_LE(filter.bytes(), planned);
    // A plan that names far more than is taken would be as misleading as one that names less.
    EXPECT_GE(filter.bytes() + 64, planned);
    insert(filter, KeyMaker(41).make(goal.keys), 500);
    EXPECT_LE(filter.bytes(), planned) << "after " << goal.keys << " keys";
  }
}

TEST_P(MemoryIsAsPlanned, LimitHoldsWhateverComes) {
  // Ten times the keys it was built for: a kind that cannot take them within the limit throws.
  const Goal goal{.keys = 2000, .error = 1e-3, .bytes = 100'000};
  AnyFilter filter = kind().make(goal);
  const std::vector<Digest> keys = KeyMaker(42).make(20'000);
  std::size_t taken = 0;
  try {
    for (; taken < keys.size(); taken += 500) {
      insert(filter, std::span(keys).subspan(taken, 500));
      EXPECT_LE(filter.bytes(), goal.bytes);
    }
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos) << error.what();
    EXPECT_GE(taken, goal.keys);
  }
  // A kind that ages makes room by forgetting, but never silently; one that forgets says so in its rates.
  if (filter.window().effective == Window::kEndless && !kind().forgets) {
    EXPECT_EQ(contains(filter, std::span(keys).first(taken)).count(false), 0u) << "a refusal must lose nothing";
  }
}

}  // namespace
}  // namespace nodup::testing
