// SPDX-License-Identifier: Apache-2.0
//
// The least memory that any filter needs, whatever its structure: rate-distortion theory.
//
// A filter that holds b bits per key and takes new keys for seen with probability a (false positives) must forget. A
// key is judged "seen" with probability 1 - f if it is in the set and a if it is not, and that much must be told by b
// bits: b >= (1-f) log2((1-f)/a) + f log2(f/(1-a)), the divergence of the two answers. Without false negatives it is
// the well known log2(1/a).
#pragma once

#include <cmath>

namespace nodup::theory {

inline double least_bits_per_key(double false_positive, double false_negative) {
  const double a = false_positive, f = false_negative;
  if (1 - f <= a) return 0;  // blind guessing does as well
  return (1 - f) * std::log2((1 - f) / a) + (f > 0 ? f * std::log2(f / (1 - a)) : 0);
}

// The least false negatives that these bits allow.
inline double least_false_negative(double bits_per_key, double false_positive) {
  if (least_bits_per_key(false_positive, 0) <= bits_per_key) return 0;
  double low = 0, high = 1 - false_positive;  // bits fall as false negatives rise
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (least_bits_per_key(false_positive, middle) > bits_per_key ? low : high) = middle;
  }
  return high;
}

}  // namespace nodup::theory
