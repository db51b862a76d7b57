// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of age-partitioned Bloom filters (Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters", 2020).
// Symbols as in the paper: k + l slices of m bits, s_0 the newest; a key sets one bit in each of s_0 .. s_{k-1}; after
// g keys a new generation begins and every slice grows older by one place. A key looks seen when ANY k slices in a row
// match; one of generation age d (d shifts ago) matches in s_d .. s_{d+k-1}, so keys are held for l generations at
// least and l + 1 at most.
//
// The `fill` of a filter is the chance, for each of its k + l slices, that a key never inserted matches there. All the
// rest follows from it, whatever a slice is made of: bits, or lines of bits (section 6 of the paper, where an access is
// one line).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nodup::theory {

// The fill just before a shift, when full slices are half full. The paper's, (i+1)/2k up to 1/2: it takes a slice to
// fill evenly with its keys. Its Tables 1, 2 and 4 are made from it.
std::vector<double> age_fill_linear(std::uint64_t k, std::uint64_t l);
// The true one: each key finds fewer bits left to set, so slices that are filling lie above the straight line and false
// positives are 4 % to 26 % more frequent than the paper's tables say. `full` is that of slices with k generations.
std::vector<double> age_fill(std::uint64_t k, std::uint64_t l, double full = 0.5);
// One slice of m bits that took n keys: 1 - (1 - 1/m)^n.
double age_slice_fill(double m, double n);

// The paper's F(k, l, 0, 0): the chance that a key never inserted matches in k slices in a row.
double age_false_positive(std::uint64_t k, std::span<const double> fill);

// The paper's efficiency: bits an ideal Bloom filter of the same false positives would take for the keys it holds for
// sure, as a share of those it takes with half full slices.
double age_efficiency(std::uint64_t k, std::uint64_t l, double false_positive);

// Algorithm 1 walks the slices and leaps over runs that cannot match: from s_l up while they match, and k places down
// from the first that does not. How many slices it looks at, by what it finds. The same algorithm from the young end
// sees the slices in reverse: give it the fill in reverse.
struct AgeWalk {
  double found = 0;            // chance that it finds a match
  double accesses_found = 0;   // expected number of slices looked at when it does
  double accesses_missed = 0;  // when it does not
};
AgeWalk age_walk(std::uint64_t k, std::span<const double> fill);

// Table 2, "window": the mean over keys of generation ages 0 .. l-1 of the slices that Algorithm 1 looks at.
double age_window_accesses(std::uint64_t k, std::span<const double> fill);
// Figure 4: the chance that a key of generation age d still looks seen; 1 up to d = l.
double age_decay(std::uint64_t k, std::span<const double> fill, std::uint64_t d);
// Table 2, "NPWS": keys past the window that still look seen at the worst moment, as a share of the window. `full` is
// the fill of full slices.
double age_past_window(std::uint64_t k, std::uint64_t l, double full = 0.5);

// Blocks of B bits, in each of which a key has b bits, one in each of b lanes of q = B/b bits.
//
// How many keys make a lane half full, and so a block count as full: t = ln 2 / -ln(1 - 1/q).
double age_block_capacity(double q);
// The chance that a new key matches in a segment whose blocks took `load` keys each on average: their loads are Poisson
// distributed. Exact, as long as there are 100 blocks or more; below, the truth is a little lower.
double age_block_fill(double load, std::uint64_t b, std::uint64_t q);
// The fill of k + l segments just before a shift, when full segments took `full_load` keys per block.
std::vector<double> age_block_fills(std::uint64_t k, std::uint64_t l, std::uint64_t b, std::uint64_t q,
                                    double full_load);
// Table 4: (k + l) k B / (l t).
double age_block_bits_per_key(std::uint64_t k, std::uint64_t l, std::uint64_t b, std::uint64_t q);

}  // namespace nodup::theory
