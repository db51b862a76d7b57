// SPDX-License-Identifier: Apache-2.0
//
// A random network, and who holds what in it.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "experiments/p4/p4.hpp"
#include "nodup/filters/dynamic.hpp"
#include "nodup/spread/attenuated.hpp"
#include "nodup/spread/peer_index.hpp"

namespace nodup::lab {

constexpr std::uint64_t kNodes = 1000;
constexpr std::uint64_t kFirstKeys = 20;  // that a node holds when filters are planned

// By hand, since fit() makes no filter as small as a set of 20 keys. 18 bits and 10 probes for each key: one filter
// takes them all, and errs at 0.00018 then.
inline Dynamic::Params row_for(std::uint64_t keys) {
  return {.filter = {.bits = 18 * keys, .probes = 10, .keys = keys}, .error = 1e-3};
}

struct Query {
  Digest key;
  PeerId origin;
  std::vector<PeerId> holders;  // not the origin
};

struct Network {
  std::vector<std::vector<PeerId>> neighbours;  // four circles through all nodes: connected, degree 8 or a little less
  std::vector<std::vector<Digest>> keys;        // of each node
  std::vector<Query> queries;

  Network(std::uint64_t seed, std::uint64_t query_count, std::uint64_t holders) : keys(kNodes) {
    Chance chance(seed);
    std::vector<std::set<PeerId>> linked(kNodes);
    for (int circle = 0; circle < 4; ++circle) {
      std::vector<PeerId> order(kNodes);
      for (PeerId i = 0; i < kNodes; ++i) order[i] = i;
      for (std::uint64_t i = kNodes - 1; i > 0; --i) std::swap(order[i], order[chance.below(i + 1)]);
      for (std::uint64_t i = 0; i < kNodes; ++i) {
        const PeerId a = order[i], b = order[(i + 1) % kNodes];
        linked[a].insert(b);
        linked[b].insert(a);
      }
    }
    for (const auto& links : linked) neighbours.emplace_back(links.begin(), links.end());
    for (std::uint64_t q = 0; q < query_count; ++q) {
      Query query{.key = key(seed << 40 | 1ull << 39 | q), .origin = chance.below(kNodes), .holders = {}};
      while (query.holders.size() < holders) {
        const PeerId holder = chance.below(kNodes);
        if (holder == query.origin || std::ranges::count(query.holders, holder) > 0) continue;
        query.holders.push_back(holder);
        keys[holder].push_back(query.key);
      }
      queries.push_back(query);
    }
    seed_ = seed;
  }

  // Gives every node keys that nobody asks for, until it has `growth` times kFirstKeys on average: all as many, or by a
  // log-normal law beyond the first.
  void grow_to(double growth, bool unequally) {
    Chance chance(seed_ + 1'000'000);
    for (PeerId node = 0; node < kNodes; ++node) {
      const double weight = chance.unequal();
      const double size = static_cast<double>(kFirstKeys) * (1 + (growth - 1) * (unequally ? weight : 1));
      while (static_cast<double>(keys[node].size()) < size) keys[node].push_back(key(seed_ << 40 | made_++));
    }
  }

 private:
  std::uint64_t seed_ = 0, made_ = 0;
};

inline Dynamic set_of(const std::vector<Digest>& keys, const Dynamic::Params& params) {
  Dynamic set(params);
  for (const Digest& key : keys) {
    set.make_room(1);
    set.insert(key);
  }
  return set;
}

// What a search came to.
struct Found {
  std::uint64_t holders = 0;
  std::uint64_t messages = 0;        // of the whole search
  std::uint64_t messages_first = 0;  // up to the first holder; all, if none was found
};

}  // namespace nodup::lab
