// SPDX-License-Identifier: Apache-2.0
//
// The parameters of aged_lines: how they follow from a goal, and what they cost.
#pragma once

#include <cstdint>
#include <optional>

#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

struct AgedLinesParams {
  static constexpr std::uint64_t kMostTables = 32;

  // Of one table.
  struct Shape {
    std::uint64_t lines = 1;
    unsigned fingerprint_bits = 8;
    unsigned slots_per_line = 1;
    std::uint64_t slots() const { return lines * slots_per_line; }
    std::uint64_t bytes() const;
    double false_positive(double load) const;
  };

  std::uint64_t keys = 1;  // within the window
  double error = 1e-6;     // of all tables together
  std::uint64_t max_bytes = 0;
  double most_load = 0.89;         // of the slots, at the worst moment
  std::uint64_t generations = 14;  // that can be told apart
  unsigned fingerprint_bits = 8;   // of the first table
  std::uint64_t lines = 1;         // of the first table
  Window window = {};

  static AgedLinesParams fit(const Goal& goal);

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
  double slack() const;
  Facts facts() const;

  // keys u64 | error f64 | load f64 | generations, fingerprint bits, lines u64 | window
  void save(Writer& out) const;
  static AgedLinesParams load(Reader& in);

 private:
  // Keys held at the worst moment, just before the oldest generation is over.
  double most_held(double keys_in_window) const;
  unsigned slots_per_line(unsigned width) const;
  unsigned width_for(double error) const;
  std::uint64_t lines_for(double held, unsigned width) const;
};

}  // namespace nodup
