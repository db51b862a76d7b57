// SPDX-License-Identifier: Apache-2.0
//
// How a timer filter follows from a goal: the part of timer.hpp that needs no filter.
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "nodup/filters/bloom_params.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/filters/timer.hpp"
#include "nodup/theory/bloom.hpp"
#include "nodup/theory/growing.hpp"
#include "nodup/theory/timer.hpp"

namespace nodup {

namespace {

// A fit takes no more than 8 bits per cell, 254 generations: a slack of 0.4 %.
constexpr unsigned kWidestFitted = 8;

// Numbers of stages end here: stage 64 would be 4^63 times the first.
constexpr std::uint64_t kMostStages = 64;

std::uint64_t bytes_of(std::uint64_t cells, unsigned width) { return CellArray::packed_bytes(cells, width) + 8; }

std::uint64_t cells_within(std::uint64_t bytes, unsigned width) {
  return std::max<std::uint64_t>(bytes < 16 ? 1 : std::min((bytes - 8), UINT64_MAX / 8) * 8 / width, 1);
}

double stage_error(const Timer::Params& p, std::uint64_t number) {
  return p.equal_stages ? p.error : theory::stage_error(p.error, number);
}

// Cells and probes for so many keys held.
BloomParams cells_for(double keys, double error) {
  const double with_margin = std::ceil(theory::timer_keys_with_margin(keys, error));
  const std::uint64_t n = with_margin < 1.8e19 ? static_cast<std::uint64_t>(with_margin) : UINT64_MAX;
  return BloomParams::fit({.keys = n, .error = error}, theory::Placing::anywhere);
}

}  // namespace

unsigned Timer::Params::width() const {
  return static_cast<unsigned>(std::bit_width(generations + (window.endless() ? 0 : 1)));
}

// Keys that are held for `keys` within the span: those of the lateness and of one generation, too. An event is compared
// with no more than these, however late it is.
double Timer::Params::held(double keys_in_span) const {
  if (window.endless()) return keys_in_span;
  const auto span = static_cast<double>(std::max<Tick>(window.span, 1));
  return keys_in_span * (1 + static_cast<double>(window.lateness) / span + slack(*this));
}

Timer::Params Timer::fit(const Goal& goal) {
  check_goal(goal);
  Params p;
  p.keys = std::max<std::uint64_t>(goal.keys, 1);
  p.error = goal.error;
  p.window = goal.window;
  p.max_bytes = goal.bytes;
  if (!goal.window.endless()) {
    // All that the bits can tell apart: less slack is fewer keys to hold.
    const std::uint64_t needed = Generations::needed(goal.window, (1u << kWidestFitted) - 2);
    p.generations = (std::uint64_t{1} << std::bit_width(needed + 1)) - 2;
  }
  const double keys = p.held(static_cast<double>(p.keys));
  const BloomParams cells = cells_for(keys, theory::stage_error(p.error, 1));
  p.cells = cells.bits;
  p.probes = cells.probes;
  if (goal.bytes != 0 && bytes(p) > goal.bytes) {
    p.cells = cells_within(goal.bytes, p.width());
    p.probes = theory::bloom_best_probes(theory::Placing::anywhere, static_cast<double>(p.cells), keys,
                                         TimerStage::kMostProbes);
  }
  return p;
}

Rates Timer::rates(const Params& p, std::uint64_t keys) {
  // Further stages keep the bound.
  if (keys > p.keys && !p.equal_stages) return {.false_positive = p.error};
  const auto m = static_cast<double>(p.cells), k = static_cast<double>(p.probes);
  const double n = p.held(static_cast<double>(keys));
  if (p.equal <= 1) return {.false_positive = theory::bloom_false_positive(theory::Placing::anywhere, m, k, n)};
  const std::vector<double> even(p.generations, 1.0);
  return theory::timer_rates(theory::timer_shares(m, k, n, p.generations), even, static_cast<unsigned>(p.probes),
                             static_cast<unsigned>(p.equal));
}

std::uint64_t Timer::bytes(const Params& p) { return bytes_of(p.cells, p.width()); }

double Timer::lines_per_event(const Params& p) {
  const double lines = std::ceil(static_cast<double>(bytes(p)) / 64);
  const double probed = theory::cells_hit(lines, static_cast<double>(p.probes));
  if (p.window.endless()) return probed;
  // Once round while a generation's keys come; a small array is gone through at one of them.
  const double keys = p.held(static_cast<double>(p.keys)) / static_cast<double>(p.generations);
  return probed + lines / std::max(keys, 1.0);
}

Facts Timer::facts(const Params& p) {
  Facts facts = {{"error", fmt::format("{:g}", p.error)},        {"cells", fmt::to_string(p.cells)},
                 {"bits_per_cell", fmt::to_string(p.width())},   {"probes", fmt::to_string(p.probes)},
                 {"generations", fmt::to_string(p.generations)}, {"capacity", fmt::to_string(p.keys)}};
  if (p.equal > 1) facts.emplace_back("equal", fmt::to_string(p.equal));
  return facts;
}

// The first is what the parameters say. Others are fitted; under a limit on memory within what all stages of lower
// numbers would leave, whether they are there or not: so a size never depends on the moment.
std::optional<Timer::Size> Timer::size_of(const Params& p, std::uint64_t number) {
  const auto sized = [&](std::uint64_t cells, std::uint64_t probes, double error) {
    const auto m = static_cast<double>(cells), k = static_cast<double>(probes);
    const double full = p.full_by_count ? theory::timer_capacity(m, k, error) : theory::timer_full(m, k, error);
    return Size{cells, probes, static_cast<std::uint64_t>(full)};
  };
  if (number == 1 || p.equal_stages) return sized(p.cells, p.probes, stage_error(p, number));
  std::uint64_t below = bytes(p);
  for (std::uint64_t i = 2; i <= std::min(number, kMostStages); ++i) {
    const double error = stage_error(p, i), keys = p.held(static_cast<double>(theory::stage_keys(p.keys, i)));
    BloomParams fitted = cells_for(keys, error);
    if (p.max_bytes != 0 && bytes_of(fitted.bits, p.width()) > p.max_bytes - std::min(p.max_bytes, below)) {
      if (below >= p.max_bytes) return {};
      fitted.bits = cells_within(p.max_bytes - below, p.width());
      double most = 0;
      for (std::uint64_t probes = 1; probes <= TimerStage::kMostProbes; ++probes) {
        const double capacity =
            theory::timer_capacity(static_cast<double>(fitted.bits), static_cast<double>(probes), error);
        if (capacity > most) fitted.probes = probes;
        most = std::max(most, capacity);
      }
      // Worth having from a sixteenth of its keys on, as in `growing`.
      if (most < keys / 16) return {};
    }
    if (i == number) return sized(fitted.bits, fitted.probes, error);
    below += bytes_of(fitted.bits, p.width());
  }
  return {};
}

}  // namespace nodup
