// SPDX-License-Identifier: Apache-2.0
//
// What lies in the direction of one neighbour, and how far: a stack of rows, one for every number of hops (S. Rhea and
// J. Kubiatowicz, "Probabilistic location and routing", 2002; P4's informed routing).
//
// Nodes build it from each other without ever seeing more than their neighbours: what a node tells a neighbour is its
// own set as the first level, and the levels of its other directions, united and moved one hop further away. After as
// many rounds of telling as there are levels, all levels are right. A key that can be reached by several ways is in
// several levels; the nearest counts.
//
// Errors: a false positive is a wrong turn. Never a false negative within `depth` hops (but none of the ways turns back
// at once: what lies only behind the one who asks is not in here). Deep levels hold the keys of many nodes, so a fixed
// size is soon full there; rows that grow keep their error (bit_row.hpp).
// Threads: distance() by many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nodup/spread/bit_row.hpp"

namespace nodup {

class AttenuatedFilter {
 public:
  // What a node with the set `own` tells one neighbour: `beyond` are its filters of all OTHER directions.
  static AttenuatedFilter told(const BitRow& own, std::span<const AttenuatedFilter* const> beyond, std::size_t depth);

  // In hops; the neighbour itself is 1 away.
  std::optional<std::size_t> distance(Digest d) const noexcept;

  std::size_t depth() const { return levels_.size(); }
  const BitRow& level(std::size_t hops) const { return levels_[hops - 1]; }  // 1 to depth()
  std::uint64_t bytes() const;

  // depth u64 | each level as rows are saved, the nearest first
  void save(Writer& out) const;
  static AttenuatedFilter load(Reader& in);

 private:
  // Beyond a few hops a filter of any size holds most of the network.
  static constexpr std::uint64_t kMostDepth = 64;

  explicit AttenuatedFilter(std::vector<BitRow> levels);

  std::vector<BitRow> levels_;  // at least one
};

}  // namespace nodup
