// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace nodup {
namespace {

const std::string kFolder = NODUP_TESTS_DIR "/golden";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string saved_bytes(const AnyFilter& filter) {
  const std::string path = ::testing::TempDir() + "/golden.nodup";
  save_file(path, filter, testing::kGoldenSeed, testing::kGoldenNotes);
  std::string bytes = content(path);
  std::remove(path.c_str());
  return bytes;
}

TEST(Golden, EveryKindHasAFile) {
  for (const Kind& kind : filter_kinds())
    EXPECT_TRUE(std::filesystem::exists(testing::golden_path(kFolder, kind)))
        << kind.name << " has no golden file: run tools/add_golden";
}

TEST(Golden, EveryFileLoadsAndKnowsItsKeys) {
  const std::vector<Digest> keys = testing::golden_keys();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".nodup") continue;
    ++files;
    const SavedFilter saved = load_file(entry.path());
    EXPECT_EQ(saved.seed, testing::kGoldenSeed);
    EXPECT_EQ(saved.notes, testing::kGoldenNotes);
    const auto seen = std::make_unique<bool[]>(keys.size());
    saved.filter.contains_all(keys, seen.get());
    for (std::size_t i = testing::golden_first_known(saved.filter); i < keys.size(); ++i)
      EXPECT_TRUE(seen[i]) << entry.path() << " lost key " << i;
    // Saved again it has the same bytes: nothing was dropped or made up on the way.
    EXPECT_EQ(saved_bytes(saved.filter), content(entry.path())) << entry.path();
  }
  EXPECT_GT(files, 0);
}

// Hash, positions, fit and layout all show in the bytes: none of them can change without this test telling.
TEST(Golden, TheSameKeysMakeTheSameBytes) {
  for (const Kind& kind : filter_kinds())
    EXPECT_EQ(saved_bytes(testing::golden_filter(kind)), content(testing::golden_path(kFolder, kind))) << kind.name;
}

}  // namespace
}  // namespace nodup
