// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of stable Bloom filters (Deng & Rafiei, "Approximately detecting duplicates for streaming data using
// Stable Bloom Filters", SIGMOD 2006). Symbols as there: m cells of at most Max, K cells per key, P cells decremented
// per record. Every record does the same whatever its judgement, so there is nothing to iterate: a cell is set at the
// rate K / m and decremented at the rate P / m per record, and is above 0 when fewer than Max decrements hit it since
// it was last set.
//
// Model error: none that shows from 10^4 cells on, for keys that come once. A key that keeps coming is known better.
#pragma once

namespace nodup::theory {

// Of the K cells of a key never seen: the chance that one is above 0, in the long run. Their Theorem 2.
double stable_load(double m, double K, double P, double Max);

// The P that leads to this false positive rate, stable_load^K, in the long run. Not rounded; infinite where none does.
double stable_resets(double m, double K, double Max, double false_positive);

struct StableMoment {
  double load = 0;            // share of cells above 0
  double false_positive = 0;  // of a key never seen
  double false_negative = 0;  // of a duplicate of any record so far, each equally likely
};
StableMoment stable_after(double m, double K, double P, double Max, double records);

}  // namespace nodup::theory
