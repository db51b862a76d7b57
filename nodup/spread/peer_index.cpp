// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/peer_index.hpp"

#include <algorithm>

#include "nodup/filters/format.hpp"

namespace nodup {

namespace {

// Versions end here, and no node publishes so often. Whoever is lied to about its own parts with this version cannot
// overrule the lie; but what it sends can still be loaded.
constexpr std::uint64_t kMostVersion = std::uint64_t{1} << 62;
// As long as a dynamic filter's row can be.
constexpr std::uint64_t kMostSlots = 1 << 16;

std::uint64_t after(std::uint64_t version) { return std::min(version + 1, kMostVersion); }

void save_name(Writer& out, const PartName& name, std::uint64_t version) {
  out.u64(name.peer);
  out.u64(name.slot);
  out.u64(version);
}
std::pair<PartName, std::uint64_t> load_name(Reader& in) {
  PartName name;
  name.peer = in.u64("peer");
  name.slot = in.u64("slot", 0, kMostSlots - 1);
  return {name, in.u64("version", 1, kMostVersion)};
}
// `each`: the bytes of the smallest part, so that no number of parts is believed without their bytes.
std::uint64_t load_count(Reader& in, std::uint64_t each) { return in.u64("number of parts", 0, in.remaining() / each); }

}  // namespace

void PeerUpdate::save(Writer& out) const {
  out.u64(parts.size());
  for (const auto& [name, state] : parts) {
    save_name(out, name, state.version);
    out.u32(state.bits != nullptr);
    if (state.bits) state.bits->save(out);
  }
  out.checksum();
}
PeerUpdate PeerUpdate::load(Reader& in) {
  PeerUpdate update;
  const std::uint64_t count = load_count(in, 28);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [name, version] = load_name(in);
    PartState state{.version = version, .bits = nullptr};
    const std::uint32_t has_bits = in.u32("whether a part has bits");
    if (has_bits > 1) in.damaged("a part is neither there nor removed");
    if (has_bits == 1) state.bits = std::make_shared<const BitPart>(BitPart::load(in));
    update.parts.emplace_back(name, std::move(state));
  }
  in.checksum();
  return update;
}

void PeerVersions::save(Writer& out) const {
  out.u64(parts.size());
  for (const auto& [name, version] : parts) save_name(out, name, version);
  out.checksum();
}
PeerVersions PeerVersions::load(Reader& in) {
  PeerVersions versions;
  const std::uint64_t count = load_count(in, 24);
  for (std::uint64_t i = 0; i < count; ++i) {
    versions.parts.push_back(load_name(in));
    if (i > 0 && versions.parts[i - 1].first >= versions.parts[i].first) in.damaged("its parts are out of order");
  }
  in.checksum();
  return versions;
}

PeerUpdate PeerIndex::publish(const Dynamic& own) {
  std::vector<std::shared_ptr<const BitPart>> fresh;
  for (std::size_t i = 0; i < own.filter_count(); ++i)
    if (own.filter(i).above_zero() > 0) fresh.push_back(std::make_shared<const BitPart>(own.filter(i)));

  // Slots whose bits are no longer in the row; what is still there, at whatever place, is settled here.
  std::vector<std::uint64_t> free_slots, removed_slots;
  std::uint64_t next_slot = 0;
  for (auto at = parts_.lower_bound({self_, 0}); at != parts_.end() && at->first.peer == self_; ++at) {
    const auto& [name, state] = *at;
    next_slot = name.slot + 1;
    if (!state.bits) {
      removed_slots.push_back(name.slot);
      continue;
    }
    const auto same = std::ranges::find_if(fresh, [&bits = *state.bits](const auto& part) { return *part == bits; });
    if (same != fresh.end())
      fresh.erase(same);
    else
      free_slots.push_back(name.slot);
  }

  PeerUpdate news;
  const std::uint64_t next_version = after(clock_);
  const auto change = [&](std::uint64_t slot, std::shared_ptr<const BitPart> bits) {
    const PartName name{self_, slot};
    parts_[name] = {next_version, std::move(bits)};
    news.parts.emplace_back(name, parts_[name]);
  };
  // Slots of removed parts are used again, so there are never more than the row was long.
  std::vector<std::uint64_t> slots = free_slots;
  slots.insert(slots.end(), removed_slots.begin(), removed_slots.end());
  for (std::size_t i = 0; i < fresh.size(); ++i) change(i < slots.size() ? slots[i] : next_slot++, fresh[i]);
  for (std::size_t i = fresh.size(); i < free_slots.size(); ++i) change(free_slots[i], nullptr);
  if (!news.empty()) clock_ = next_version;
  return news;
}

PeerUpdate PeerIndex::apply(const PeerUpdate& update) {
  PeerUpdate news;
  for (const auto& [name, theirs] : update.parts) {
    PartState& ours = parts_[name];
    if (theirs.version <= ours.version) continue;
    if (name.peer == self_)
      ours.version = clock_ = after(std::max(clock_, theirs.version));
    else
      ours = theirs;
    news.parts.emplace_back(name, ours);
  }
  return news;
}

PeerVersions PeerIndex::versions() const {
  PeerVersions versions;
  versions.parts.reserve(parts_.size());
  for (const auto& [name, state] : parts_) versions.parts.emplace_back(name, state.version);
  return versions;
}

PeerUpdate PeerIndex::newer_than(const PeerVersions& theirs) const {
  PeerUpdate update;
  auto at = theirs.parts.begin();
  for (const auto& [name, state] : parts_) {
    while (at != theirs.parts.end() && at->first < name) ++at;
    const bool known = at != theirs.parts.end() && at->first == name && at->second >= state.version;
    if (!known) update.parts.emplace_back(name, state);
  }
  return update;
}

std::vector<PeerId> PeerIndex::peers_with(Digest d) const {
  std::vector<PeerId> peers;
  for (const auto& [name, state] : parts_) {
    if (name.peer == self_ || !state.bits || (!peers.empty() && peers.back() == name.peer)) continue;
    if (state.bits->contains(d)) peers.push_back(name.peer);
  }
  return peers;
}

std::uint64_t PeerIndex::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, state] : parts_) sum += state.bits ? state.bits->bytes() : 0;
  return sum;
}

}  // namespace nodup
