// SPDX-License-Identifier: Apache-2.0
//
// Law: a filter that was saved and loaded is the same filter: the same bytes when saved again, the same answers ever
// after.
#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(RoundTrip);

constexpr std::uint64_t kCapacity = 2000;

TEST_P(RoundTrip, SameBytesAndSameFuture) {
  for (const std::size_t held : {0u, 1u, 1000u, 2000u, 2001u, 9000u}) {
    SCOPED_TRACE(held);
    AnyFilter original = kind().make({.keys = kCapacity, .error = 1e-2});
    insert(original, KeyMaker(held).make(held));
    const std::string bytes = saved(original);

    SavedFilter loaded = load_saved(bytes);
    EXPECT_EQ(loaded.filter.kind(), kind().name);
    EXPECT_EQ(loaded.seed, kSeed);
    EXPECT_EQ(loaded.notes.at("note"), "of a law");
    EXPECT_EQ(loaded.filter.keys(), original.keys());
    EXPECT_DOUBLE_EQ(loaded.filter.rates().false_positive, original.rates().false_positive);
    EXPECT_EQ(loaded.filter.facts(), original.facts());
    EXPECT_TRUE(saved(loaded.filter) == bytes);

    const std::vector<Digest> future = stream_with_duplicates(8000, 6000, held + 1);
    const Answers before = insert(original, future);
    const Answers after = insert(loaded.filter, future, 100);
    std::size_t different = 0;
    for (std::size_t i = 0; i < future.size(); ++i) different += before[i] != after[i];
    EXPECT_EQ(different, 0u);
    EXPECT_TRUE(saved(original) == saved(loaded.filter)) << "they parted after the load";
  }
}

TEST_P(RoundTrip, SameSeedAndStreamSameBytes) {
  const auto build = [&] {
    AnyFilter filter = kind().make({.keys = kCapacity, .error = 1e-3});
    insert(filter, stream_with_duplicates(5000, 2500, 9));
    return saved(filter);
  };
  EXPECT_TRUE(build() == build());
}

}  // namespace
}  // namespace nodup::testing
