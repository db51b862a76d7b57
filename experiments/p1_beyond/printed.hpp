// SPDX-License-Identifier: Apache-2.0
//
// What the paper prints in Tables 4 to 9: false positives and false negatives in percent. Read from experiments/p1,
// which has them to compare with.
#pragma once

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodup::lab {

inline constexpr std::array<std::string_view, 5> kFive = {"SBF", "RSBF", "BSBF", "BSBFSD", "RLBSBF"};

struct Printed {
  int millions;     // of events
  double distinct;  // share of them
  int megabytes;    // of 2^20 bytes
  struct Percent {
    double false_positive, false_negative;
  };
  std::array<Percent, 5> five = {};  // as kFive
};

// Tables 4 to 6: 695 million events; 7 to 9: a billion.
inline std::vector<Printed> printed_rows() {
  const std::string path = NODUP_EXPERIMENTS "/p1/paper.csv";
  std::ifstream in(path);
  std::map<std::string, double> cells;  // by table, row and column, with which a line begins
  for (std::string line; std::getline(in, line);) {
    std::size_t end = 0;
    for (int comma = 0; comma < 3 && end != std::string::npos; ++comma) end = line.find(',', end + 1);
    if (line.starts_with("table") && end != std::string::npos && line[end + 1] >= '0' && line[end + 1] <= '9')
      cells[line.substr(0, end)] = std::stod(line.substr(end + 1));
  }
  const auto cell = [&](int table, int megabytes, std::string_view rate, std::string_view algorithm) {
    const std::string name = fmt::format("table{},{} MB {},{}", table, megabytes, rate, algorithm);
    const auto found = cells.find(name);
    if (found == cells.end()) throw std::runtime_error(fmt::format("{}: no number for {}", path, name));
    return found->second;
  };
  constexpr double kDistinct[] = {0.15, 0.60, 0.90};
  std::vector<Printed> rows;
  for (int table = 4; table <= 9; ++table) {
    for (const int megabytes : {64, 128, 256, 512}) {
      Printed row{.millions = table < 7 ? 695 : 1000, .distinct = kDistinct[(table - 4) % 3], .megabytes = megabytes};
      for (std::size_t i = 0; i < kFive.size(); ++i)
        row.five[i] = {cell(table, megabytes, "FPR", kFive[i]), cell(table, megabytes, "FNR", kFive[i])};
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace nodup::lab
