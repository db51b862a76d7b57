// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of Bloom filters (B. H. Bloom, "Space/time trade-offs in hash coding with allowable errors",
// CACM 13(7), 1970). Symbols as in the literature: m bits, k probes per key, n keys, P false positive rate.
// All are doubles; sizes above 2^32 bits are normal, so 1 - 1/m is only ever handled through log1p and expm1.
#pragma once

namespace nodup::theory {

// Two ways to place k bits per key: anywhere in all m bits, or one in each of k slices of m/k bits.
enum class Placing { anywhere, sliced };

// Expected number of cells hit at least once when `throws` balls fall evenly into `cells` cells. Exact.
double cells_hit(double cells, double throws);

// Chance that one bit is set once n keys are held. Exact. A sliced filter's slices are floor(m/k) bits long.
double bloom_fill(Placing placing, double m, double k, double n);

// P = fill^k: the chance that a key never inserted finds all its bits set.
//   sliced: exact in expectation, the slices being independent.
//   anywhere: the textbook value (1 - (1 - 1/m)^{kn})^k. It takes the fill for its mean and so lies a little
//   LOW (Bose et al., "On the false-positive rate of Bloom filters", IPL 108, 2008). The variance of the fill
//   makes the truth about 1 + 0.15 k^2 / m times as large at half fill: 1.04 at the worst for k = 32, m =
//   4096, and nothing measurable from m = 10^5 on.
double bloom_false_positive(Placing placing, double m, double k, double n);

// The m that gives P: the inverse of bloom_false_positive in m, exact (not rounded; sliced: before the slices
// are rounded to whole bits). The well-known m = -k n / ln(1 - P^{1/k}) is its limit for large m.
double bloom_bits(Placing placing, double k, double n, double P);

// That limit. Below the exact value by half a bit to one bit anywhere, by k times that sliced.
double bloom_bits_limit(double k, double n, double P);

// The integer k in [1, k_most] with the lowest P; the smallest of equals. Near (m/n) ln 2.
unsigned bloom_best_probes(Placing placing, double m, double n, unsigned k_most);

// The number of keys that would be expected to set `ones` of m bits: the inverse of bloom_fill in n
// (Swamidass and Baldi, 2007). Standard deviation about sqrt(m) / (2 k) keys near half fill; infinite when
// all bits are set.
double bloom_keys(Placing placing, double m, double k, double ones);

}  // namespace nodup::theory
