// SPDX-License-Identifier: Apache-2.0
//
// A set of keys in a file, as `nodup set` and `nodup match` see it: what is held, and how a record's key must be taken
// and compared to meet the keys in it.
//
// Sets made by `nodup set` compare values by their text, so a set built from JSON can be asked with CSV or with plain
// lines. The state of a stream (`nodup --state`) is a set, too; it knows numbers from strings, so it must be asked with
// a key of the same kind. The note `compare` tells one from the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/stream/batch.hpp"
#include "nodup/stream/key.hpp"
#include "nodup/stream/state.hpp"

namespace nodup::cli {

class KeySet {
 public:
  explicit KeySet(SavedFilter saved) : saved_(std::move(saved)) {}
  // An empty one for keys like `key`, compared by text. `error` is what is noted as asked for.
  static KeySet make(const Kind& kind, const Goal& goal, double error, std::uint64_t seed, const std::string& key);
  void save(StateFile& file) const { file.save(saved_.filter, saved_.seed, saved_.notes); }

  std::uint64_t seed() const { return saved_.seed; }
  const AnyFilter& filter() const { return saved_.filter; }
  const Kind& kind() const { return filter_kind(saved_.filter.kind()); }
  double error_goal() const;  // 0: not noted

  // Takes the key as typed, or the one noted in the set if none was. Throws UsageError when it cannot meet the keys in
  // the set; `path` is for that message.
  void use_key(const std::string& typed, const std::string& path);
  const std::string& key() const { return key_; }
  std::string no_key_hint() const;  // for who reads records none of which has the key
  KeyContext context(const RecordFormat& format, std::optional<std::string> header) const;
  static KeyContext context_by_text(const RecordFormat& format, std::optional<std::string> header);  // of new sets

  // Rows are keys.
  void insert(std::span<const Digest> rows);  // counts a row once
  void add(std::span<const Digest> rows);     // counts it every time, in kinds that can
  void erase(std::span<const Digest> rows, Erased* answers);
  void contains(std::span<const Digest> rows, bool* seen) const noexcept { saved_.filter.contains_all(rows, seen); }

 private:
  std::string note(const std::string& name) const;
  bool by_text() const { return note("compare") == "text"; }

  SavedFilter saved_;
  std::string key_;
  Answers unused_;  // is_new, which nobody asks for
};

}  // namespace nodup::cli
