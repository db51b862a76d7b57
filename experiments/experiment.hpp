// SPDX-License-Identifier: Apache-2.0
//
// What the experiments share (experiments/README.md): a command line, tables written as CSV, keys.
#pragma once

#include <fmt/format.h>
#include <fmt/os.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nodup/hash/digest.hpp"

namespace nodup::lab {

struct Experiment {
  std::filesystem::path folder;  // where the CSV files go
  double scale = 1;              // more or fewer samples than usual

  // At this scale; never fewer than one.
  std::uint64_t samples(double usual) const { return static_cast<std::uint64_t>(std::max(1.0, usual * scale)); }
};

// Each experiment defines it.
void run(const Experiment& lab);

// One CSV file. Its first column names the row.
class Table {
 public:
  // `title`: a line for the headline of the table, and further lines for its caption.
  Table(const Experiment& lab, std::string_view name, std::string_view title, const std::vector<std::string>& columns)
      : out_(fmt::output_file((lab.folder / fmt::format("{}.csv", name)).string())), columns_(columns.size()) {
    for (std::size_t at = 0; at <= title.size();) {
      const std::size_t end = std::min(title.find('\n', at), title.size());
      out_.print("# {}\n", title.substr(at, end - at));
      at = end + 1;
    }
    print(columns);
    // The report takes the tables in this order.
    fmt::print("{}.csv\n", name);
  }

  template <class... Cells>
  void row(const Cells&... cells) {
    print({text(cells)...});
  }
  void numbers(std::string_view name, const std::vector<double>& values) {
    std::vector<std::string> cells{std::string(name)};
    for (const double number : values) cells.push_back(text(number));
    print(cells);
  }

 private:
  template <class Cell>
  static std::string text(const Cell& cell) {
    if constexpr (std::is_floating_point_v<Cell>)
      return fmt::format("{:.10g}", cell);
    else
      return fmt::format("{}", cell);
  }
  void print(const std::vector<std::string>& cells) {
    if (cells.size() != columns_) throw std::logic_error("a row needs a cell for every column");
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const char* quote = cells[i].find(',') == std::string::npos ? "" : "\"";
      out_.print("{}{}{}{}", i == 0 ? "" : ",", quote, cells[i], quote);
    }
    out_.print("\n");
  }

  fmt::ostream out_;
  std::size_t columns_;
};

// Unlike numbers are unlike keys, and as good as random ones: splitmix64, twice.
inline Digest key(std::uint64_t number) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  };
  const std::uint64_t lo = mix(number * 0x9E3779B97F4A7C15u + 1);
  return {lo, mix(lo + number)};
}

}  // namespace nodup::lab
