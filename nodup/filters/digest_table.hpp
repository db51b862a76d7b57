// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// A set of digests in a fixed number of 16-byte slots; {0, 0} marks an empty slot and cannot be held.
//
// Linear probing that keeps every run of slots sorted (ordered hashing: Amble and Knuth, Computer Journal
// 17(2), 1974). The home slot of a digest grows with the digest, so the whole table is sorted: it can be
// walked in ascending order without sorting or extra memory, and what lies in it does not depend on the order
// of insertion. An absent digest is recognised at the first larger one, at 80% load after 3 slots on average,
// not after the 13 to the end of the run.
//
// Runs that pass the last slot go on at slot 0. Those `wrapped_` digests are the LARGEST and stand before the
// smallest.
class DigestTable {
 public:
  explicit DigestTable(std::uint64_t slots) : pages_(slots * sizeof(Digest)), slots_(slots) {}

  std::uint64_t size() const { return size_; }
  std::uint64_t slots() const { return slots_; }
  std::uint64_t bytes() const { return pages_.bytes(); }

  // True if it was absent. At least one slot must be empty, or this does not end.
  bool insert(Digest d) noexcept {
    const Place place = find(d);
    if (place.holds) return false;
    // The rest of the run moves up by one slot.
    Digest* const slot = pages_.as<Digest>();
    bool passes_end = place.wrapped;
    for (std::uint64_t i = place.slot;;) {
      std::swap(d, slot[i]);
      if (d == Digest{}) break;
      if (++i == slots_) {
        i = 0;
        passes_end = true;
      }
    }
    wrapped_ += passes_end;
    ++size_;
    return true;
  }

  // The same for a digest larger than all that are held, without a search: `next` is 0 before the first.
  void append(Digest d, std::uint64_t& next) noexcept {
    const std::uint64_t i = std::max(home(d), next);
    if (i < slots_) {
      pages_.as<Digest>()[i] = d;
      ++size_;
      next = i + 1;
    } else {
      insert(d);
    }
  }

  bool contains(Digest d) const noexcept { return find(d).holds; }
  void prefetch(Digest d) const noexcept { nodup::prefetch(pages_.as<Digest>() + home(d)); }

  // In ascending order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const Digest* const slot = pages_.as<Digest>();
    for (std::uint64_t i = wrapped_; i < slots_; ++i)
      if (slot[i] != Digest{}) visit(slot[i]);
    for (std::uint64_t i = 0; i < wrapped_; ++i) visit(slot[i]);
  }

 private:
  struct Place {
    std::uint64_t slot;  // where it is or belongs
    bool wrapped;        // that slot is past the end
    bool holds;
  };

  std::uint64_t home(Digest d) const noexcept { return fastrange(d.lo, slots_); }

  Place find(Digest d) const noexcept {
    const Digest* const slot = pages_.as<Digest>();
    std::uint64_t i = std::max(home(d), wrapped_);
    while (i < slots_ && slot[i] != Digest{} && slot[i] < d) ++i;
    if (i < slots_) return {i, false, slot[i] == d};
    for (i = 0; i < wrapped_ && slot[i] < d; ++i) {
    }
    return {i, true, i < wrapped_ && slot[i] == d};
  }

  Pages pages_;
  std::uint64_t slots_;
  std::uint64_t size_ = 0;
  std::uint64_t wrapped_ = 0;
};

}  // namespace nodup
