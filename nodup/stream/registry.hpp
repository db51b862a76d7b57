// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/stream/key.hpp"
#include "nodup/stream/source.hpp"

namespace nodup {

// One kind of key: "json:user,ad.id" is kind `json` with the specification "user,ad.id". Many can be a time, too.
struct KeyKind {
  std::string_view name;
  std::string_view usage;       // "json:PATH[,PATH...]"
  std::string_view time_usage;  // "json:PATH"; empty: cannot be a time
  std::string_view summary;     // for the help
  // For a key, for a time, or for both in one walk. Throws Error when what is wanted is wrong or does not fit the
  // context.
  std::unique_ptr<Key> (*make)(const Wanted& wanted, const KeyContext& context);
  // The fields of a key of this kind, as typed, escapes and all. Throws Error when they are wrong.
  std::vector<std::string> (*fields)(std::string_view key);
};

// One way of packing bytes, recognised by how they begin.
struct Packing {
  std::string_view name;
  std::string_view magic;  // the first bytes
  std::unique_ptr<Source> (*unpack)(std::unique_ptr<Source> packed);
};

// THE lists (registry.cpp).
std::span<const KeyKind> key_kinds();
std::span<const Packing> packings();

// Makes the key for a specification as typed ("line", "col:2,email"), with the time that the context asks for. Throws
// Error.
std::unique_ptr<Key> make_key(std::string_view specification, const KeyContext& context);

// The fields of a key, as typed: "json:user,ad.id" has "user" and "ad.id", "line" has "line". In the order of
// Batch::fields. Throws Error.
std::vector<std::string> key_fields(std::string_view specification);

// The specification with only some of its fields, in this order: "json:user,ad.id" and {1} give "json:ad.id". The
// places are those of key_fields().
std::string key_of_fields(std::string_view specification, std::span<const std::size_t> places);

}  // namespace nodup
