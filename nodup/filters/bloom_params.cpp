// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/bloom_params.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nodup/filters/fit.hpp"

namespace nodup {

namespace {
constexpr std::uint64_t kLineBits = 512;

// Whole cache lines that hold `probes` slices of whole bits; infinity stays what it is.
double rounded_bits(double bits, double probes, double line) {
  const double slices = std::ceil(bits / probes) * probes;
  return std::max(std::ceil(slices / line) * line, double{BloomParams::kFewestFittedBits});
}

double least_bits(theory::Placing placing, double keys, double error, double line) {
  double least = HUGE_VAL;
  for (std::uint64_t probes = 1; probes <= BloomParams::kMostProbes; ++probes) {
    const auto k = static_cast<double>(probes);
    least = std::min(least, rounded_bits(theory::bloom_bits(placing, k, keys, error), k, line));
  }
  return least;
}
}  // namespace

BloomParams BloomParams::fit(const Goal& goal, theory::Placing placing, std::uint64_t cell_bits) {
  check_goal(goal);
  BloomParams p;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  const auto keys = static_cast<double>(p.keys);
  const std::uint64_t line = kLineBits / cell_bits;  // cells
  const double wanted = least_bits(placing, keys, goal.error, static_cast<double>(line));
  // Compared as doubles: the wish need not fit an integer.
  const std::uint64_t most = std::min(most_units(goal, kLineBits / 8), kMostBits / line) * line;
  p.bits = wanted < static_cast<double>(most) ? static_cast<std::uint64_t>(wanted) : most;
  const auto bits = static_cast<double>(p.bits);
  // Where the memory suffices, the best number of probes reaches the error, since one number does. Rounding
  // may have left bits to spare, in small filters many: then fewer probes, which are time, do as well.
  p.probes = theory::bloom_best_probes(placing, bits, keys, kMostProbes);
  for (std::uint64_t fewer = 1; fewer < p.probes; ++fewer) {
    if (theory::bloom_false_positive(placing, bits, static_cast<double>(fewer), keys) > goal.error) continue;
    p.probes = fewer;
    break;
  }
  return p;
}

const BloomParams& BloomParams::checked() const {
  if (probes < 1 || probes > kMostProbes)
    throw Error(fmt::format("{} probes per key: a filter takes 1 to {}", probes, kMostProbes));
  if (bits < probes || bits > kMostBits)
    throw Error(fmt::format("{} bits: a filter with {} probes takes {} to {}", bits, probes, probes, kMostBits));
  return *this;
}

void BloomParams::require_same(const BloomParams& other, std::string_view kind) const {
  const auto same = [&](std::string_view what, std::uint64_t ours, std::uint64_t theirs) {
    if (ours != theirs)
      throw Error(
          fmt::format("cannot merge two {} filters of different {}: {} and {}; build both for the same number "
                      "of keys, error and memory",
                      kind, what, ours, theirs));
  };
  same("bits", bits, other.bits);
  same("probes", probes, other.probes);
  same("capacity", keys, other.keys);
}

Rates BloomParams::rates(theory::Placing placing, std::uint64_t keys_held) const {
  return {theory::bloom_false_positive(placing, static_cast<double>(bits), static_cast<double>(probes),
                                       static_cast<double>(keys_held)),
          0};
}

Facts BloomParams::facts() const {
  return {{"bits", fmt::to_string(bits)}, {"probes", fmt::to_string(probes)}, {"capacity", fmt::to_string(keys)}};
}

void BloomParams::save(Writer& out) const {
  out.u64(bits);
  out.u64(probes);
  out.u64(keys);
}

BloomParams BloomParams::load(Reader& in) {
  BloomParams p;
  p.bits = in.u64("bits", 1, kMostBits);
  p.probes = in.u64("probes", 1, std::min(kMostProbes, p.bits));
  p.keys = in.u64("capacity");
  return p;
}

void save_bits(Writer& out, const BitArray& bits) { out.bytes(bits.pages().span()); }

BitArray load_bits(Reader& in, std::uint64_t bits, std::uint64_t used, std::uint64_t keys) {
  in.require((bits + 63) / 64 * 8, "bits");
  BitArray loaded(bits);
  in.bytes(loaded.pages().span(), "bits");
  for (std::uint64_t i = used; i < loaded.words() * 64; ++i)
    if (loaded.test(i)) in.damaged("a bit past the end of the filter is set");
  if ((loaded.count() == 0) != (keys == 0)) in.damaged("its bits and its number of keys contradict each other");
  return loaded;
}

std::uint64_t merged_keys(double estimate, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = a > UINT64_MAX - b ? UINT64_MAX : a + b;
  // Compared as doubles: an estimate may be infinite, and past 2^53 the two bounds may be one double.
  if (!(estimate < static_cast<double>(most))) return most;
  return std::clamp(static_cast<std::uint64_t>(estimate + 0.5), std::max(a, b), most);
}

}  // namespace nodup
