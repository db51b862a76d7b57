// SPDX-License-Identifier: Apache-2.0
//
// The parameters of aged_table: how they follow from a goal, and what they cost.
#pragma once

#include <cstdint>
#include <optional>

#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/slot_table.hpp"

namespace nodup {

struct AgedTableParams {
  using Shape = SlotTable<true>::Shape;
  static constexpr std::uint64_t kMostTables = 32;

  std::uint64_t keys = 1;  // within the window
  double error = 1e-6;     // of all tables together
  std::uint64_t max_bytes = 0;
  double most_load = 0.82;        // of the slots, at the worst moment
  unsigned tag_bits = 4;          // 4 to 6
  unsigned fingerprint_bits = 8;  // of the first table
  std::uint64_t buckets = 2;      // of the first table
  Window window = {};

  static AgedTableParams fit(const Goal& goal);

  // Generations that can be told apart: all tags but 0, the empty slot, and one that is being reclaimed.
  std::uint64_t generations() const { return (1u << tag_bits) - 2; }
  // Of the table with this number, counted from 1. Each is for four times the keys of the one before; what the first
  // leaves of the error is shared as in `growing`.
  Shape shape(std::uint64_t number) const;
  // The same within the memory limit: the last table that finds room may be smaller. None if there is no room for one
  // worth having. It depends on the number only, so that what a filter holds depends on its events only.
  std::optional<Shape> shape_within_limit(std::uint64_t number) const;
  // A table takes so many keys before it is full.
  static std::uint64_t capacity(const Shape& shape);

  std::uint64_t bytes() const { return shape(1).bytes(); }
  Rates rates(std::uint64_t keys_in_window) const;
  double lines_per_event() const;  // half of the events new
  double slack() const;
  Facts facts() const;

  // keys u64 | error f64 | load f64 | tag bits, fingerprint bits, buckets u64 | window
  void save(Writer& out) const;
  static AgedTableParams load(Reader& in);

 private:
  // Keys held at the worst moment, just before the oldest generation is over.
  double most_held(double keys_in_window) const;
};

}  // namespace nodup
