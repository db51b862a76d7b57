// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/in_memory.hpp"

namespace nodup {
namespace {

const std::string kFolder = NODUP_TESTS_DIR "/golden";

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string saved_bytes(const AnyFilter& filter) {
  std::string bytes;
  Writer out = testing::writer_to(bytes);
  save(out, filter, testing::kGoldenSeed, testing::kGoldenNotes);
  return bytes;
}
std::string saved_bytes(const AttributeSet& set) {
  std::string bytes;
  Writer out = testing::writer_to(bytes);
  save_set(out, set, testing::kGoldenSeed, testing::kGoldenNotes);
  return bytes;
}

// Knows what it must, and saved again it has the same bytes: nothing was dropped or made up on the way.
void expect_golden(const SavedFilter& saved, const std::string& path) {
  const std::vector<Digest> keys = testing::golden_keys();
  const auto seen = std::make_unique<bool[]>(keys.size());
  saved.filter.contains_all(keys, seen.get());
  for (std::size_t i = testing::golden_first_known(saved.filter); i < keys.size(); ++i)
    EXPECT_TRUE(seen[i]) << path << " lost key " << i;
  EXPECT_EQ(saved_bytes(saved.filter), content(path)) << path;
}
void expect_golden(SavedAttributeSet& saved, const std::string& path) {
  for (std::size_t i = 0; i < testing::kGoldenKeys; ++i) {
    const std::vector<Attribute> row = testing::golden_row(saved.set, i);
    EXPECT_TRUE(saved.set.contains_row(row) && saved.set.contains_part(row)) << path << " lost row " << i;
  }
  EXPECT_EQ(saved_bytes(saved.set), content(path)) << path;
}

TEST(Golden, EveryKindHasAFile) {
  for (const Kind& kind : filter_kinds())
    EXPECT_TRUE(std::filesystem::exists(testing::golden_path(kFolder, kind.name)))
        << kind.name << " has no golden file: run tools/add_golden";
}

TEST(Golden, EveryFileLoadsAndKnowsItsKeys) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".nodup") continue;
    ++files;
    SavedSet loaded = load_set_file(entry.path());
    std::visit(
        [&](auto& saved) {
          EXPECT_EQ(saved.seed, testing::kGoldenSeed);
          EXPECT_EQ(saved.notes, testing::kGoldenNotes);
          expect_golden(saved, entry.path());
        },
        loaded);
  }
  EXPECT_GT(files, 0);
}

// Hash, positions, fit and layout all show in the bytes: none of them can change without this test telling.
TEST(Golden, TheSameKeysMakeTheSameBytes) {
  for (const Kind& kind : filter_kinds())
    EXPECT_EQ(saved_bytes(testing::golden_filter(kind)), content(testing::golden_path(kFolder, kind.name)))
        << kind.name;
  EXPECT_EQ(saved_bytes(testing::golden_rows()), content(testing::golden_path(kFolder, AttributeSet::kName)));
}

}  // namespace
}  // namespace nodup
