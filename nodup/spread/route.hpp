// SPDX-License-Identifier: Apache-2.0
//
// The way of one query through a network: at every node it goes on to the neighbour whose filter says the key is
// nearest. Where no filter knows the key, and where filters were wrong, it goes on at random, as a blind search does;
// so a query without any filters IS the blind random walk. It enters no node twice while there is another way.
//
// The caller says what the neighbours are, what the filter of each direction answers (AttenuatedFilter::distance), and
// draws the random number.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "nodup/hash/positions.hpp"
#include "nodup/spread/peer_id.hpp"

namespace nodup {

struct Direction {
  PeerId neighbour;
  std::optional<std::size_t> distance;  // to the key, in hops; none: not known in this direction
};

class Route {
 public:
  Route(PeerId origin, std::uint64_t most_hops) : hops_left_(most_hops), visited_{origin} {}

  // Where to go from a node with these directions; none when the hops are used up or there is no neighbour. Directions
  // that are as good as each other are chosen from by `drawn`, a random number.
  std::optional<PeerId> next(std::span<const Direction> directions, std::uint64_t drawn);

  std::uint64_t hops_left() const { return hops_left_; }
  bool visited(PeerId node) const { return visited_.contains(node); }

 private:
  std::uint64_t hops_left_;
  std::unordered_set<PeerId> visited_;
};

inline std::optional<PeerId> Route::next(std::span<const Direction> directions, std::uint64_t drawn) {
  if (hops_left_ == 0 || directions.empty()) return std::nullopt;
  // Lower is better: a new node where the key is near, any new node, one that was visited before.
  constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max() - 1, kVisited = kUnknown + 1;
  std::size_t best = kVisited;
  std::vector<PeerId> choice;
  for (const Direction& direction : directions) {
    const std::size_t rank = visited(direction.neighbour) ? kVisited : direction.distance.value_or(kUnknown);
    if (rank > best) continue;
    if (rank < best) choice.clear();
    best = rank;
    choice.push_back(direction.neighbour);
  }
  const PeerId next = choice[fastrange(drawn, choice.size())];
  visited_.insert(next);
  --hops_left_;
  return next;
}

}  // namespace nodup
