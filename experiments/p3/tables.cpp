// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "experiments/p3/p3.hpp"
#include "nodup/theory/age_partitioned.hpp"

namespace nodup::lab {

namespace {

using namespace nodup::theory;

void table1(const Experiment& lab) {
  Table t(lab, "table1",
          "Table 1: Bloom filters by the false positive rate aimed at\n"
          "Digits of bits/item and of the rate are cut off in print, not rounded.",
          {"k", "bits/item", "actual fp", "query true", "query false"});
  for (const std::uint64_t k : {4, 7, 10, 14, 17}) {
    const std::vector<double> half_full(k, 0.5);  // a Bloom filter is an age-partitioned one with l = 0
    const AgeWalk walk = age_walk(k, half_full);
    t.row(k, static_cast<double>(k) / std::log(2), walk.found, walk.accesses_found, walk.accesses_missed);
  }
}

void table2(const Experiment& lab) {
  Table t(
      lab, "table2",
      "Table 2: age-partitioned filters, (k,l)\n"
      "Computed with the paper's linear fill. The true rate just before a shift is that of the last column, which the "
      "paper does not have; table `rates` measures it.",
      {"(k,l)", "aimed fp", "actual fp", "eff", "window", "fp", "false", "NPWS", "true fp"});
  const struct {
    double aimed;
    Shape shapes[5];
  } groups[] = {
      {0.1, {{4, 3}, {5, 7}, {6, 14}, {7, 28}, {8, 56}}},
      {0.01, {{7, 5}, {8, 8}, {9, 14}, {10, 25}, {11, 46}}},
      {0.001, {{10, 7}, {11, 9}, {12, 14}, {13, 23}, {14, 40}}},
      {0.0001, {{14, 11}, {15, 15}, {16, 22}, {17, 36}, {18, 63}}},
      {0.00001, {{17, 13}, {18, 16}, {19, 22}, {20, 33}, {21, 54}}},
  };
  for (const auto& [aimed, shapes] : groups) {
    for (const Shape& s : shapes) {
      const auto fill = age_fill_linear(s.k, s.l);
      const double fp = age_false_positive(s.k, fill);
      const AgeWalk walk = age_walk(s.k, fill);
      t.row(s.name(), aimed, fp, age_efficiency(s.k, s.l, fp), age_window_accesses(s.k, fill), walk.accesses_found,
            walk.accesses_missed, age_past_window(s.k, s.l), age_false_positive(s.k, age_fill(s.k, s.l)));
    }
  }
}

void tables3and4(const Experiment& lab) {
  Table t3(
      lab, "table3",
      "Table 3: age-partitioned blocked filters, (k,l,B,b)\n"
      "A segment is full when its blocks took, on average, as many keys as make one half full; their loads are Poisson "
      "distributed.",
      {"(k,l,B,b)", "APBBF", "APBF", "cap.", "win.", "fp", "false", "NPWS"});
  Table t4(lab, "table4", "Table 4: bits per element of the window", {"(k,l,B,b)", "fp", "bits per element", "NPWS"});
  for (const std::uint64_t b : {4, 8}) {
    for (const Shape& s : {Shape{2, 3}, Shape{2, 5}, Shape{3, 5}, Shape{3, 8}}) {
      for (const std::uint64_t block : {64, 512}) {
        const std::uint64_t q = block / b;
        const double capacity = age_block_capacity(static_cast<double>(q));
        const auto fill = age_block_fills(s.k, s.l, b, q, capacity);
        const AgeWalk walk = age_walk(s.k, fill);
        const std::string name = fmt::format("({},{},{},{})", s.k, s.l, block, b);
        const double past = age_past_window(s.k, s.l, fill.back());
        t3.row(name, age_false_positive(s.k, fill), age_false_positive(s.k * b, age_fill_linear(s.k * b, s.l * b)),
               capacity / (static_cast<double>(q) * std::log(2)), age_window_accesses(s.k, fill), walk.accesses_found,
               walk.accesses_missed, past);
        t4.row(name, age_false_positive(s.k, fill), age_block_bits_per_key(s.k, s.l, b, q), past);
      }
    }
  }
}

}  // namespace

void tables(const Experiment& lab) {
  table1(lab);
  table2(lab);
  tables3and4(lab);
}

}  // namespace nodup::lab
