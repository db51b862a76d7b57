// SPDX-License-Identifier: Apache-2.0
//
// A set of keys in a file, as `nodup set` and `nodup match` see it: what is held, and how a record's key must be taken
// and compared to meet the keys in it.
//
// Sets made by `nodup set` compare values by their text, so a set built from JSON can be asked with CSV or with plain
// lines. The state of a stream (`nodup --state`) is a set, too; it knows numbers from strings, so it must be asked with
// a key of the same kind. The note `compare` tells one from the other.
//
// A set of rows with attributes (sets/attribute_set.hpp) has a name for each field of its key, as the field was typed
// when the set was built. A part of its attributes can be asked for (`where`).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/filters/registry.hpp"
#include "nodup/sets/saved.hpp"
#include "nodup/stream/batch.hpp"
#include "nodup/stream/key.hpp"
#include "nodup/stream/state.hpp"

namespace nodup::cli {

// key_fields() of a key that was typed: what is wrong with it is a UsageError.
std::vector<std::string> typed_fields(const std::string& key);

class KeySet {
 public:
  explicit KeySet(SavedSet saved) : saved_(std::move(saved)) {}
  // Empty ones for keys like `key`, compared by text. `error` is what is noted as asked for.
  static KeySet make(const Kind& kind, const Goal& goal, double error, std::uint64_t seed, const std::string& key);
  static KeySet make_of_rows(const AttributeSet::Params& params, std::uint64_t seed, const std::string& key);
  void save(StateFile& file) const;

  std::string_view kind() const;
  std::uint64_t seed() const;
  std::uint64_t keys() const;  // or rows
  std::string_view unit() const { return filter() != nullptr ? "keys" : "rows"; }
  std::uint64_t bytes() const;
  bool ages() const { return filter() != nullptr && filter_kind(filter()->kind()).ages; }
  bool forgets() const { return filter() != nullptr && filter_kind(filter()->kind()).forgets; }
  bool erases() const { return filter() == nullptr || filter_kind(filter()->kind()).erases; }
  Rates rates() const;        // of the answers to what is asked
  double error_goal() const;  // 0: none is noted

  // What the fields of the key are to the set.
  enum class Use { ask, add, remove };
  // Takes the key as typed, or the one noted in the set if none was; and for `where` only these attributes. Throws
  // UsageError when they cannot meet what is in the set; `path` is for that message.
  void use_key(const std::string& typed, const std::vector<std::string>& where, Use use, const std::string& path);
  const std::string& key() const { return key_; }
  bool asks_part() const { return asks_part_; }
  std::string no_key_hint() const;  // for who reads records none of which has the key

  KeyContext context(const RecordFormat& format, std::optional<std::string> header) const;

  // A row is a key, or the values of a row one after the other: what rows_of() finds in a batch.
  std::span<const Digest> rows_of(const Batch& batch) const {
    return filter() != nullptr ? batch.digests : batch.fields;
  }
  void insert(std::span<const Digest> keys);  // counts a key once; not for sets of rows
  void add(std::span<const Digest> rows);     // counts it every time, in kinds that can
  void erase(std::span<const Digest> rows, Erased* answers);
  void contains(std::span<const Digest> rows, bool* seen) const noexcept;

 private:
  const AnyFilter* filter() const;  // nullptr: a set of rows with attributes
  AnyFilter* filter();
  const AttributeSet& attribute_set() const { return std::get<SavedAttributeSet>(saved_).set; }
  AttributeSet& attribute_set() { return std::get<SavedAttributeSet>(saved_).set; }
  const Notes& notes() const;
  std::string note(const std::string& name) const;
  bool by_text() const { return note("compare") == "text"; }
  void check_key(const std::string& path) const;
  void find_attributes(const std::vector<std::string>& where, Use use, const std::string& path);
  std::size_t attribute(const std::string& name, const std::string& path) const;

  SavedSet saved_;
  std::string key_;
  std::vector<std::size_t> attributes_;  // of each field of the key
  bool asks_part_ = false;
  Answers unused_;  // is_new, which nobody asks for
};

}  // namespace nodup::cli
