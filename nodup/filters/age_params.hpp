// SPDX-License-Identifier: Apache-2.0
//
// What the age-partitioned filters have in common but the make of their slices: parameters, how these follow from a
// goal, and how they are saved.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nodup/bits/age_ring.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/generations.hpp"

namespace nodup {

// What a slice is made of.
struct AgeSlices {
  std::string_view cells;               // their name in facts
  std::uint64_t cell_bits;              // 1, or 512 for lines
  std::span<const std::uint64_t> bits;  // of a key in a slice: the choices there are
  // The chance that a key never inserted matches in a slice of so many cells that took so many keys.
  double (*fill)(double keys, double cells, std::uint64_t bits);
};

struct AgeParams {
  static constexpr std::uint64_t kMostProbes = 64;
  // Beyond, a filter would be looking for ever smaller slack in ever more slices.
  static constexpr std::uint64_t kMostGenerations = 256;

  Window window = {};
  std::uint64_t probes = 1;       // slices a key is put into (k)
  std::uint64_t generations = 2;  // that are told apart, the open one included (l + 1)
  std::uint64_t bits = 1;         // of a key in each slice
  std::uint64_t cells = 8;        // of a slice: bits in whole bytes, or lines
  std::uint64_t quota = 1;        // keys of a generation; it closes when it has them
  std::uint64_t keys = 1;         // of the window it is meant for
  std::uint64_t max_bytes = 0;    // 0: no limit

  std::uint64_t slices() const { return probes + generations - 1; }
  std::uint64_t bytes(const AgeSlices& make) const { return slices() * (cells * make.cell_bits / 8); }
  double slack() const { return Generations::slack(window, generations); }

  // Of the slices just before a shift, when generations take so many keys.
  std::vector<double> fill(const AgeSlices& make, double keys_per_generation) const;
  // The worst moment with so many keys in the window: just before a shift. More than it is meant for shorten the
  // window and not the error.
  Rates rates(const AgeSlices& make, std::uint64_t keys_in_window) const;
  // For a stream half of whose events are duplicates of any age in the window.
  double lines_per_event(const AgeSlices& make) const;
  Facts facts(const AgeSlices& make) const;

  // The cheapest of all (probes, generations, bits) that reach the error and the slack.
  static AgeParams fit(const AgeSlices& make, const Goal& goal);
  // Throws Error when even one cell per slice is above the limit on memory.
  const AgeParams& checked(const AgeSlices& make) const;

  // window | probes u64 | generations u64 | bits u64 | cells u64 | quota u64 | keys u64
  void save(Writer& out) const;
  static AgeParams load(Reader& in, const AgeSlices& make);
};

// For an event of time t, with generations of `quota` keys.
AgeStretch age_stretch(const Generations& generations, std::uint64_t quota, Tick t);

// The length of the longest stretch that begins with these ticks, or a part of it: at least 1. `last` is the answer for
// the ticks before and the place to begin to look.
std::size_t age_stretch_length(const Generations& generations, std::uint64_t quota, std::span<const Tick> ticks,
                               std::size_t last);

}  // namespace nodup
