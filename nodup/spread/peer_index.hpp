// SPDX-License-Identifier: Apache-2.0
//
// The replicated global index of P4: every node knows, approximately, which of its peers has which key, and asks the
// right ones directly. Pure logic: how messages travel, and to whom, is the caller's.
//
// A node publishes its dynamic filter part by part, as bits. New keys go into one part, the open one, so that is all an
// update carries; after keys were erased it may be others, and parts that became one leave a part that is gone. What is
// unchanged is found by comparing bits, also where it moved in the row.
//
// Replicas agree in the end whatever happens to messages. A part has an owner, a slot and a version that only the owner
// raises; of two versions of a part the newer is kept, and a removed part is kept as removed. So updates may be lost,
// doubled, late or out of order, and may come by way of others. What was lost is found by comparing versions:
//
//   push         index.publish(set) -> PeerUpdate -> peer.apply(update)
//   push and pull  b.apply(a.newer_than(b.versions()));  a.apply(b.newer_than(a.versions()))
//
// Errors: a key looks held by a peer that does not hold it (a message for nothing) as often as the peer's filter errs,
// for each peer. After convergence never the other way round; before, keys that are too new are missed.
// Trust: whoever sends updates is believed. Damaged bytes are refused, lies are not seen.
// Threads: one at a time; peers_with() by many while nobody changes it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "nodup/filters/dynamic.hpp"
#include "nodup/spread/bit_part.hpp"
#include "nodup/spread/peer_id.hpp"

namespace nodup {

// A place in the row of one peer.
struct PartName {
  PeerId peer = 0;
  std::uint64_t slot = 0;
  friend auto operator<=>(const PartName&, const PartName&) = default;
};

struct PartState {
  std::uint64_t version = 0;            // 0: never heard of
  std::shared_ptr<const BitPart> bits;  // none: removed
};

// Parts that the receiver may not have yet. As bytes, with a checksum:
//   parts u64 | each: peer u64, slot u64, version u64, 1 u32 and the part as it is saved, or 0 u32 | checksum u64
struct PeerUpdate {
  std::vector<std::pair<PartName, PartState>> parts;

  bool empty() const { return parts.empty(); }
  void save(Writer& out) const;
  static PeerUpdate load(Reader& in);
};

// What a node has, in ascending order of names:   parts u64 | each: peer u64, slot u64, version u64 | checksum u64
struct PeerVersions {
  std::vector<std::pair<PartName, std::uint64_t>> parts;

  friend bool operator==(const PeerVersions&, const PeerVersions&) = default;
  void save(Writer& out) const;
  static PeerVersions load(Reader& in);
};

class PeerIndex {
 public:
  // `first_version`, from 1: a node that comes back without its memory must begin above every version it has ever
  // published (the time of its start in nanoseconds will do); else peers take its news for old.
  PeerIndex(PeerId self, std::uint64_t first_version) : self_(self), clock_(first_version - 1) {}

  // The node's own set as it is now. Returns the parts that have changed since the last time, to be sent to others.
  PeerUpdate publish(const Dynamic& own);
  // Returns what was news, to be passed on. News of a node's own parts are of a life it has forgotten: it overrules
  // them.
  PeerUpdate apply(const PeerUpdate& update);

  PeerVersions versions() const;
  PeerUpdate newer_than(const PeerVersions& theirs) const;
  PeerUpdate everything() const { return newer_than({}); }

  // The peers that seem to hold the key, in ascending order, without this node itself.
  std::vector<PeerId> peers_with(Digest d) const;

  PeerId self() const { return self_; }
  std::uint64_t bytes() const;  // of bits

 private:
  PeerId self_;
  std::uint64_t clock_;  // the latest version given to a part of this node
  std::map<PartName, PartState> parts_;
};

}  // namespace nodup
