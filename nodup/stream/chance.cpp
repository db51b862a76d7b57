// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/chance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "nodup/error.hpp"

namespace nodup {

namespace {

using Law = Distance::Law;

constexpr DistanceKind kDistances[] = {
    {"lognormal", "lognormal:MEDIAN,FACTOR", "half within MEDIAN; a standard deviation is FACTOR times as far (1024,8)",
     Law::lognormal},
    {"power", "power:EXPONENT", "distance d as often as 1/d^EXPONENT, back to the first event (1)", Law::power},
};

std::optional<double> read_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return std::nullopt;
  return number;
}

// In 1/2^16: rounded so far that what differs between C libraries in the last bit of a double is gone.
std::int64_t log2_fixed(double x) { return std::llround(std::ldexp(std::log2(x), 16)); }

}  // namespace

std::span<const DistanceKind> distance_kinds() { return kDistances; }

Distance read_distance(std::string_view text) {
  const auto unknown = [&] {
    return Error(fmt::format("`{}` is not a distance of duplicates: write {} or {}, e.g. lognormal:1024,8 or power:1.2",
                             text, kDistances[0].form, kDistances[1].form));
  };
  const std::size_t colon = text.find(':');
  const auto kind = std::ranges::find(kDistances, text.substr(0, colon), &DistanceKind::name);
  if (kind == std::end(kDistances)) throw unknown();
  Distance distance{.law = kind->law};
  if (colon == std::string_view::npos) return distance;

  const std::string_view numbers = text.substr(colon + 1);
  const std::size_t comma = numbers.find(',');
  const std::optional<double> first = read_number(numbers.substr(0, comma));
  const std::optional<double> second =
      comma == std::string_view::npos ? std::nullopt : read_number(numbers.substr(comma + 1));
  const bool two = comma != std::string_view::npos;
  if (!first || two != second.has_value() || two != (kind->law == Law::lognormal)) throw unknown();
  if (two) {
    distance.median = *first;
    distance.factor = *second;
  } else {
    distance.exponent = *first;
  }
  return distance;
}

std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Xoshiro::Xoshiro(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

std::uint64_t Xoshiro::operator()() noexcept {
  auto& s = state_;
  const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
  const std::uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = std::rotl(s[3], 45);
  return result;
}

// The histogram of k^-skew lies under the curve x^-skew moved by a half; inverting the curve's area gives a
// rank that is right but for a sliver near its right border, which is rejected. `accept_` marks where no test
// is needed.
ZipfRanks::ZipfRanks(std::uint64_t n, double skew) : skew_(skew) {
  limit_to(n);
  low_ = area(1.5) - 1;
  accept_ = 2 - inverse(area(2.5) - std::pow(2, -skew));
}

void ZipfRanks::limit_to(std::uint64_t n) noexcept {
  n_ = static_cast<double>(n);
  high_ = area(n_ + 0.5);
}

double ZipfRanks::area(double x) const noexcept {
  const double log_x = std::log(x);
  const double power = (1 - skew_) * log_x;
  // expm1(p)/p near 0 is 1 + p/2: at skew 1 the area is the logarithm itself.
  return std::abs(power) > 1e-8 ? std::expm1(power) / (1 - skew_) : log_x * (1 + power / 2);
}

double ZipfRanks::inverse(double a) const noexcept {
  const double part = std::max((1 - skew_) * a, -1.0);
  return std::exp(std::abs(part) > 1e-8 ? std::log1p(part) / (1 - skew_) : a * (1 - part / 2));
}

std::uint64_t ZipfRanks::operator()(Xoshiro& random) const noexcept {
  for (;;) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const double a = high_ + u * (low_ - high_);
    const double x = inverse(a);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= accept_ || a >= area(rank + 0.5) - std::pow(rank, -skew_)) return static_cast<std::uint64_t>(rank);
  }
}

Distances::Distances(const Distance& distance) : law_(distance.law) {
  if (law_ == Law::power) {
    if (!(distance.exponent >= 0 && distance.exponent <= 10))
      throw Error("the exponent of the distance of duplicates must be within 0..10, as in power:1.2");
    ranks_ = ZipfRanks(1, distance.exponent);
    return;
  }
  if (!(distance.median >= 1 && distance.median <= 0x1p40))
    throw Error("the median distance of duplicates must be within 1..2^40, as in lognormal:1024,8");
  if (!(distance.factor >= 1 && distance.factor <= 1024))
    throw Error("the factor of a log-normal distance must be within 1..1024, as in lognormal:1024,8");
  median_log2_ = log2_fixed(distance.median);
  factor_log2_ = log2_fixed(distance.factor);
}

std::uint64_t Distances::operator()(Xoshiro& random, std::uint64_t firsts) noexcept {
  if (law_ == Law::lognormal) return (lognormal(random) - 1) % firsts + 1;
  ranks_.limit_to(firsts);
  return ranks_(random);
}

// In whole numbers, so that every machine draws the same.
std::uint64_t Distances::lognormal(Xoshiro& random) const noexcept {
  // The binary logarithm of the distance in 1/2^16: 12 uniform numbers added up are as good as normal, with standard
  // deviation 1; 32 bits and a division by 2^32 each, with the mean of 6 taken off.
  std::uint64_t twelve = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t two = random();
    twelve += (two >> 32) + (two & 0xFFFFFFFFu);
  }
  const std::int64_t normal = static_cast<std::int64_t>(twelve >> 16) - (6ll << 16);
  const std::int64_t log2 = std::clamp<std::int64_t>(median_log2_ + ((factor_log2_ * normal) >> 16), 0, 62ll << 16);
  // 2^f for a fraction f is 1 + f(0.6565 + 0.3435 f), to 0.3 %.
  const std::uint64_t f = static_cast<std::uint64_t>(log2) & 0xFFFF;
  const std::uint64_t power = 65536 + ((f * (43024 + ((22512 * f) >> 16))) >> 16);
  const std::int64_t whole = log2 >> 16;
  return whole < 16 ? power >> (16 - whole) : power << (whole - 16);
}

}  // namespace nodup
