// SPDX-License-Identifier: Apache-2.0
//
// Informed routing (P4, V.b) beside blind search: flooding, random walks, attenuated filters, and the global index
// (V.c), on the same graphs with the same queries. Then the same with sets that outgrow what filters were planned for.
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "experiments/p4/network.hpp"
#include "nodup/spread/route.hpp"

namespace nodup::lab {

namespace {

constexpr std::uint64_t kWalkHops = 64;

struct Measured {
  Sample success, recall, messages_first, messages;  // success and recall in percent

  void add(const std::vector<Query>& queries, const std::function<Found(const Query&)>& search) {
    double found_any = 0, found_share = 0, first = 0, all = 0;
    for (const Query& query : queries) {
      const Found found = search(query);
      found_any += found.holders > 0;
      found_share += static_cast<double>(found.holders) / static_cast<double>(query.holders.size());
      first += static_cast<double>(found.messages_first);
      all += static_cast<double>(found.messages);
    }
    const auto n = static_cast<double>(queries.size());
    success.add(100 * found_any / n);
    recall.add(100 * found_share / n);
    messages_first.add(first / n);
    messages.add(all / n);
  }
};

// Every node passes the query on once, to all neighbours but the one it came from.
Found flood(const Network& net, const Query& query, std::uint64_t hops) {
  Found found;
  std::vector<char> reached(kNodes);
  std::vector<PeerId> front{query.origin};
  reached[query.origin] = 1;
  for (std::uint64_t hop = 0; hop < hops; ++hop) {
    std::vector<PeerId> next;
    for (const PeerId node : front) {
      found.messages += net.neighbours[node].size() - (node == query.origin ? 0 : 1);
      for (const PeerId neighbour : net.neighbours[node])
        if (!std::exchange(reached[neighbour], 1)) next.push_back(neighbour);
    }
    front = std::move(next);
  }
  for (const PeerId holder : query.holders) found.holders += reached[holder];
  found.messages_first = found.messages;  // nobody can call the others back
  return found;
}

// What the filters of a network say: of each node, one per neighbour.
using Directions = std::vector<std::vector<AttenuatedFilter>>;

Directions tell_each_other(const Network& net, const std::vector<BitRow>& sets, std::size_t depth) {
  Directions directions(kNodes);
  // In round r every node tells what it has learnt up to then, and levels up to r are right.
  for (std::size_t round = 1; round <= depth; ++round) {
    Directions told(kNodes);
    for (PeerId node = 0; node < kNodes; ++node)
      for (const PeerId neighbour : net.neighbours[node]) {
        std::vector<const AttenuatedFilter*> beyond;
        for (std::size_t i = 0; round > 1 && i < net.neighbours[neighbour].size(); ++i)
          if (net.neighbours[neighbour][i] != node) beyond.push_back(&directions[neighbour][i]);
        told[node].push_back(AttenuatedFilter::told(sets[neighbour], beyond, round));
      }
    directions = std::move(told);
  }
  return directions;
}

// Without `filters` a blind random walk.
Found walk(const Network& net, const Query& query, const Directions* filters, Chance& chance) {
  Found found;
  Route route(query.origin, kWalkHops);
  std::vector<PeerId> left = query.holders;
  PeerId at = query.origin;
  while (!left.empty()) {
    std::vector<Direction> directions;
    for (std::size_t i = 0; i < net.neighbours[at].size(); ++i)
      directions.push_back(
          {net.neighbours[at][i], filters ? (*filters)[at][i].distance(query.key) : std::optional<std::size_t>()});
    const std::optional<PeerId> next = route.next(directions, chance());
    if (!next) break;
    at = *next;
    ++found.messages;
    if (std::erase(left, at) > 0 && found.holders++ == 0) found.messages_first = found.messages;
  }
  if (found.holders == 0) found.messages_first = found.messages;
  return found;
}

// The peers that seem to have the key are asked one by one, in drawn order.
Found ask_index(const PeerIndex& index, const Query& query, Chance& chance) {
  Found found;
  std::vector<PeerId> peers = index.peers_with(query.key);
  std::erase(peers, query.origin);
  for (std::size_t i = peers.size(); i > 1; --i) std::swap(peers[i - 1], peers[chance.below(i)]);
  for (const PeerId peer : peers) {
    ++found.messages;
    if (std::ranges::count(query.holders, peer) > 0 && found.holders++ == 0) found.messages_first = found.messages;
  }
  if (found.holders == 0) found.messages_first = found.messages;
  return found;
}

// The keys of a direction's last level as planned: those of seven nodes for each node before.
std::uint64_t planned_keys(std::size_t depth) {
  return kFirstKeys * static_cast<std::uint64_t>(std::pow(7, static_cast<double>(depth - 1)));
}

std::vector<Dynamic> sets_of(const Network& net, std::size_t depth) {
  std::vector<Dynamic> sets;
  for (const auto& keys : net.keys) sets.push_back(set_of(keys, row_for(planned_keys(depth))));
  return sets;
}

// In one part, all keys of a set make the very bits of a filter of fixed size.
std::vector<BitRow> rows_of(const std::vector<Dynamic>& sets, bool fixed) {
  std::vector<BitRow> rows;
  for (const Dynamic& set : sets) rows.emplace_back(set, fixed ? 1 : BitRow::kAnyLength);
  return rows;
}

std::uint64_t bytes_of(const Directions& directions) {
  std::uint64_t sum = 0;
  for (const auto& node : directions)
    for (const AttenuatedFilter& direction : node) sum += direction.bytes();
  return sum;
}

// Every peer's filter, as every node has it after gossip. A fixed one may take no more memory than at first.
PeerIndex index_of(const Network& net, bool fixed) {
  PeerIndex index(kNodes, 1);
  Dynamic::Params params = row_for(kFirstKeys);
  if (fixed) params.max_bytes = Dynamic::bytes(params);
  for (PeerId node = 0; node < kNodes; ++node) index.apply(PeerIndex(node, 1).publish(set_of(net.keys[node], params)));
  return index;
}

void strategies(const Experiment& lab, Claims& claims, std::uint64_t graphs, std::uint64_t queries) {
  Table table(
      lab, "routing",
      fmt::format("Searching a network of {} nodes with 8 neighbours each\n{} graphs with {} queries each, from "
                  "nodes that do not hold the key; {} keys per node. Walks take {} hops at most. Messages to "
                  "the first holder (all, where none is found), and in all: until all holders are found or the "
                  "hops are used up, which is what recall costs. The error is one standard deviation over "
                  "graphs.",
                  kNodes, graphs, queries, kFirstKeys, kWalkHops),
      {"search", "success", "success error", "recall", "recall error", "messages to first", "first error",
       "messages in all"});
  for (const std::uint64_t holders : {1u, 5u}) {
    const std::string to_find = fmt::format("{} holder{}", holders, holders > 1 ? "s" : "");
    std::map<std::string, Measured> rates;
    std::vector<std::string> order;
    for (std::uint64_t graph = 0; graph < graphs; ++graph) {
      Network net(100 * holders + graph, queries, holders);
      net.grow_to(1, false);
      Chance chance(graph);
      const auto tried = [&](const std::string& name, const std::function<Found(const Query&)>& search) {
        if (graph == 0) order.push_back(name);
        rates[name].add(net.queries, search);
      };
      for (const std::uint64_t hops : {2u, 3u, 4u})
        tried(fmt::format("flood {} hops", hops), [&](const Query& query) { return flood(net, query, hops); });
      tried("random walk", [&](const Query& query) { return walk(net, query, nullptr, chance); });
      for (const std::size_t depth : {2u, 3u}) {
        const Directions directions = tell_each_other(net, rows_of(sets_of(net, depth), false), depth);
        tried(fmt::format("informed {} levels", depth),
              [&](const Query& query) { return walk(net, query, &directions, chance); });
      }
      const PeerIndex index = index_of(net, false);
      tried("index", [&](const Query& query) { return ask_index(index, query, chance); });
    }
    for (const std::string& name : order) {
      const Measured& r = rates[name];
      table.row(fmt::format("{} {}", name, to_find), r.success.mean(), r.success.error(), r.recall.mean(),
                r.recall.error(), r.messages_first.mean(), r.messages_first.error(), r.messages.mean());
    }

    const Measured& blind = rates["random walk"];
    const auto above = [&](std::string_view what, const Sample& more, const Sample& less) {
      const double sigmas = more.sigmas_above(less);
      claims.push_back({fmt::format("{}: {} (sigmas)", to_find, what), sigmas, "> 5", sigmas > 5});
    };
    for (const int depth : {2, 3}) {
      const Measured& informed = rates[fmt::format("informed {} levels", depth)];
      above(fmt::format("informed search with {} levels succeeds more often than a random walk", depth),
            informed.success, blind.success);
      above(fmt::format("informed search with {} levels has a higher recall than a random walk", depth),
            informed.recall, blind.recall);
      above(fmt::format("a random walk takes more messages than informed search with {} levels", depth),
            blind.messages_first, informed.messages_first);
    }
    above("flooding 4 hops takes more messages than informed search with 3 levels",
          rates["flood 4 hops"].messages_first, rates["informed 3 levels"].messages);
    const Measured& index = rates["index"];
    claims.push_back({fmt::format("{}: the global index finds all holders (recall in percent)", to_find),
                      index.recall.mean(), "100", index.recall.mean() == 100});
  }
}

void growth(const Experiment& lab, Claims& claims, std::uint64_t graphs, std::uint64_t queries) {
  Table table(lab, "growth",
              fmt::format("As sets outgrow what filters were planned for\nOne holder, {} graphs with {} queries each. "
                          "Filters have the same size at first, right for {} keys per node; a fixed one keeps it, a "
                          "dynamic one gets further parts. Unequal: by a log-normal law, factor e. Bytes: of the "
                          "filters a node keeps, for all its neighbours (levels) or all its peers (index).",
                          graphs, queries, kFirstKeys),
              {"row", "growth", "unequal", "filter", "search", "success", "success error", "messages", "messages error",
               "KiB per node"});
  std::map<std::string, Measured> rates;
  std::map<std::string, double> kib;
  std::size_t largest = 0;  // of the sets of the last network, which has grown most
  for (const bool unequal : {false, true})
    for (const double growth : {1.0, 2.0, 4.0, 8.0, 16.0}) {
      // Unequal sets begin as equal ones do; of equal ones, the ends are enough.
      if (unequal ? growth == 1 : growth > 1 && growth < 16) continue;
      std::vector<std::tuple<std::string, std::string, std::string>> order;
      for (std::uint64_t graph = 0; graph < graphs; ++graph) {
        Network net(900 + graph, queries, 1);
        net.grow_to(growth, unequal);
        Chance chance(graph);
        const auto tried = [&](const std::string& filter, const std::string& search, std::uint64_t taken,
                               const std::function<Found(const Query&)>& found) {
          const std::string name = fmt::format("{} {} {}{}", search, filter, growth, unequal ? " unequal" : "");
          if (graph == 0) order.emplace_back(name, filter, search);
          kib[name] += static_cast<double>(taken) / static_cast<double>(graphs) / 1024;
          rates[name].add(net.queries, found);
        };
        const auto filter_name = [](bool fixed) { return fixed ? "fixed" : "dynamic"; };
        for (const std::size_t depth : {2u, 3u}) {
          const std::vector<Dynamic> sets = sets_of(net, depth);
          for (const bool fixed : {false, true}) {
            const Directions directions = tell_each_other(net, rows_of(sets, fixed), depth);
            tried(filter_name(fixed), fmt::format("{} levels", depth), bytes_of(directions) / kNodes,
                  [&](const Query& query) { return walk(net, query, &directions, chance); });
          }
        }
        for (const bool fixed : {false, true}) {
          const PeerIndex index = index_of(net, fixed);
          tried(filter_name(fixed), "index", index.bytes(),
                [&](const Query& query) { return ask_index(index, query, chance); });
        }
        largest = 0;
        for (const auto& keys : net.keys) largest = std::max(largest, keys.size());
      }
      for (const auto& [name, filter, search] : order) {
        const Measured& r = rates[name];
        table.row(name, growth, unequal ? 1 : 0, filter, search, r.success.mean(), r.success.error(),
                  r.messages_first.mean(), r.messages_first.error(), kib[name]);
      }
    }

  for (const std::string search : {"2 levels", "3 levels", "index"}) {
    const Measured &fixed = rates[search + " fixed 16 unequal"], &dynamic = rates[search + " dynamic 16 unequal"],
                   &first = rates[search + " dynamic 1"];
    const double sigmas = fixed.messages_first.sigmas_above(dynamic.messages_first);
    claims.push_back({fmt::format("grown 16-fold unequally and {}: fixed filters take more messages than dynamic ones "
                                  "(sigmas)",
                                  search),
                      sigmas, "> 5", sigmas > 5});
    const double held = dynamic.messages_first.mean() / first.messages_first.mean();
    claims.push_back(
        {fmt::format("grown 16-fold unequally and {}: messages with dynamic filters over those before growth", search),
         held, "< 1.25", held < 1.25});
  }
  const double planned = static_cast<double>(row_for(largest).filter.bytes() * kNodes) / 1024;
  const double saved = planned / kib["index dynamic 16 unequal"];
  claims.push_back(
      {"grown 16-fold unequally: bytes of an index of fixed filters planned for the largest node over those "
       "of the dynamic one",
       saved, "> 2", saved > 2});
}

}  // namespace

void routing(const Experiment& lab, Claims& claims) {
  // Two graphs at least: else there is no standard deviation.
  strategies(lab, claims, std::max<std::uint64_t>(2, lab.samples(5)), 200);
  growth(lab, claims, std::max<std::uint64_t>(2, lab.samples(3)), 200);
}

}  // namespace nodup::lab
