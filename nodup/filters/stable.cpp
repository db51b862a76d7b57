// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/stable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/bloom.hpp"
#include "nodup/theory/stable.hpp"

namespace nodup {

const StableParams& StableParams::checked() const {
  const auto require = [](std::string_view what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most)
      throw Error(fmt::format("{} {}: a stable filter takes {} to {}", value, what, least, most));
  };
  require("cells", cells, 1, kMostCells);
  require("bits per cell", cell_bits, 1, kMostCellBits);
  require("probes", probes, 1, kMostProbes);
  require("resets", resets, 1, kMostResets);
  return *this;
}

namespace {

// K and the width of cells; P follows from them and the error.
struct Shape {
  std::uint64_t cell_bits = 1, probes = 1, resets = 1;
  double highest() const { return std::exp2(static_cast<double>(cell_bits)) - 1; }
};
constexpr std::uint64_t kMostFittedCellBits = 3;
// Wide cells let fewer duplicates pass, but want many decrements, a cache line each: more is not worth the time. With
// 32 probes it is enough for an error of 2e-10.
constexpr std::uint64_t kMostFittedResets = 32;

theory::StableMoment moment_of(const Shape& shape, double cells, double records) {
  return theory::stable_after(cells, static_cast<double>(shape.probes), static_cast<double>(shape.resets),
                              shape.highest(), records);
}

// Calls look(shape) for every shape that loses no more events than `error` in the long run.
template <class Look>
void each_shape(double bits, double error, Look&& look) {
  for (std::uint64_t cell_bits = 1; cell_bits <= kMostFittedCellBits; ++cell_bits) {
    for (std::uint64_t probes = 1; probes <= StableParams::kMostProbes; ++probes) {
      Shape shape{cell_bits, probes};
      const double resets = std::ceil(theory::stable_resets(bits / static_cast<double>(cell_bits),
                                                            static_cast<double>(probes), shape.highest(), error));
      if (!(resets <= double{kMostFittedResets})) continue;
      shape.resets = std::max<std::uint64_t>(static_cast<std::uint64_t>(resets), 1);
      look(shape);
    }
  }
}

// Where no shape reaches the error, the lowest there is.
constexpr Shape kLowestError{1, StableParams::kMostProbes, kMostFittedResets};

}  // namespace

// The error is kept in the long run, whatever comes. Of all shapes that keep it the one that lets the fewest duplicates
// pass once goal.keys have come in goal.bytes; or, without a limit on memory, that needs the least for no more than
// kMostPassing of them.
StableParams Stable::fit(const Goal& goal) {
  check_goal(goal);
  StableParams p;
  Shape best = kLowestError;
  if (goal.bytes != 0) {
    p.keys = goal.keys;
    const std::uint64_t bytes = std::max<std::uint64_t>(most_units(goal, 8), 2) * 8 - CellArray::kSpareBytes;
    const std::uint64_t bits = std::min(bytes, Params::kMostCells / 8) * 8;
    const double keys =
        goal.keys != 0 ? static_cast<double>(goal.keys) : kEndlessKeysPerBit * static_cast<double>(bits);
    double least_passing = 2;
    each_shape(static_cast<double>(bits), goal.error, [&](const Shape& shape) {
      const double cells = static_cast<double>(bits / shape.cell_bits);
      const double passing = moment_of(shape, cells, keys).false_negative;
      if (passing >= least_passing) return;
      least_passing = passing;
      best = shape;
    });
    p.cells = bits / best.cell_bits;
  } else {
    p.keys = std::max<std::uint64_t>(goal.keys, 1);
    double bits_per_key = HUGE_VAL;
    each_shape(HUGE_VAL, goal.error, [&](const Shape& shape) {
      const auto width = static_cast<double>(shape.cell_bits);
      const auto reached = [&](double keys_per_cell) {
        return moment_of(shape, 1, keys_per_cell).false_negative <= kMostPassing;
      };
      if (!reached(std::max(width / bits_per_key, 1e-12))) return;  // no better than what was found
      bits_per_key = width / greatest_ratio(reached);
      best = shape;
    });
    const double wanted = std::max(std::ceil(bits_per_key * static_cast<double>(p.keys)), 4096.0);
    const double cells = std::ceil(wanted / static_cast<double>(best.cell_bits));
    p.cells = cells < double{Params::kMostCells} ? static_cast<std::uint64_t>(cells) : Params::kMostCells;
  }
  p.cell_bits = best.cell_bits;
  p.probes = best.probes;
  p.resets = best.resets;
  return p;
}

Rates Stable::rates(const Params& p, std::uint64_t keys) {
  const theory::StableMoment moment =
      moment_of({p.cell_bits, p.probes, p.resets}, static_cast<double>(p.cells), static_cast<double>(keys));
  return {moment.false_positive, moment.false_negative};
}

double Stable::lines_per_event(const Params& p) {
  return theory::cells_hit(std::ceil(static_cast<double>(bytes(p)) / 64), static_cast<double>(p.probes + p.resets));
}

Facts Stable::facts(const Params& p) {
  return {{"cells", fmt::to_string(p.cells)},
          {"cell_bits", fmt::to_string(p.cell_bits)},
          {"probes", fmt::to_string(p.probes)},
          {"resets", fmt::to_string(p.resets)},
          {"capacity", fmt::to_string(p.keys)}};
}

Stable::Stable(const Params& p, std::uint64_t keys, std::uint64_t records, Draws draws, CellArray cells)
    : params_(p), draws_(draws), cells_(std::move(cells)), keys_(keys), records_(records) {
  for (std::uint64_t i = 0; records > 0 && i < p.cells; ++i) live_ += cells_.get(i) != 0;
}

Rates Stable::rates() const {
  const double fill = static_cast<double>(live_) / static_cast<double>(params_.cells);
  return {std::pow(fill, static_cast<double>(params_.probes)), rates(params_, records_).false_negative};
}

// cells u64 | bits per cell u64 | probes u64 | resets u64 | capacity u64 | keys passed u64 | records u64 | draws used
// u64 | packed cells
void Stable::save(Writer& out) const {
  for (const std::uint64_t value :
       {params_.cells, params_.cell_bits, params_.probes, params_.resets, params_.keys, keys_, records_, draws_.used()})
    out.u64(value);
  out.bytes(cells_.packed());
}

Stable Stable::load(Reader& in) {
  Params p;
  p.cells = in.u64("cells", 1, Params::kMostCells);
  p.cell_bits = in.u64("bits per cell", 1, Params::kMostCellBits);
  p.probes = in.u64("probes", 1, Params::kMostProbes);
  p.resets = in.u64("resets", 1, Params::kMostResets);
  p.keys = in.u64("capacity");
  const std::uint64_t keys = in.u64("keys");
  const std::uint64_t records = in.u64("records", keys, UINT64_MAX);
  const Draws draws(in.u64("draws"));
  const auto width = static_cast<unsigned>(p.cell_bits);
  in.require(CellArray::packed_bytes(p.cells, width), "cells");
  CellArray cells(p.cells, width);
  in.bytes(cells.packed(), "cells");
  if (const std::uint64_t tail = p.cells * width % 8;
      tail != 0 && std::to_integer<unsigned>(cells.packed().back()) >> tail)
    in.damaged("a bit past the last cell is set");
  Stable loaded(p, keys, records, draws, std::move(cells));
  if ((loaded.live_ == 0) != (keys == 0)) in.damaged("its cells and its number of keys contradict each other");
  return loaded;
}

}  // namespace nodup
