// SPDX-License-Identifier: Apache-2.0
//
// How a window filter grows: a row of tables, each larger and tighter than the one before. The last in use is the open
// one, which takes new keys; the older ones are dropped when their last key is forgotten. Behind them stand those that
// make_room has made ready: empty, and untouched until they are opened.
//
// Table: number (counted from the first ever made), capacity and live (keys), bytes().
// Params: what says how large the tables are, and how much memory they may take together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nodup {

template <class Table, class Params>
class TableRow {
 public:
  using Shape = typename Params::Shape;

  std::span<Table> in_use() noexcept { return std::span(tables_).first(used_); }
  std::span<const Table> in_use() const noexcept { return std::span(tables_).first(used_); }
  std::span<Table> older() noexcept { return std::span(tables_).first(used_ - 1); }
  Table& open() noexcept { return tables_[used_ - 1]; }
  const Table& open() const noexcept { return tables_[used_ - 1]; }

  std::uint64_t keys() const noexcept {
    std::uint64_t sum = 0;
    for (const Table& table : in_use()) sum += table.live;
    return sum;
  }
  std::uint64_t bytes() const noexcept { return bytes_of(in_use()); }

  // One more in use, now the open one: the first, or those of a saved filter. Not after make_room.
  void add(const Params& params, Table table) {
    tables_.push_back(std::move(table));
    ++used_;
    ask_for_growth(params);
  }
  // Opens one that was made ready. False if there is none.
  bool open_next(const Params& params) noexcept {
    if (used_ == tables_.size()) return false;
    ++used_;
    ask_for_growth(params);
    return true;
  }
  // Those that take no new keys and have none left.
  void drop_empty(const Params& params) noexcept {
    for (std::size_t i = 0; i + 1 < used_;) {
      if (tables_[i].live > 0) {
        ++i;
        continue;
      }
      tables_.erase(tables_.begin() + static_cast<std::ptrdiff_t>(i));
      --used_;
      ask_for_growth(params);
    }
  }

  // Is a further table allowed? Depends on the events only, not on what make_room has made ready.
  bool may_grow() const noexcept { return may_grow_; }
  // To be called when the parameters have changed.
  void ask_for_growth(const Params& params) noexcept {
    may_grow_ = may_make(params, open().number + 1, bytes()).has_value();
  }
  // `make(number, shape)` makes a table.
  template <class Make>
  void make_room(const Params& params, std::uint64_t more_keys, Make&& make) {
    // The search for room may fail before a table is full: then the next one must be there. Until it is written to, it
    // costs nothing.
    const auto sure = [](const Table& table) { return table.capacity / 10 * 8; };
    std::uint64_t room = 0;
    for (const Table& table : std::span(tables_).subspan(used_ - 1))
      room += sure(table) - std::min(table.live, sure(table));
    while (room < more_keys) {
      const std::uint64_t number = tables_.back().number + 1;
      const std::optional<Shape> next = may_make(params, number, bytes_of(tables_));
      if (!next) return;
      tables_.push_back(make(number, *next));
      room += sure(tables_.back());
    }
  }

 private:
  static std::uint64_t bytes_of(std::span<const Table> tables) noexcept {
    std::uint64_t sum = 0;
    for (const Table& table : tables) sum += table.bytes();
    return sum;
  }
  // The table with this number, if it may be made while `used` bytes are.
  static std::optional<Shape> may_make(const Params& params, std::uint64_t number, std::uint64_t used) {
    if (params.window.by_count && params.keys >= params.window.span) return std::nullopt;  // the first holds all
    if (number > Params::kMostTables) return std::nullopt;
    const std::optional<Shape> shape = params.shape_within_limit(number);
    const bool too_much =
        params.max_bytes != 0 && shape && shape->bytes() > params.max_bytes - std::min(used, params.max_bytes);
    return too_much ? std::nullopt : shape;
  }

  std::vector<Table> tables_;
  std::size_t used_ = 0;  // at least one, once add() was called
  bool may_grow_ = true;
};

}  // namespace nodup
