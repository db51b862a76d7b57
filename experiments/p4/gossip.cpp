// SPDX-License-Identifier: Apache-2.0
//
// The global index (P4, V.c): what its gossip costs, open parts against whole filters, and how fast it spreads.
#include "experiments/p4/network.hpp"

namespace nodup::lab {

namespace {

constexpr std::uint64_t kPartKeys = 100;

// Nodes whose sets grow by a log-normal law, each at its own pace.
class GrowingNodes {
 public:
  GrowingNodes() : chance_(7) {
    for (PeerId node = 0; node < kNodes; ++node) {
      sets.emplace_back(row_for(kPartKeys));
      index.emplace_back(node, 1);
      pace_.push_back(chance_.unequal());
    }
  }
  void grow(double keys_each) {
    for (PeerId node = 0; node < kNodes; ++node) {
      due_[node] += pace_[node] * keys_each;
      for (; due_[node] >= 1; --due_[node]) {
        sets[node].make_room(1);
        sets[node].insert(key(made_++));
      }
    }
  }

  std::vector<Dynamic> sets;
  std::vector<PeerIndex> index;

 private:
  Chance chance_;
  std::vector<double> pace_, due_ = std::vector<double>(kNodes);
  std::uint64_t made_ = 0;
};

double per_node(double bytes) { return bytes / static_cast<double>(kNodes); }

void bytes_per_round(const Experiment& lab, Claims& claims) {
  Table table(lab, "gossip_bytes",
              fmt::format("What a node sends about its set each round\n{} nodes, in every round 10 keys more each on "
                          "average, by a log-normal law. Open part only: what has changed since the round before. All "
                          "bytes of the messages, per node; parts take {} keys. Counters: the filter as it is saved.",
                          kNodes, kPartKeys),
              {"round", "keys per node", "open part only", "all parts", "all counters"});
  GrowingNodes nodes;
  nodes.grow(50);
  double last_open = 0, last_all = 0, last_counters = 0, keys_each = 0;
  for (PeerId node = 0; node < kNodes; ++node) nodes.index[node].publish(nodes.sets[node]);
  for (int round = 1; round <= 60; ++round) {
    nodes.grow(10);
    double open = 0, all = 0, counters = 0, keys = 0;
    for (PeerId node = 0; node < kNodes; ++node) {
      const PeerUpdate news = nodes.index[node].publish(nodes.sets[node]);
      open += news.empty() ? 0 : static_cast<double>(saved_bytes(news));
      all += static_cast<double>(saved_bytes(nodes.index[node].everything()));
      counters += static_cast<double>(saved_bytes(nodes.sets[node]));
      keys += static_cast<double>(nodes.sets[node].keys());
    }
    last_open = per_node(open), last_all = per_node(all), last_counters = per_node(counters),
    keys_each = per_node(keys);
    table.row(round, keys_each, last_open, last_all, last_counters);
  }
  claims.push_back({"gossip after 60 rounds: all parts over the open part only", last_all / last_open, "> 3",
                    last_all / last_open > 3});
  claims.push_back({"gossip: counters over bits", last_counters / last_all, "> 3", last_counters / last_all > 3});
}

// Every node exchanges with one drawn peer a round, both ways.
void convergence(const Experiment& lab, Claims& claims) {
  Table table(
      lab, "spreading",
      fmt::format("How the index spreads\n{} nodes; each round every node compares versions with one drawn peer "
                  "and both take what is newer. From nothing, 100 keys per node; when all know all, every node "
                  "gets one key more, which is the second part. Known: share of the parts whose newest version "
                  "a node has, on average. Recall: of 1000 queries for a newest key. KiB per node and round.",
                  kNodes),
      {"round", "known", "recall", "versions KiB", "parts KiB"});
  GrowingNodes nodes;
  Chance chance(8);
  int round = 0;
  double rounds_to_all[2] = {}, parts_bytes[2] = {};
  for (const int wave : {0, 1}) {
    if (wave == 0) nodes.grow(100);
    std::vector<Digest> newest(kNodes);
    PeerIndex truth(kNodes, 1);
    for (PeerId node = 0; node < kNodes; ++node) {
      newest[node] = key(1ull << 50 | static_cast<std::uint64_t>(wave) << 40 | node);
      nodes.sets[node].make_room(1);
      nodes.sets[node].insert(newest[node]);
      nodes.index[node].publish(nodes.sets[node]);
      for (auto& part : nodes.index[node].everything().parts)
        if (part.first.peer == node) truth.apply({{part}});
    }
    for (double known = 0; known < 1;) {
      double versions_bytes = 0, update_bytes = 0;
      for (PeerId node = 0; node < kNodes && round > 0; ++node) {
        PeerId other = chance.below(kNodes - 1);
        other += other >= node;
        const auto pull = [&](PeerIndex& to, const PeerIndex& from) {
          const PeerVersions versions = to.versions();
          const PeerUpdate update = from.newer_than(versions);
          versions_bytes += static_cast<double>(saved_bytes(versions));
          update_bytes += static_cast<double>(saved_bytes(update));
          to.apply(update);
        };
        pull(nodes.index[node], nodes.index[other]);
        pull(nodes.index[other], nodes.index[node]);
      }
      double missing = 0;
      for (const PeerIndex& index : nodes.index)
        missing += static_cast<double>(truth.newer_than(index.versions()).parts.size());
      known = 1 - missing / static_cast<double>(truth.everything().parts.size() * kNodes);
      double found = 0;
      for (int query = 0; query < 1000; ++query) {
        const PeerId asker = chance.below(kNodes);
        PeerId holder = chance.below(kNodes - 1);
        holder += holder >= asker;
        found += std::ranges::count(nodes.index[asker].peers_with(newest[holder]), holder) > 0;
      }
      table.row(round++, 100 * known, found / 10, per_node(versions_bytes) / 1024, per_node(update_bytes) / 1024);
      ++rounds_to_all[wave];
      parts_bytes[wave] += per_node(update_bytes) / 1024;
    }
  }
  claims.push_back({"the index reaches all nodes (rounds)", rounds_to_all[0] - 1, "< 2 log2(nodes) = 20",
                    rounds_to_all[0] - 1 < 20});
  claims.push_back({"spreading one key more per node: bytes of parts over those of the first time",
                    parts_bytes[1] / parts_bytes[0], "< 1", parts_bytes[1] < parts_bytes[0]});
}

}  // namespace

void gossip(const Experiment& lab, Claims& claims) {
  bytes_per_round(lab, claims);
  convergence(lab, claims);
}

}  // namespace nodup::lab
