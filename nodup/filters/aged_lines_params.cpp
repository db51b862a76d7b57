// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/aged_lines_params.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "nodup/bits/aged_line.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/theory/fingerprint.hpp"
#include "nodup/theory/growing.hpp"

namespace nodup {

namespace {

// How full lines of so many slots may be planned, so that a key finds room in one of its two lines, or nearly always
// after one move: few slots fill less evenly. Fuller, if memory counts more than speed; and how full at the most.
constexpr double fast_load(unsigned slots) { return 0.72 + 0.01 * std::min(slots, 17u); }
constexpr double compact_load(unsigned slots) { return fast_load(slots) + 0.03; }
constexpr double full_load(unsigned slots) { return fast_load(slots) + 0.06; }

// 14 make a slack of 1/13. More leave fewer bits of a line's 52 to its fingerprints.
constexpr std::uint64_t kLeastGenerations = 14, kMostGenerations = 40;
constexpr std::uint64_t kSpareLines = 4;  // small tables fill less evenly
constexpr std::uint64_t kMostLines = std::uint64_t{1} << 54;

}  // namespace

std::uint64_t AgedLinesParams::Shape::bytes() const { return lines * kLineBytes; }
double AgedLinesParams::Shape::false_positive(double load) const {
  return theory::class_false_positive(load, fingerprint_bits, slots_per_line);
}

double AgedLinesParams::most_held(double keys_in_window) const {
  if (window.endless()) return keys_in_window;
  const auto live = static_cast<double>(generations);
  const double spans = static_cast<double>(Generations::kept(window)) / static_cast<double>(window.span);
  return keys_in_window * spans * live / (live - 1);
}

// All ages of a full line must find room: a bit for each fingerprint and one for each generation.
unsigned AgedLinesParams::slots_per_line(unsigned width) const {
  return std::min(AgedLineShape::kSlotBits / width, LineAges::kBits - static_cast<unsigned>(generations));
}

// The narrowest that keeps to the error in a table that is as full as can be; the widest if none does.
unsigned AgedLinesParams::width_for(double wanted) const {
  unsigned width = AgedLayout::kNarrowest;
  while (width < AgedLineShape::kWidest &&
         Shape{1, width, slots_per_line(width)}.false_positive(full_load(slots_per_line(width))) > wanted)
    ++width;
  return width;
}

std::uint64_t AgedLinesParams::lines_for(double held, unsigned width) const {
  const unsigned slots = slots_per_line(width);
  const double needed = std::ceil(held / (slots * std::min(most_load, compact_load(slots))));
  return static_cast<std::uint64_t>(std::min(needed, static_cast<double>(kMostLines))) + kSpareLines;
}

AgedLinesParams AgedLinesParams::fit(const Goal& goal) {
  check_goal(goal);
  AgedLinesParams p;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  p.error = goal.error;
  p.max_bytes = goal.bytes;
  p.window = goal.window;
  p.generations = std::clamp(Generations::needed(goal.window, kMostGenerations), kLeastGenerations, kMostGenerations);
  // A little of the error is left to further tables. Not more: 1e-6 would take a bit more.
  p.fingerprint_bits = p.width_for(0.985 * goal.error);
  const double held = p.most_held(static_cast<double>(p.keys));
  const auto plan = [&](auto&& load) {
    p.most_load = load(p.slots_per_line(p.fingerprint_bits));
    p.lines = p.lines_for(held, p.fingerprint_bits);
  };
  plan(goal.compact ? compact_load : fast_load);
  if (goal.bytes == 0 || p.bytes() <= goal.bytes) return p;
  // Within the limit: a fuller table, then a higher error, at last fewer keys.
  plan(compact_load);
  while (p.bytes() > goal.bytes && p.fingerprint_bits > AgedLayout::kNarrowest) {
    --p.fingerprint_bits;
    plan(compact_load);
  }
  if (p.bytes() > goal.bytes) {
    p.lines = std::max<std::uint64_t>(goal.bytes / kLineBytes, 1);
    p.keys = std::min(p.keys, capacity(p.shape(1)));
  }
  return p;
}

AgedLinesParams::Shape AgedLinesParams::shape(std::uint64_t number) const {
  if (number == 1) return {lines, fingerprint_bits, slots_per_line(fingerprint_bits)};
  const double first = shape(1).false_positive(full_load(shape(1).slots_per_line));
  const double left = first < error ? error - first : 0.02 * error;  // under a memory limit nothing may be left
  const unsigned width = width_for(theory::stage_error(left, number - 1));
  const double held = most_held(static_cast<double>(theory::stage_keys(keys, number)));
  return {lines_for(held, width), width, slots_per_line(width)};
}

std::optional<AgedLinesParams::Shape> AgedLinesParams::shape_within_limit(std::uint64_t number) const {
  Shape wanted = shape(number);
  if (number == 1 || max_bytes == 0) return wanted;
  std::uint64_t left = max_bytes;
  for (std::uint64_t before = 1; before < number; ++before) left -= std::min(left, shape(before).bytes());
  if (wanted.bytes() <= left) return wanted;
  const std::uint64_t lines_left = left / kLineBytes;
  if (lines_left < std::max<std::uint64_t>(wanted.lines / 16, 1)) return std::nullopt;
  wanted.lines = lines_left;
  return wanted;
}

std::uint64_t AgedLinesParams::capacity(const Shape& shape) {
  return std::max<std::uint64_t>(
      static_cast<std::uint64_t>(full_load(shape.slots_per_line) * static_cast<double>(shape.slots())), 1);
}

Rates AgedLinesParams::rates(std::uint64_t keys_in_window) const {
  const double held = most_held(static_cast<double>(keys_in_window));
  return {.false_positive = shape(1).false_positive(
              std::min(held / static_cast<double>(shape(1).slots()), full_load(shape(1).slots_per_line)))};
}
double AgedLinesParams::slack() const { return Generations::slack(window, generations); }
Facts AgedLinesParams::facts() const {
  return {{"lines", std::to_string(lines)},
          {"slots_per_line", std::to_string(shape(1).slots_per_line)},
          {"fingerprint_bits", std::to_string(fingerprint_bits)},
          {"generations", std::to_string(generations)},
          {"load", fmt::format("{:g}", most_load)},
          {"capacity", std::to_string(keys)}};
}

void AgedLinesParams::save(Writer& out) const {
  out.u64(keys);
  out.f64(error);
  out.f64(most_load);
  out.u64(generations);
  out.u64(fingerprint_bits);
  out.u64(lines);
  save_window(out, window);
}

AgedLinesParams AgedLinesParams::load(Reader& in) {
  AgedLinesParams p;
  p.keys = in.u64("keys", 1, LineAges::kBits * (kMostLines + kSpareLines));
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  p.most_load = in.f64("load", 0.1, full_load(LineAges::kBits));
  p.generations = in.u64("generations", kLeastGenerations, kMostGenerations);
  p.fingerprint_bits =
      static_cast<unsigned>(in.u64("fingerprint bits", AgedLayout::kNarrowest, AgedLineShape::kWidest));
  p.lines = in.u64("lines", std::max<std::uint64_t>(p.keys / LineAges::kBits, 1), kMostLines + kSpareLines);
  p.window = load_window(in);
  return p;
}

}  // namespace nodup
