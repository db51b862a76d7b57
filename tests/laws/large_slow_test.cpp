// SPDX-License-Identifier: Apache-2.0
//
// Law: sizes above 2^32 bits are normal. A filter of 512 MiB and a bit goes through a file and still knows its keys.
#include <filesystem>
#include <utility>

#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

class LargeSlow : public Law {};
INSTANTIATE_TEST_SUITE_P(Kinds, LargeSlow, ::testing::Values("standard", "blocked"), name_of);

TEST_P(LargeSlow, RoundTripAboveFourBillionBits) {
  constexpr std::uint64_t kBytes = ((std::uint64_t{1} << 32) + (std::uint64_t{1} << 20)) / 8;
  // More keys than fit at that error, so the fit takes all the bytes there are.
  const Goal goal{.keys = 1'000'000'000, .error = 1e-9, .bytes = kBytes};
  const std::vector<Digest> keys = KeyMaker(61).make(100'000);
  const auto path = std::filesystem::path(::testing::TempDir()) / ("nodup_large_" + GetParam());
  std::uint64_t held = 0;
  {
    AnyFilter filter = kind().make(goal);
    ASSERT_EQ(filter.bytes(), kBytes);
    EXPECT_EQ(insert(filter, keys).count(false), 0u) << "among so many bits a false positive is a wrong position";
    held = filter.keys();
    save_file(path.string(), filter, kSeed, {});
  }
  EXPECT_GT(std::filesystem::file_size(path), kBytes);
  const AnyFilter loaded = std::move(load_file(path.string()).filter);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.bytes(), kBytes);
  EXPECT_EQ(loaded.keys(), held);
  EXPECT_EQ(contains(loaded, keys).count(false), 0u);
  EXPECT_EQ(contains(loaded, KeyMaker(62).make(100'000)).count(true), 0u);
}

}  // namespace
}  // namespace nodup::testing
