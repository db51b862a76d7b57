// SPDX-License-Identifier: Apache-2.0
//
// The keys of one side of a join, numbered in the order in which they came, and the rows that belong to each.
//
// Keys are told apart by their 128-bit digests under a random seed, as by the filter `exact`: among n keys two are
// taken for one with a probability below n^2 / 2^129.
#pragma once

#include <cstdint>
#include <deque>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// Digest -> number of the key. Linear probing, at most three quarters full; doubles. Since the place of a digest grows
// with the digest, a walk over the table touches a filter of the same keys, and a larger table, from front to back.
class KeyTable {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t keys() const { return keys_; }
  std::uint64_t bytes() const { return slots_.bytes(); }
  // The most memory that is in use at once while make_room(more) runs, the table's own included.
  std::uint64_t bytes_to_make_room(std::uint64_t more) const {
    const std::uint64_t wanted = slots_for(keys_ + more);
    return bytes() + (wanted > count_ ? wanted * sizeof(Slot) : 0);
  }
  // For so many further keys. Throws Error.
  void make_room(std::uint64_t more) {
    const std::uint64_t wanted = slots_for(keys_ + more);
    if (wanted <= count_) return;
    KeyTable larger;
    larger.slots_ = Pages(wanted * sizeof(Slot));
    larger.count_ = wanted;
    larger.keys_ = keys_;
    for (std::uint64_t i = 0; i < count_; ++i)
      if (slot(i).number != 0) larger.slot(larger.find_slot(slot(i).key)) = slot(i);
    *this = std::move(larger);
  }

  // The number of the key, which is a new one if the key is. There must be room for it.
  std::uint64_t add(Digest key) noexcept {
    Slot& found = slot(find_slot(key));
    if (found.number == 0) found = {key, ++keys_};
    return found.number - 1;
  }
  std::uint64_t find(Digest key) const noexcept {
    return keys_ == 0 ? kNone : slots_.as<Slot>()[find_slot(key)].number - 1;
  }
  void prefetch(Digest key) const noexcept { nodup::prefetch(slots_.as<Slot>() + fastrange(key.lo, count_)); }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint64_t i = 0; i < count_; ++i)
      if (slots_.as<Slot>()[i].number != 0) visit(slots_.as<Slot>()[i].key);
  }

 private:
  struct Slot {
    Digest key;
    std::uint64_t number = 0;  // from 1; 0: empty
  };
  static constexpr std::uint64_t kFewestSlots = 1024;

  std::uint64_t slots_for(std::uint64_t keys) const {
    std::uint64_t slots = count_ == 0 ? kFewestSlots : count_;
    while (slots - slots / 4 < keys) slots *= 2;
    return slots;
  }
  Slot& slot(std::uint64_t i) noexcept { return slots_.as<Slot>()[i]; }
  // Where the key is, or the empty slot where it belongs.
  std::uint64_t find_slot(Digest key) const noexcept {
    const Slot* const slots = slots_.as<Slot>();
    std::uint64_t i = fastrange(key.lo, count_);
    while (slots[i].number != 0 && slots[i].key != key) i = i + 1 == count_ ? 0 : i + 1;
    return i;
  }

  Pages slots_;
  std::uint64_t count_ = 0;  // of slots
  std::uint64_t keys_ = 0;
};

// For every key the places of its rows, in the order in which they came.
class RowsOfKeys {
 public:
  void add(std::uint64_t key, std::uint64_t place) {
    Ends& ends = ends_of(key);
    const std::uint64_t row = rows_.size();
    rows_.push_back({place, kEnd});
    if (ends.first == kEnd)
      ends.first = row;
    else
      rows_[ends.last].next = row;
    ends.last = row;
  }
  // The key has a match, and nobody will ask for its rows.
  void mark(std::uint64_t key) { ends_of(key).first = 0; }

  bool has_any(std::uint64_t key) const { return key < ends_.size() && ends_[key].first != kEnd; }
  // visit(place) until it answers false, in which case so does this.
  template <class Visit>
  bool for_each(std::uint64_t key, Visit&& visit) const {
    if (key >= ends_.size()) return true;
    for (std::uint64_t row = ends_[key].first; row != kEnd; row = rows_[row].next)
      if (!visit(rows_[row].place)) return false;
    return true;
  }

  std::uint64_t rows() const { return rows_.size(); }
  // What so many further rows and, in all, so many keys would make of it.
  std::uint64_t bytes_with(std::uint64_t more_rows, std::uint64_t keys) const {
    return (rows_.size() + more_rows) * sizeof(Row) + keys * sizeof(Ends);
  }

 private:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  struct Row {
    std::uint64_t place;
    std::uint64_t next;
  };
  struct Ends {
    std::uint64_t first = kEnd, last = kEnd;
  };
  Ends& ends_of(std::uint64_t key) {
    if (key >= ends_.size()) ends_.resize(key + 1);
    return ends_[key];
  }

  // Not vectors: those take half as much again while they grow.
  std::deque<Row> rows_;
  std::deque<Ends> ends_;
};

}  // namespace nodup
