// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/peer_index.hpp"
#include "nodup/spread/bit_row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "tests/spread/rows.hpp"

namespace nodup {
namespace {

using testing::insert;
using testing::KeyMaker;
using testing::kSmallRow;
using testing::loaded;
using testing::own_bytes;
using testing::Random;
using testing::set_of;

TEST(PeerIndex, FindsWhoHasAKey) {
  PeerIndex asker(9, 1);
  for (PeerId peer = 0; peer < 5; ++peer) {
    std::vector<Digest> keys = KeyMaker(peer).make(200);
    if (peer % 2 == 1) keys.push_back(KeyMaker(77)());
    asker.apply(PeerIndex(peer, 1).publish(set_of(keys)));
  }
  EXPECT_EQ(asker.peers_with(KeyMaker(77)()), (std::vector<PeerId>{1, 3}));
  // Its own keys it knows better.
  asker.publish(set_of({KeyMaker(77)()}));
  EXPECT_EQ(asker.peers_with(KeyMaker(77)()), (std::vector<PeerId>{1, 3}));
}

TEST(PeerIndex, NewKeysChangeTheOpenPartOnly) {
  Dynamic set(kSmallRow);
  PeerIndex index(1, 1);
  KeyMaker keys(1);
  insert(set, keys.make(300));
  EXPECT_EQ(index.publish(set).parts.size(), set.filters());
  EXPECT_TRUE(index.publish(set).empty());
  set.make_room(1);
  set.insert(keys());
  const PeerUpdate update = index.publish(set);
  ASSERT_EQ(update.parts.size(), 1u);
  EXPECT_EQ(*update.parts[0].second.bits, BitPart(set.filter(set.open())));
}

TEST(PeerIndex, AJoinChangesOnePartAndRemovesOne) {
  const std::vector<Digest> keys = KeyMaker(1).make(400);
  Dynamic set = set_of(keys);
  PeerIndex index(1, 1);
  index.publish(set);
  // Keys go until two filters become one: all parts behind the one that is gone have moved, and none is sent again.
  const std::uint64_t before = set.filters();
  PeerUpdate update;
  std::size_t erased = 0;
  while (set.filters() == before) {
    ASSERT_LT(erased, keys.size());
    index.publish(set);
    set.erase(keys[erased++]);
  }
  update = index.publish(set);
  ASSERT_EQ(update.parts.size(), 2u);
  EXPECT_EQ(std::ranges::count_if(update.parts, [](const auto& part) { return !part.second.bits; }), 1);
}

TEST(PeerIndex, SlotsOfRemovedPartsAreUsedAgain) {
  PeerIndex index(1, 1);
  for (std::uint64_t round = 0; round < 20; ++round) {
    index.publish(set_of(KeyMaker(round).make(200)));
    index.publish(set_of({}));
  }
  EXPECT_LE(index.versions().parts.size(), set_of(KeyMaker(1).make(200)).filters() + 1);
  EXPECT_EQ(index.bytes(), 0u);
}

TEST(PeerIndex, ANodeWithoutMemoryOverrulesItsFormerLife) {
  const std::vector<Digest> old_keys = KeyMaker(1).make(300), new_keys = KeyMaker(2).make(20);
  PeerIndex peer(2, 1);
  PeerIndex former(1, 1);
  for (std::size_t n = 50; n <= 300; n += 50)
    peer.apply(former.publish(set_of({old_keys.begin(), old_keys.begin() + static_cast<std::ptrdiff_t>(n)})));

  PeerIndex born_again(1, 100);
  peer.apply(born_again.publish(set_of(new_keys)));
  // It hears what peers still hold of it, and says that it is no more.
  const PeerUpdate correction = born_again.apply(peer.newer_than(born_again.versions()));
  EXPECT_FALSE(correction.empty());
  peer.apply(correction);
  const Dynamic now = set_of(new_keys);
  for (const Digest& key : old_keys) EXPECT_EQ(peer.peers_with(key).size(), now.contains(key));
  for (const Digest& key : new_keys) EXPECT_EQ(peer.peers_with(key), std::vector<PeerId>{1});
  EXPECT_EQ(peer.versions(), born_again.versions());
}

// Nodes whose sets grow and shrink, and a network that loses, repeats and delays. Messages travel as bytes.
class Network {
 public:
  Network(std::uint64_t nodes, std::uint64_t seed) : random_(seed), make_key_(seed + 1000) {
    for (std::uint64_t i = 0; i < nodes; ++i) nodes_.push_back({Dynamic(kSmallRow), {}, PeerIndex(i, 1)});
  }

  void step() {
    Node& node = nodes_[random_.below(nodes_.size())];
    const bool shrinks = random_.below(3) == 0;
    for (std::uint64_t n = random_.below(60); n > 0; --n) {
      if (!shrinks)
        insert_key(node);
      else if (!node.keys.empty())
        erase_key(node);
    }
    const PeerUpdate news = node.index.publish(node.set);
    removals_ += static_cast<std::uint64_t>(
        std::ranges::count_if(news.parts, [](const auto& part) { return !part.second.bits; }));
    for (Node& other : nodes_)
      if (&other != &node) in_flight_.push_back({&other, own_bytes(news)});
    for (std::uint64_t n = random_.below(2 * nodes_.size()); n > 0 && !in_flight_.empty(); --n) deliver();
  }

