// SPDX-License-Identifier: Apache-2.0
//
// The command line of every experiment:   lab_NAME FOLDER [SCALE]
#include <cstdlib>

#include "experiments/experiment.hpp"

int main(int argc, char** argv) try {
  nodup::lab::Experiment lab;
  if (argc == 3) lab.scale = std::strtod(argv[2], nullptr);
  if (argc < 2 || argc > 3 || !(lab.scale > 0)) {
    fmt::print(stderr, "usage: {} FOLDER [SCALE]\nwrites CSV files into the folder; experiments/README.md\n", argv[0]);
    return 2;
  }
  lab.folder = argv[1];
  std::filesystem::create_directories(lab.folder);
  nodup::lab::run(lab);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", argv[0], error.what());
  return 1;
}
