// SPDX-License-Identifier: Apache-2.0
//
// What people use for windows today.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nodup/filters/blocked.hpp"
#include "nodup/filters/filter.hpp"

namespace nodup::bench {

// Anything that answers "seen within the window?" for a batch of keys.
class WindowTable {
 public:
  virtual ~WindowTable() = default;
  virtual void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) = 0;
  virtual void contains_all(std::span<const Digest> keys, bool* seen) const = 0;
  virtual Tick effective() const = 0;  // how far back it remembers for sure
};

// The usual work-around: two Bloom filters, one takes keys, both are asked; after a window the older one is emptied. A
// key lives for one to two windows, and two filters make errors.
class RotatingBloom final : public WindowTable {
 public:
  RotatingBloom(std::uint64_t span, double error)
      : span_(span), params_(fit(span, error)), young_(params_), old_(params_) {}
  static Blocked::Params fit(std::uint64_t span, double error) {
    return Blocked::fit({.keys = span, .error = error / 2});
  }

  void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) override {
    for (std::size_t at = 0; at < keys.size();) {
      if (ticks[at] >= turn_) {
        std::swap(young_, old_);
        young_ = Blocked(params_);
        turn_ = ticks[at] + span_;
      }
      std::size_t end = at;
      while (end < keys.size() && ticks[end] < turn_) ++end;
      const auto part = keys.subspan(at, end - at);
      // Duplicates of the older window are put into the younger filter as well: that costs nothing but room, and
      // leaves the batches whole.
      old_.contains_all(part, seen_before_.data());
      young_.insert_all(part, is_new + at);
      for (std::size_t i = 0; i < part.size(); ++i) is_new[at + i] &= !seen_before_[i];
      at = end;
    }
  }
  void contains_all(std::span<const Digest> keys, bool* seen) const override {
    std::array<bool, kMost> in_old;
    young_.contains_all(keys, seen);
    old_.contains_all(keys, in_old.data());
    for (std::size_t i = 0; i < keys.size(); ++i) seen[i] |= in_old[i];
  }
  Tick effective() const override { return span_; }

 private:
  static constexpr std::size_t kMost = 4096;
  std::uint64_t span_;
  Blocked::Params params_;
  Blocked young_, old_;
  Tick turn_ = 0;
  std::array<bool, kMost> seen_before_{};
};

// Every key with its time, in a hash table, and a queue of the keys to forget: what windowed tools keep. For a count
// window.
class ExactAges final : public WindowTable {
 public:
  explicit ExactAges(std::uint64_t span) : span_(span), slots_(slots(span)), queue_(span + 1) {}
  static std::uint64_t slots(std::uint64_t span) { return span + span / 4 + 4; }
  static std::uint64_t bytes(std::uint64_t span) { return slots(span) * sizeof(Slot) + (span + 1) * sizeof(Slot); }

  void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) override {
    visit_prefetched(
        keys.size(), [&](std::size_t i) { nodup::prefetch(&slots_[home(keys[i])]); },
        [&](std::size_t i) {
          while (held_ > 0 && queue_[first_].time + span_ < ticks[i]) forget_first();
          Slot& slot = slots_[find(keys[i])];
          is_new[i] = slot.time == 0;
          if (!is_new[i]) return;
          slot = {keys[i], ticks[i]};
          queue_[(first_ + held_++) % queue_.size()] = slot;
        });
  }
  void contains_all(std::span<const Digest> keys, bool* seen) const override {
    for (std::size_t i = 0; i < keys.size(); ++i) seen[i] = slots_[find(keys[i])].time != 0;
  }
  Tick effective() const override { return span_; }

 private:
  struct Slot {
    Digest key;
    Tick time = 0;  // 0: empty
  };
  std::size_t home(Digest d) const { return fastrange(d.lo, slots_.size()); }
  std::size_t next(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
  std::size_t find(Digest d) const {
    std::size_t at = home(d);
    while (slots_[at].time != 0 && slots_[at].key != d) at = next(at);
    return at;
  }
  void forget_first() {
    std::size_t hole = find(queue_[first_].key);
    first_ = first_ + 1 == queue_.size() ? 0 : first_ + 1;
    --held_;
    // Those behind the hole that may lie in it move up, so that no search ends too early.
    for (std::size_t at = next(hole); slots_[at].time != 0; at = next(at)) {
      const std::size_t from_home = (at + slots_.size() - home(slots_[at].key)) % slots_.size();
      const std::size_t from_hole = (at + slots_.size() - hole) % slots_.size();
      if (from_home < from_hole) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].time = 0;
  }

  std::uint64_t span_;
  std::vector<Slot> slots_;
  std::vector<Slot> queue_;
  std::size_t first_ = 0, held_ = 0;
};

}  // namespace nodup::bench
