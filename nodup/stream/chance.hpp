// SPDX-License-Identifier: Apache-2.0
//
// The chance in sample streams (generate.hpp): random numbers, ranks by Zipf's law, and how far back a duplicate
// reaches. All of it in constant memory, and the same on every machine from the same seed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace nodup {

// splitmix64 (Steele, Lea & Flood 2014): the next number, and a state that has moved on.
std::uint64_t split_mix(std::uint64_t& state);

// xoshiro256** (Blackman & Vigna 2018): 64 good bits in a nanosecond, the same everywhere.
class Xoshiro {
 public:
  explicit Xoshiro(std::uint64_t seed);
  std::uint64_t operator()() noexcept;

 private:
  std::array<std::uint64_t, 4> state_;
};

// Ranks 1..n with probability ~ 1/rank^skew, without tables: rejection-inversion (Hoermann & Derflinger 1996).
class ZipfRanks {
 public:
  ZipfRanks() = default;
  ZipfRanks(std::uint64_t n, double skew);
  // Another n, the same skew.
  void limit_to(std::uint64_t n) noexcept;
  std::uint64_t operator()(Xoshiro& random) const noexcept;

 private:
  double area(double x) const noexcept;     // integral of t^-skew from 1 to x
  double inverse(double a) const noexcept;  // area(inverse(a)) = a

  double n_ = 1, skew_ = 1, low_ = 0, high_ = 0, accept_ = 0;
};

// How far back the first occurrence of a duplicate lies, counted in first occurrences: 1 is the latest of them.
struct Distance {
  enum class Law { lognormal, power };

  Law law = Law::lognormal;
  double median = 1024;  // lognormal: half of the duplicates are nearer
  double factor = 8;     // lognormal: one standard deviation further, or nearer, is that many times as far
  double exponent = 1;   // power: distance d has probability ~ 1/d^exponent, up to the first event of the stream
};

struct DistanceKind {
  std::string_view name, form, summary;
  Distance::Law law;
};

// THE list of laws of distance.
std::span<const DistanceKind> distance_kinds();

// `lognormal:1024,8` or `power:1.2`; throws Error saying what to write. A law's name alone takes the numbers above.
Distance read_distance(std::string_view text);

class Distances {
 public:
  Distances() : Distances(Distance{}) {}
  // Throws Error when the numbers are out of range.
  explicit Distances(const Distance& distance);

  // A distance within 1..firsts. What a log-normal distance reaches beyond the beginning of the stream is counted on
  // from its latest event, around the circle.
  std::uint64_t operator()(Xoshiro& random, std::uint64_t firsts) noexcept;

 private:
  std::uint64_t lognormal(Xoshiro& random) const noexcept;

  Distance::Law law_;
  std::int64_t median_log2_ = 0, factor_log2_ = 0;  // in 1/2^16
  ZipfRanks ranks_;
};

}  // namespace nodup
