// SPDX-License-Identifier: Apache-2.0
//
// A set of rows with many attributes (Guo, Wu, Chen, Yuan and Luo, "The dynamic Bloom filters", 2010, section 5: the
// multi-dimension dynamic Bloom filter), saved under the kind `multidim`. It is no Filter: a row has many values.
//
// One dynamic filter per attribute holds the values that occurred under its name, and one more the rows as wholes. An
// attribute's filter is made when its name first appears; rows may have different attributes. Two questions:
//
//   contains_row   by the filter of whole rows: were exactly these attributes with these values added as one row?
//   contains_part  by the attributes' filters: did each of these values occur, maybe in different rows?
//
// The second is what the attributes' filters are for, and why it cannot do what the first does: after (a=1, b=2) and
// (a=3, b=4) the part (a=1, b=4) is "there". That is no error of hashing, and no memory makes it smaller.
//
// Errors: only false positives, as long as only rows that are held are erased. contains_row: at most `error`.
// contains_part: each value that never occurred looks as if it had with at most `error`, independently; so a part of
// which j values never occurred with at most error^j.
//
// Every row counts every one of its values once more, in counters of four bits that stay when they are full
// (filters/counting.hpp): a value that was in 15 rows at a time stays "there" when its rows have gone, and is counted
// under `saturated`. Rows as wholes are rarely so many times the same: they go.
//
// A row names an attribute once at most, in any order: the whole is a sum over its attributes. Names are hashed without
// the set's seed, so that the order in which they appeared means nothing either (docs/format.md).
//
// Threads: one at a time; contains by many while nobody changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nodup/filters/dynamic.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

// A value of a row: the index of the attribute's name in the set, and the value's digest.
struct Attribute {
  std::size_t index = 0;
  Digest value;
};

class AttributeSet {
 public:
  static constexpr std::string_view kName = kAttributeSet;
  static constexpr std::string_view kErrors =
      "a row or value that never came may look there (false positive); one that is held never looks absent";
  // Each has a filter: hostile or mistaken input must not take all memory for names.
  static constexpr std::size_t kMostAttributes = 4096;
  static constexpr std::size_t kLongestName = 4096;

  struct Params {
    std::uint64_t rows = 1'000'000;  // planned for, in every filter; more make it grow
    double error = 1e-6;             // of each filter
    std::uint64_t max_bytes = 0;     // of all filters together; 0: no limit
  };

  explicit AttributeSet(const Params& params);

  // The index of this name; its filter is made if it is new. Throws Error when that is one too many, the name is empty
  // or too long, or the memory does not suffice.
  std::size_t attribute(std::string_view name);
  std::optional<std::size_t> find(std::string_view name) const;
  std::span<const std::string> names() const { return names_; }

  // For the insertions that follow, when all their attributes are known. May throw; nothing is lost then.
  void make_room(std::uint64_t rows);
  void limit_memory(std::uint64_t max_bytes) { max_bytes_ = max_bytes; }

  // Counts the row once more. True if it looked new as a whole.
  bool add(std::span<const Attribute> row) noexcept;
  // Counts it if it looks new; else nothing changes.
  bool insert(std::span<const Attribute> row) noexcept { return !contains_row(row) && add(row); }
  bool contains_row(std::span<const Attribute> row) const noexcept;
  bool contains_part(std::span<const Attribute> part) const noexcept;  // an empty part is always there
  // All or nothing: `absent` if any of its filters has it not, else `ambiguous` if any could not tell whose it is.
  Erased erase(std::span<const Attribute> row) noexcept;

  // Many rows of the same attributes, at least one, row by row in `values`; the same answers as one by one, in order.
  void add_rows(std::span<const std::size_t> attributes, std::span<const Digest> values, bool* is_new) noexcept;
  void contains_rows(std::span<const std::size_t> attributes, std::span<const Digest> values,
                     bool* seen) const noexcept;
  void contains_parts(std::span<const std::size_t> attributes, std::span<const Digest> values,
                      bool* seen) const noexcept;
  void erase_rows(std::span<const std::size_t> attributes, std::span<const Digest> values, Erased* answers) noexcept;

  // Afterwards it holds the rows of both. Throws Error, and changes no answer, when a filter cannot be merged.
  void merge(const AttributeSet& other);

  std::uint64_t keys() const { return rows_.keys(); }  // rows
  std::uint64_t bytes() const;
  Rates rates() const { return rows_.rates(); }                                    // of whole rows
  Rates rates(std::size_t attribute) const { return values_[attribute].rates(); }  // of one attribute's values
  Facts facts() const;

  // filter of the rows | attributes u64 | for each: name text, filter; filters as `dynamic` is saved
  void save(Writer& out) const;
  static AttributeSet load(Reader& in);

 private:
  explicit AttributeSet(Dynamic rows) : rows_(std::move(rows)) {}

  void adopt(std::string name, Dynamic values);
  Digest marked(const Attribute& attribute) const noexcept;
  // `row` is any range of Attribute.
  template <class Row>
  Digest whole(const Row& row) const noexcept;
  template <class Row>
  Erased erase(const Row& row, Digest whole_row) noexcept;

  std::uint64_t max_bytes_ = 0;
  Dynamic rows_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<Digest> name_digests_;
  std::vector<Dynamic> values_;  // of each attribute, with the parameters of rows_
};

}  // namespace nodup
