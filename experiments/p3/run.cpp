// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "experiments/experiment.hpp"

namespace nodup::lab {
namespace {

void table1(const Experiment& lab) {
  Table t(lab, "table1", "Table 1: Bloom filters by the largest false positive rate\nThe paper cuts digits off here.",
          {"k", "bits/item", "actual fp", "query true", "query false"});
  for (const int k : {4, 7, 10, 14, 17}) {
    double accesses = 0;
    for (int i = 1; i <= k; ++i) accesses += i * std::exp2(-i);
    t.row(k, k / std::log(2), std::exp2(-k), k, accesses / (1 - std::exp2(-k)));
  }
}

}  // namespace

void run(const Experiment& lab) { table1(lab); }

}  // namespace nodup::lab
