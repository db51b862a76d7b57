// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_table_params.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/theory/fingerprint.hpp"
#include "nodup/theory/growing.hpp"

namespace nodup {

namespace {

constexpr double kFastLoad = 0.82;
constexpr double kCompactLoad = 0.95;
constexpr double kMostLoad = 0.97;  // the search for room stays short up to here

constexpr unsigned kLeastSlotBits = 12, kMostSlotBits = 64;
constexpr unsigned kLeastTagBits = 4, kMostTagBits = 6;
constexpr std::uint64_t kSpareBuckets = 8;  // small tables fill less evenly
constexpr std::uint64_t kMostBuckets = std::uint64_t{1} << 58;

// 58 and 60 bits fit as well where they always begin at an even bit, or at half a byte.
unsigned possible_fingerprint(unsigned bits, unsigned tag_bits) {
  if (bits <= SlotTable<true>::kWidestFingerprint) return std::max(bits, kLeastSlotBits - tag_bits);
  return tag_bits == 4 ? 60 : 58;
}

std::uint64_t buckets_for(double held, double load) {
  return static_cast<std::uint64_t>(std::min(std::ceil(held / (4 * load)), static_cast<double>(kMostBuckets))) +
         kSpareBuckets;
}

// The most that fit; see Shape::bytes.
std::uint64_t buckets_within(std::uint64_t bytes, const AgedTableParams::Shape& shape) {
  const std::uint64_t whole_lines = bytes / 64 * 64;
  return whole_lines < 64 ? 0 : (whole_lines - 8) * 8 / shape.bucket_bits();
}

}  // namespace

double AgedTableParams::most_held(double keys_in_window) const {
  const auto live = static_cast<double>(generations());
  return window.endless() ? keys_in_window : keys_in_window * live / (live - 1);
}

AgedTableParams AgedTableParams::fit(const Goal& goal) {
  check_goal(goal);
  AgedTableParams p;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  p.error = goal.error;
  p.max_bytes = goal.bytes;
  p.window = goal.window;
  p.most_load = goal.compact ? kCompactLoad : kFastLoad;
  p.tag_bits = kLeastTagBits;
  const std::uint64_t needed = Generations::needed(goal.window, std::uint64_t{1} << kMostTagBits);
  while (p.tag_bits < kMostTagBits && p.generations() < needed) ++p.tag_bits;
  // A little of the error is left to further tables.
  p.fingerprint_bits = possible_fingerprint(theory::fingerprint_bits(kMostLoad, 0.98 * goal.error), p.tag_bits);
  const double held = p.most_held(static_cast<double>(p.keys));
  p.buckets = buckets_for(held, p.most_load);
  if (goal.bytes == 0 || p.bytes() <= goal.bytes) return p;
  // Within the limit: a fuller table, then a higher error, at last fewer keys.
  p.most_load = kCompactLoad;
  p.buckets = buckets_for(held, p.most_load);
  while (p.bytes() > goal.bytes && p.fingerprint_bits + p.tag_bits > kLeastSlotBits)
    p.fingerprint_bits = std::min(p.fingerprint_bits - 1, SlotTable<true>::kWidestFingerprint);
  if (p.bytes() > goal.bytes) {
    p.buckets = std::max<std::uint64_t>(buckets_within(goal.bytes, p.shape(1)), 1);
    p.keys = std::min(p.keys, capacity(p.shape(1)));
  }
  return p;
}

AgedTableParams::Shape AgedTableParams::shape(std::uint64_t number) const {
  Shape shape{.buckets = buckets, .fingerprint_bits = fingerprint_bits, .tag_bits = tag_bits};
  if (number == 1) return shape;
  const double first = theory::fingerprint_false_positive(kMostLoad, fingerprint_bits);
  const double own = theory::stage_error(std::max(error - first, 0.02 * error), number - 1);
  shape.fingerprint_bits = possible_fingerprint(theory::fingerprint_bits(kMostLoad, own), tag_bits);
  shape.buckets = buckets_for(most_held(static_cast<double>(theory::stage_keys(keys, number))), most_load);
  return shape;
}

std::optional<AgedTableParams::Shape> AgedTableParams::shape_within_limit(std::uint64_t number) const {
  Shape wanted = shape(number);
  if (number == 1 || max_bytes == 0) return wanted;
  std::uint64_t left = max_bytes;
  for (std::uint64_t before = 1; before < number; ++before) left -= std::min(left, shape(before).bytes());
  if (wanted.bytes() <= left) return wanted;
  const std::uint64_t buckets_left = buckets_within(left, wanted);
  if (buckets_left < wanted.buckets / 16) return std::nullopt;
  wanted.buckets = buckets_left;
  return wanted;
}

std::uint64_t AgedTableParams::capacity(const Shape& shape) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(kMostLoad * static_cast<double>(shape.slots())), 1);
}

Rates AgedTableParams::rates(std::uint64_t keys_in_window) const {
  const double held = most_held(static_cast<double>(keys_in_window));
  const double full = std::min(held / static_cast<double>(shape(1).slots()), kMostLoad);
  return {.false_positive = theory::fingerprint_false_positive(full, fingerprint_bits)};
}
double AgedTableParams::lines_per_event() const {
  const double lines_per_bucket = 1 + shape(1).bucket_bits() / 512.0;
  return lines_per_bucket * (2 + theory::buckets_searched(most_load) / 2);
}
double AgedTableParams::slack() const { return Generations::slack(window, generations()); }
Facts AgedTableParams::facts() const {
  return {{"slots", std::to_string(shape(1).slots())},
          {"fingerprint_bits", std::to_string(fingerprint_bits)},
          {"generation_bits", std::to_string(tag_bits)},
          {"load", fmt::format("{:g}", most_load)},
          {"capacity", std::to_string(keys)}};
}

void AgedTableParams::save(Writer& out) const {
  out.u64(keys);
  out.f64(error);
  out.f64(most_load);
  out.u64(tag_bits);
  out.u64(fingerprint_bits);
  out.u64(buckets);
  save_window(out, window);
}

AgedTableParams AgedTableParams::load(Reader& in) {
  AgedTableParams p;
  p.keys = in.u64("keys", 1, 4 * (kMostBuckets + kSpareBuckets));
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  p.most_load = in.f64("load", 0.1, kMostLoad);
  p.tag_bits = static_cast<unsigned>(in.u64("tag bits", kLeastTagBits, kMostTagBits));
  p.fingerprint_bits =
      static_cast<unsigned>(in.u64("fingerprint bits", kLeastSlotBits - p.tag_bits, kMostSlotBits - p.tag_bits));
  if (possible_fingerprint(p.fingerprint_bits, p.tag_bits) != p.fingerprint_bits)
    in.damaged("fingerprints of this width cannot be");
  p.buckets = in.u64("buckets", std::max<std::uint64_t>(p.keys / 4, 1), kMostBuckets + kSpareBuckets);
  p.window = load_window(in);
  return p;
}

}  // namespace nodup
