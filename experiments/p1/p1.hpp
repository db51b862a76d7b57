// SPDX-License-Identifier: Apache-2.0
//
// What Tables 1 to 9 and Figures 2 to 11 measure: filters of a given size on a uniform stream, beside the truth. How
// the paper is read: README.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nodup/filters/filter.hpp"

namespace nodup::lab {

// One memory size on one stream, with the paper's numbers.
struct Row {
  double records;   // of the stream
  double distinct;  // the share of records that are the first with their key
  double megabytes;

  std::string stream_name() const;  // "1B 60 %"
  std::string name() const;         // "1B 60 % 64 MB"
};

// A filter under test, whatever its type: most are the library's, two exist only here (variants.hpp).
struct Contender {
  std::string name;
  std::function<void(std::span<const Digest>, bool* is_new)> insert_all;
  std::function<double()> load;  // the share of its bits that are set
};

// A key's bits lie in `arrays` arrays of like load (or, of SBF, are so many cells of one array), and rates() knows the
// chance that all are set.
template <Filter F>
Contender contender(std::string name, std::uint64_t arrays, F filter) {
  const auto shared = std::make_shared<F>(std::move(filter));
  return {std::move(name),
          [shared](std::span<const Digest> keys, bool* is_new) { nodup::insert_all(*shared, keys, is_new); },
          [shared, arrays] { return std::pow(shared->rates().false_positive, 1 / static_cast<double>(arrays)); }};
}

// Rates in percent over all records so far, and the load now.
struct Reading {
  double false_positives = 0;  // of the distinct records: judged duplicates, lost
  double false_negatives = 0;  // of the duplicates: judged distinct, passed
  double load = 0;
};

struct Course {
  std::vector<double> share;                             // of the stream: the points at which readings were taken
  std::map<std::string, std::vector<Reading>> readings;  // by the contender's name
  std::uint64_t fewest_false_positives = 0;              // of all contenders: how much chance is in the rates

  const Reading& last(const std::string& name) const { return readings.at(name).back(); }
};

// Filters of this many bits in all, a multiple of their number of arrays.
using Contenders = std::function<std::vector<Contender>(std::uint64_t bits)>;

// The row at a fraction of the paper's size: memory and stream shrink alike, and the rates stay the same. The
// contenders see one and the same stream. Where chance is too much in the counts it runs again ten times larger.
Course measure(const Row& row, double fraction, std::uint64_t arrays, const Contenders& contenders);

// Calls job(0) .. job(count - 1), as many at a time as there are cores.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job);

}  // namespace nodup::lab
