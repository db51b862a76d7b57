// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of filters that reset random bits ("Advanced Bloom Filter Based Algorithms for Efficient Approximate
// Data De-Duplication in Streams", 2012). Symbols as there: k arrays of s bits, X the chance that all k bits of a key
// never seen are set. p = X^{1/k} is the load of an array; n counts the keys that passed (were judged new).
//
// Of the keys that pass, share q is inserted; an inserted one resets a given set bit with the chance r / s. A key never
// seen has a 0 at a given place with chance 1 - p, and then passes for sure, so that per passing key
//   s dp/dn = q ((1 - p) / (1 - X) - r p),
// and a bit of a key inserted at n0 is still or again set at n with the chance
//   u = p(n) + (1 - p(n0)) exp(-integral from n0 to n of q (1 / (1 - X) + r) / s).
//   BSBF r = 1, q = 1; BSBFSD r = 1 / k; RLBSBF r = p; RSBF q = s / (record number) once that is below 1, r = 1, and
//   r = 0 before.
// Everything depends on n / s alone, not on n and s: tables are the same at every scale.
//
// The paper's own recurrences (3.13 and its like) add the chance that a bit is set by the new key to the chance that it
// was set before, as if both could not be: s dp/dn = q (1 - r p). On a long stream they go to p = 1 whatever the rule,
// where measured loads stop at 0.62 (BSBF, k = 2). They are here to be compared with: Recurrence::printed.
//
// Model error: X within 2 % of measurements from s = 10^4 on, for streams of new keys. Duplicates that pass set fewer
// bits than new keys do: with many of them X lies a little high.
#pragma once

namespace nodup::theory {

enum class Resetting { each_array, one_array, by_load, reservoir };  // BSBF, BSBFSD, RLBSBF, RSBF
enum class Recurrence { counted, printed };

inline constexpr double kReservoirFloor = 0.03;  // p*: RSBF inserts all again once its chance is down to this

struct SampledMoment {
  double load = 0;                  // p
  double false_positive = 0;        // X
  double worst_false_positive = 0;  // the highest there was so far: RSBF's falls again
  double false_negative = 0;        // of a duplicate of any of the keys that passed, each equally likely
  double records = 0;               // read by then
};

// After n keys have passed. `records_per_key`: records read for each; 0: a stream of new keys only, of which X are
// lost. 10^9 keys take as long as 10^3: some 0.1 ms.
SampledMoment sampled_after(Resetting rule, double k, double s, double n, double records_per_key = 0,
                            Recurrence recurrence = Recurrence::counted);

// The load that an endless stream of new keys leads to: 1 for BSBFSD, which sets at least as many bits as it resets.
double sampled_stable_load(Resetting rule, double k);

// The paper's choice of k for RSBF: the mean of 1 and ln(FPR_t) / ln(1 - 1/e), rounded; at least 1.
unsigned reservoir_arrays(double target_false_positive);

}  // namespace nodup::theory
