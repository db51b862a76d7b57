// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/age_params.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nodup/error.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/theory/age_partitioned.hpp"
#include "nodup/theory/cost.hpp"

namespace nodup {

namespace {

// Keys of one generation, of every key of the window.
double share(const Window& window, std::uint64_t generations) {
  if (window.endless()) return 1 / static_cast<double>(generations - 1);
  return static_cast<double>(Generations::length(window, generations)) /
         static_cast<double>(std::max<Tick>(window.span, 1));
}

std::uint64_t fewest_generations(const Window& window) {
  if (!window.endless()) return Generations::needed(window, AgeParams::kMostGenerations);
  // Time alone forgets nothing; the slack is then in keys.
  const double steps = std::ceil(1 / std::max(window.slack, 1e-3));
  return 1 + static_cast<std::uint64_t>(std::clamp(steps, 1., AgeParams::kMostGenerations - 1.));
}

double false_positive(const AgeParams& p, const AgeSlices& make, double keys_per_generation) {
  return theory::age_false_positive(p.probes, p.fill(make, keys_per_generation));
}

// So many cells of a slice that they might as well be infinitely many.
constexpr std::uint64_t kLarge = std::uint64_t{1} << 40;

// The most keys per cell and generation that keep to the error, in large slices; up to 1e-4 of it. The logarithm of the
// error is nearly a straight line over that of the load: a secant that keeps the root between its ends (Illinois) needs
// half a dozen steps.
double most_load(AgeParams p, const AgeSlices& make, double error) {
  p.cells = kLarge;
  const auto excess = [&](double log_load) {
    const double reached = false_positive(p, make, std::exp2(log_load) * static_cast<double>(kLarge));
    return std::log2(std::max(reached, 1e-300) / error);
  };
  // In powers of two: from one key per 10^9 cells to slices with every bit set.
  double low = -30, high = 12, low_excess = excess(low), high_excess = excess(high);
  if (high_excess <= 0) return std::exp2(high);
  for (int steps = 0; steps < 60 && high - low > 1e-4 && low_excess < -1e-4; ++steps) {
    const double middle = std::clamp(low - low_excess * (high - low) / (high_excess - low_excess),
                                     low + (high - low) / 64, high - (high - low) / 64);
    const double middle_excess = excess(middle);
    if (middle_excess <= 0) {
      low = middle, low_excess = middle_excess, high_excess /= 2;
    } else {
      high = middle, high_excess = middle_excess, low_excess /= 2;
    }
  }
  return std::exp2(low);
}

// Close enough to rank by: a duplicate is met halfway through the walk that a new event makes, and matches in k slices.
double about_lines_per_event(AgeParams p, const AgeSlices& make, double load) {
  p.cells = kLarge;
  std::vector<double> fill = p.fill(make, load * static_cast<double>(kLarge));
  std::ranges::reverse(fill);
  return .75 * theory::age_walk(p.probes, fill).accesses_missed + static_cast<double>(p.probes) - .5;
}

struct Candidate {
  AgeParams p;
  double error = 2;
  double cost = std::numeric_limits<double>::infinity();
};

// Slices large enough for the error, or as large as the limit allows; false if it allows none.
bool size_slices(Candidate& candidate, const AgeSlices& make, const Goal& goal, double load) {
  AgeParams& p = candidate.p;
  const std::uint64_t unit = std::max<std::uint64_t>(8 / make.cell_bits, 1);  // cells in whole bytes
  const std::uint64_t slice_unit_bytes = p.slices() * (unit * make.cell_bits / 8);
  if (goal.bytes > 0 && goal.bytes < slice_unit_bytes) return false;
  const auto most = static_cast<double>(most_units(goal, slice_unit_bytes));
  const auto quota = static_cast<double>(p.quota);
  // A slice of few cells fills a little faster than the limit of large ones: then one unit more is enough.
  double units = std::max(1., std::ceil(quota / load / static_cast<double>(unit)));
  p.cells = static_cast<std::uint64_t>(std::min(units, most)) * unit;
  if (units < most && false_positive(p, make, quota) > goal.error) p.cells += unit;
  candidate.error = std::max(false_positive(p, make, quota), goal.error);
  return true;
}

}  // namespace

std::vector<double> AgeParams::fill(const AgeSlices& make, double keys_per_generation) const {
  std::vector<double> fill(slices());
  for (std::uint64_t i = 0; i < fill.size(); ++i)
    fill[i] = i < probes ? make.fill(keys_per_generation * static_cast<double>(i + 1), static_cast<double>(cells), bits)
                         : fill[i - 1];
  return fill;
}

Rates AgeParams::rates(const AgeSlices& make, std::uint64_t keys_in_window) const {
  const double part = std::min(1., static_cast<double>(keys_in_window) / static_cast<double>(keys));
  return {.false_positive = false_positive(*this, make, static_cast<double>(quota) * part)};
}

double AgeParams::lines_per_event(const AgeSlices& make) const {
  std::vector<double> fill = this->fill(make, static_cast<double>(quota));
  std::ranges::reverse(fill);  // the walk begins at the young end
  // The first slice a new event looks at is one it is then put into.
  const double new_event = theory::age_walk(probes, fill).accesses_missed + static_cast<double>(probes - 1);
  return (new_event + theory::age_window_accesses(probes, fill)) / 2;
}

Facts AgeParams::facts(const AgeSlices& make) const {
  Facts facts = {{"slices", fmt::to_string(slices())},
                 {"slices_per_key", fmt::to_string(probes)},
                 {fmt::format("{}_per_slice", make.cells), fmt::to_string(cells)}};
  if (make.cell_bits > 1) facts.emplace_back("bits_per_line", fmt::to_string(bits));
  facts.emplace_back("generations", fmt::to_string(generations));
  facts.emplace_back("keys_per_generation", fmt::to_string(quota));
  facts.emplace_back("capacity", fmt::to_string(keys));
  return facts;
}

AgeParams AgeParams::fit(const AgeSlices& make, const Goal& goal) {
  check_goal(goal);
  Candidate best;
  // More generations than the slack asks for take less memory (of k + l slices l hold the window) and more time.
  constexpr double kMore[] = {1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.4, 8, 10, 12.8, 16};
  const std::uint64_t fewest = fewest_generations(goal.window);
  for (const double more : std::span(kMore).first(goal.compact ? std::size(kMore) : 7)) {
    for (const std::uint64_t bits : make.bits) {
      double least_memory = std::numeric_limits<double>::infinity();
      for (std::uint64_t probes = 1; probes <= kMostProbes; ++probes) {
        Candidate candidate;
        AgeParams& p = candidate.p;
        p = {.window = goal.window,
             .probes = probes,
             .generations = std::min(1 + static_cast<std::uint64_t>(std::ceil(static_cast<double>(fewest - 1) * more)),
                                     kMostGenerations),
             .bits = bits,
             .keys = std::max<std::uint64_t>(goal.keys, 1),
             .max_bytes = goal.bytes};
        const double per_key = share(p.window, p.generations);
        // Below 2^63, where doubles end to be whole numbers of 64 bits.
        p.quota = static_cast<std::uint64_t>(
            std::clamp(std::ceil(static_cast<double>(p.keys) * per_key * (1 - 1e-12)), 1., 9e18));

        // The cost is that of 2^30 keys, whatever their number, so that more keys never get a smaller choice. An event
        // touches `probes` lines at least: if that is too dear, it need not be known how many they are.
        const double load = most_load(p, make, goal.error);
        const double memory = static_cast<double>(p.slices() * make.cell_bits) / 8 * per_key / load * 0x1p30;
        const auto cost_of = [&](double lines) {
          return goal.compact ? memory : cost(static_cast<std::uint64_t>(std::min(memory, 1e18)), lines);
        };
        candidate.cost = cost_of(static_cast<double>(probes));
        if ((memory > least_memory && candidate.cost >= best.cost) || memory > 2 * least_memory) break;
        least_memory = std::min(memory, least_memory);

        if (!size_slices(candidate, make, goal, load)) continue;
        const auto better = [&] {
          return candidate.error < best.error || (candidate.error == best.error && candidate.cost < best.cost);
        };
        if (!better()) continue;
        candidate.cost = cost_of(about_lines_per_event(p, make, load));
        if (better()) best = candidate;
      }
    }
  }
  if (best.error > 1)  // the limit is too low for one cell in every slice: checked() will say so
    best.p = {.window = goal.window,
              .generations = fewest,
              .bits = make.bits.front(),
              .cells = std::max<std::uint64_t>(8 / make.cell_bits, 1),
              .max_bytes = goal.bytes};
  return best.p;
}

const AgeParams& AgeParams::checked(const AgeSlices& make) const {
  if (max_bytes > 0 && bytes(make) > max_bytes)
    throw Error(fmt::format(
        "{} generations take {} bytes of memory at the least and the limit is {}: take a larger --memory or more slack",
        generations, bytes(make), max_bytes));
  return *this;
}

void AgeParams::save(Writer& out) const {
  save_window(out, window);
  out.u64(probes);
  out.u64(generations);
  out.u64(bits);
  out.u64(cells);
  out.u64(quota);
  out.u64(keys);
}

AgeParams AgeParams::load(Reader& in, const AgeSlices& make) {
  AgeParams p;
  p.window = load_window(in);
  p.probes = in.u64("slices per key", 1, kMostProbes);
  p.generations = in.u64("generations", 2, kMostGenerations);
  p.bits = in.u64("bits per slice", 1, 64);
  if (std::ranges::find(make.bits, p.bits) == make.bits.end()) in.damaged("there are no slices of that many bits");
  p.cells = in.u64("cells of a slice", 1, (std::uint64_t{1} << 60) / make.cell_bits / p.slices());
  if (p.cells * make.cell_bits % 8 != 0) in.damaged("a slice is not of whole bytes");
  p.quota = in.u64("keys of a generation", 1, std::numeric_limits<std::uint64_t>::max());
  p.keys = in.u64("capacity", 1, std::numeric_limits<std::uint64_t>::max());
  return p;
}

AgeStretch age_stretch(const Generations& generations, std::uint64_t quota, Tick t) {
  AgeStretch stretch{.reach = generations.reach(t)};
  stretch.firm = stretch.reach;
  while (stretch.firm > 0 && generations.in_slack(stretch.firm - 1, t)) --stretch.firm;
  // With refresh all that were seen before their own generation; if that one is not open yet, simply all.
  const bool refresh = generations.window().refresh;
  if (refresh) stretch.again = 0;
  if (generations.must_open(t)) return stretch;
  stretch.own = generations.age_of(t);
  if (refresh) stretch.again = stretch.own + 1;
  // A late event whose generation is full goes into the next younger one: it is remembered longer, and no error rises.
  while (stretch.own > 0 && generations[stretch.own].keys >= quota) --stretch.own;
  stretch.room = quota - std::min(quota, generations[stretch.own].keys);
  return stretch;
}

std::size_t age_stretch_length(const Generations& generations, std::uint64_t quota, std::span<const Tick> ticks,
                               std::size_t last) {
  // All of a stretch goes one way with time. So what is the same for the least and the greatest tick is so for all
  // between them.
  std::size_t length = std::min(2 * std::max<std::size_t>(last, 16), ticks.size());
  for (; length > 1; length /= 2) {
    const auto [least, greatest] = std::ranges::minmax(ticks.first(length));
    if (least == greatest) break;
    const AgeStretch a = age_stretch(generations, quota, least), b = age_stretch(generations, quota, greatest);
    if (a.reach == b.reach && a.firm == b.firm && a.own == b.own && a.room == b.room && a.again == b.again) break;
  }
  return length;
}

}  // namespace nodup
