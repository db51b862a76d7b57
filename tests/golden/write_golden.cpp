// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "tests/golden/golden.hpp"

// Writes the golden file of every kind that has none yet into the folder named. Called by tools/add_golden.
int main(int argc, char** argv) {
  using namespace nodup;
  if (argc != 2) return std::fputs("usage: write_golden FOLDER\n", stderr), 2;
  const auto add = [&](std::string_view kind, auto&& save) {
    const std::string path = testing::golden_path(argv[1], kind);
    if (::access(path.c_str(), F_OK) == 0) return;
    save(path);
    std::printf("added %s\n", path.c_str());
  };
  for (const Kind& kind : filter_kinds())
    add(kind.name, [&](const std::string& path) {
      save_file(path, testing::golden_filter(kind), testing::kGoldenSeed, testing::kGoldenNotes);
    });
  add(AttributeSet::kName, [](const std::string& path) {
    save_set_file(path, testing::golden_rows(), testing::kGoldenSeed, testing::kGoldenNotes);
  });
}