  // Push and pull between neighbours in a circle, as bytes.
  void exchange() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      PeerIndex &a = nodes_[i].index, &b = nodes_[(i + 1) % nodes_.size()].index;
      const auto pull = [](PeerIndex& to, const PeerIndex& from) {
        const auto versions = loaded<PeerVersions>(own_bytes(to.versions()));
        to.apply(loaded<PeerUpdate>(own_bytes(from.newer_than(versions))));
      };
      pull(a, b);
      pull(b, a);
    }
  }

  void drain() {
    while (!in_flight_.empty()) deliver();
  }

  // Everybody's replica of everybody has the very bits of the owner's filters.
  void expect_truth() const {
    for (const Node& replica : nodes_) {
      std::multiset<std::string> held, truth;
      for (const auto& [name, state] : replica.index.everything().parts)
        if (state.bits) held.insert(std::to_string(name.peer) + own_bytes(*state.bits));
      for (const Node& owner : nodes_)
        for (std::size_t i = 0; i < owner.set.filter_count(); ++i)
          if (owner.set.filter(i).keys() > 0)
            truth.insert(std::to_string(owner.index.self()) + own_bytes(BitPart(owner.set.filter(i))));
      EXPECT_EQ(held == truth, true) << "replica of node " << replica.index.self();
      for (const Node& owner : nodes_)
        for (const Digest& key : owner.keys) {
          if (&owner == &replica) continue;
          const std::vector<PeerId> peers = replica.index.peers_with(key);
          EXPECT_TRUE(std::ranges::binary_search(peers, owner.index.self()));
        }
    }
  }

  std::uint64_t removals() const { return removals_; }

 private:
  struct Node {
    Dynamic set;
    std::vector<Digest> keys;
    PeerIndex index;
  };
  struct Message {
    Node* to;
    std::string bytes;
  };

  void insert_key(Node& node) {
    const Digest key = make_key_();
    node.set.make_room(1);
    if (node.set.insert(key)) node.keys.push_back(key);
  }
  void erase_key(Node& node) {
    const std::size_t i = random_.below(node.keys.size());
    std::swap(node.keys[i], node.keys.back());
    node.set.erase(node.keys.back());
    node.keys.pop_back();
  }
  void deliver() {
    const std::size_t i = random_.below(in_flight_.size());
    const std::uint64_t fate = random_.below(4);
    if (fate > 0) in_flight_[i].to->index.apply(loaded<PeerUpdate>(in_flight_[i].bytes));
    if (fate == 1) return;  // it will arrive again
    std::swap(in_flight_[i], in_flight_.back());
    in_flight_.pop_back();
  }

  Random random_;
  KeyMaker make_key_;
  std::deque<Node> nodes_;
  std::vector<Message> in_flight_;
  std::uint64_t removals_ = 0;
};

TEST(PeerIndex, ReplicasAgreeWhateverHappensToMessages) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Network network(6, seed);
    for (int i = 0; i < 150; ++i) network.step();
    // Twice around the circle everybody has heard of everybody; what is still on its way is old and changes nothing.
    network.exchange();
    network.exchange();
    network.expect_truth();
    network.drain();
    network.expect_truth();
    EXPECT_GT(network.removals(), 0u) << "no filters were joined: the hard case did not come up";
  }
}

// Saturated counters stay when the last key has gone; what still looks held there must look held at the peers.
TEST(PeerIndex, APartWithoutKeysIsToldAsLongAsItHasCounters) {
  Dynamic set(kSmallRow);
  const Digest key = KeyMaker(3)();
  set.make_room(1);
  for (int i = 0; i < 15; ++i) set.add(key);
  for (int i = 0; i < 15; ++i) set.erase(key);
  ASSERT_EQ(set.keys(), 0u);
  ASSERT_TRUE(set.contains(key));
  PeerIndex owner(1, 1), peer(2, 1);
  peer.apply(owner.publish(set));
  EXPECT_EQ(peer.peers_with(key), std::vector<PeerId>{1});
  EXPECT_TRUE(BitRow(set).contains(key));
}

// A lie with the greatest version cannot be overruled, but nobody refuses what its victim sends.
TEST(PeerIndex, AGreatestVersionKeepsMessagesLoadable) {
  PeerIndex victim(1, 1);
  const PeerUpdate lie{{{{1, 0}, {std::uint64_t{1} << 62, nullptr}}}};
  victim.apply(lie);
  victim.publish(set_of(KeyMaker(1).make(5)));
  const PeerUpdate update = victim.everything();
  EXPECT_EQ(own_bytes(loaded<PeerUpdate>(own_bytes(update))), own_bytes(update));
}

TEST(PeerIndex, ASlotBeyondAnyRowIsRefused) {
  const PeerUpdate update{{{{1, std::uint64_t{1} << 16}, {1, nullptr}}}};
  EXPECT_THROW(loaded<PeerUpdate>(own_bytes(update)), Error);
}

TEST(PeerIndex, MessagesAreSavedAndLoaded) {
  PeerIndex index(1, 1);
  index.publish(set_of(KeyMaker(1).make(120)));
  index.publish(set_of(KeyMaker(2).make(10)));
  const PeerUpdate update = index.everything();
  ASSERT_EQ(update.parts.size(), 2u);
  const PeerUpdate again = loaded<PeerUpdate>(own_bytes(update));
  ASSERT_EQ(again.parts.size(), 2u);
  EXPECT_EQ(own_bytes(again), own_bytes(update));
  EXPECT_EQ(loaded<PeerVersions>(own_bytes(index.versions())), index.versions());
  testing::expect_safe_to_load(update, true);
  testing::expect_safe_to_load(index.versions(), true);
}

}  // namespace
}  // namespace nodup
