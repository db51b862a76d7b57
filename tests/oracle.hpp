// SPDX-License-Identifier: Apache-2.0
//
// What the tests compare filters with: an exact twin, and keys that are the same in every run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nodup/hash/digest.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup::testing {

// Evenly spread 64-bit numbers from a seed (the SplitMix64 sequence): fast, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0xD1342543DE82EF95u + 1) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  // In [0, n), n > 0; the bias is below n / 2^64.
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }

 private:
  std::uint64_t state_;
};

// Digests as a good hash makes them. Makers of different seeds share no digest, short of a 128-bit collision.
class KeyMaker {
 public:
  explicit KeyMaker(std::uint64_t seed) : random_(seed) {}
  Digest operator()() {
    const std::uint64_t lo = random_();
    return {lo, random_()};
  }
  std::vector<Digest> make(std::size_t count) {
    std::vector<Digest> keys(count);
    for (Digest& key : keys) key = (*this)();
    return keys;
  }

 private:
  Random random_;
};

// A stream of `events` drawn evenly from `distinct` keys: duplicates at all distances, also next to each other.
inline std::vector<Digest> stream_with_duplicates(std::size_t events, std::size_t distinct, std::uint64_t seed) {
  const std::vector<Digest> keys = KeyMaker(seed).make(distinct);
  Random random(seed + 1);
  std::vector<Digest> stream(events);
  for (Digest& event : stream) event = keys[random.below(distinct)];
  return stream;
}

// Digests as they are: they are hashes already.
struct DigestHash {
  std::size_t operator()(const Digest& d) const { return d.lo ^ d.hi * 0x9E3779B97F4A7C15u; }
};

// The exact twin of a filter: the same verbs, the true answers.
class Oracle {
 public:
  bool insert(Digest d) { return keys_.insert(d).second; }
  bool contains(Digest d) const { return keys_.contains(d); }
  std::uint64_t keys() const { return keys_.size(); }
  void merge(const Oracle& other) { keys_.insert(other.keys_.begin(), other.keys_.end()); }

 private:
  std::unordered_set<Digest, DigestHash> keys_;
};

// The exact twin of a filter that ages. What is a duplicate depends on what was passed, so it judges nothing itself: it
// is told what became of each event, and tells what must be a duplicate then.
class WindowOracle {
 public:
  explicit WindowOracle(const Window& window) : window_(window) {}

  // Was the key passed (with refresh: seen) at most `span` before t, or later than t?
  bool within(Digest d, Tick t, Tick span) const {
    const auto found = latest_.find(d);
    return found != latest_.end() && (t <= span || found->second >= t - span);
  }
  bool contains(Digest d, Tick t) const { return within(d, t, window_.span); }
  bool ever(Digest d) const { return latest_.contains(d); }

  void note(Digest d, Tick t, bool passed) {
    if (!passed && !window_.refresh) return;
    const auto [place, first] = latest_.try_emplace(d, t);
    place->second = std::max(place->second, t);
  }
  bool erase(Digest d) { return latest_.erase(d) == 1; }

  // Of each key, when it was last passed or seen.
  const std::unordered_map<Digest, Tick, DigestHash>& latest() const { return latest_; }

 private:
  Window window_;
  std::unordered_map<Digest, Tick, DigestHash> latest_;
};

}  // namespace nodup::testing
