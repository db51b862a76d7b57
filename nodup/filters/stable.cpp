// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/stable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/bloom.hpp"

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

// Provisional: the theory of these filters comes next.
StableParams Stable::fit(const Goal& goal) {
  check_goal(goal);
  StableParams p;
  p.keys = goal.keys;
  const std::uint64_t bytes = goal.bytes != 0 ? std::max<std::uint64_t>(goal.bytes, 16) : 16 + 4 * goal.keys;
  p.cells = (bytes - 8) * 8;
  return p;
}
Rates Stable::rates(const Params&, std::uint64_t) { return {1.0 / 9, 0}; }

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
  return {std::pow(fill, static_cast<double>(params_.probes)), rates(params_, keys_).false_negative};
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
