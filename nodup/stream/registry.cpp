// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/registry.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "nodup/error.hpp"

namespace nodup {

// Each stands in keys/ or sources/, in a file of its own.
std::unique_ptr<Key> make_line_key(const Wanted&, const KeyContext&);
std::unique_ptr<Key> make_col_key(const Wanted&, const KeyContext&);
std::unique_ptr<Key> make_json_key(const Wanted&, const KeyContext&);
std::vector<std::string> line_key_fields(std::string_view);
std::vector<std::string> col_key_fields(std::string_view);
std::vector<std::string> json_key_fields(std::string_view);
std::unique_ptr<Source> unpack_gzip(std::unique_ptr<Source>);
std::unique_ptr<Source> unpack_zstd(std::unique_ptr<Source>);

namespace {

constexpr KeyKind kKeyKinds[] = {
    {"line", "line", "", "the whole record, byte for byte", make_line_key, line_key_fields},
    {"col", "col:COLUMN[,COLUMN...]", "col:COLUMN",
     "columns by number from 1 or by name in the header; \\, is a comma in a name", make_col_key, col_key_fields},
    {"json", "json:PATH[,PATH...]", "json:PATH",
     "fields of a JSON record: user, ad.id, tags[0]; \\. \\, \\[ stand for themselves", make_json_key, json_key_fields},
};

constexpr Packing kPackings[] = {
    {"gzip", "\x1f\x8b\x08", unpack_gzip},
    {"zstd", "\x28\xb5\x2f\xfd", unpack_zstd},
    // A frame without data, with which parallel packers (pzstd) begin.
    {"zstd", "\x50\x2a\x4d\x18", unpack_zstd},
};

// What a specification may be for: the flag it is typed behind, and how a kind is used there.
struct Use {
  std::string_view flag;
  std::string_view what;
  std::string_view KeyKind::*usage;
};
constexpr Use kAsKey{"--key", "key", &KeyKind::usage};
constexpr Use kAsTime{"--time", "time", &KeyKind::time_usage};

std::string list_usages(const Use& use) {
  std::string list;
  for (const KeyKind& kind : kKeyKinds) {
    if (!(kind.*use.usage).empty()) list.append(list.empty() ? "" : ", ").append(kind.*use.usage);
  }
  return list;
}

struct Found {
  const KeyKind* kind;
  std::string_view rest;  // of the specification, behind the colon
};

Found find_kind(std::string_view specification, const Use& use) {
  const std::size_t colon = specification.find(':');
  const std::string_view name = specification.substr(0, colon);
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? specification.substr(colon + 1) : std::string_view();
  for (const KeyKind& kind : kKeyKinds) {
    const std::string_view usage = kind.*use.usage;
    if (kind.name != name || usage.empty()) continue;
    const bool takes_rest = usage != kind.name;
    if (takes_rest && rest.empty()) throw Error(fmt::format("{} {}: say which, as {}", use.flag, specification, usage));
    if (!takes_rest && has_rest)
      throw Error(fmt::format("{} {}: {} takes nothing more", use.flag, specification, name));
    return {&kind, rest};
  }
  throw Error(fmt::format("{} {}: there is no such kind of {}; there are {}", use.flag, specification, use.what,
                          list_usages(use)));
}

}  // namespace

std::span<const KeyKind> key_kinds() { return kKeyKinds; }

std::span<const Packing> packings() { return kPackings; }

std::unique_ptr<Key> make_key(std::string_view specification, const KeyContext& context) {
  const Found key = find_kind(specification, kAsKey);
  if (context.time.empty()) return key.kind->make({key.rest, {}}, context);
  const Found time = find_kind(context.time, kAsTime);
  if (key.kind == time.kind) return key.kind->make({key.rest, time.rest}, context);
  return key_and_time(key.kind->make({key.rest, {}}, context), time.kind->make({{}, time.rest}, context));
}

std::vector<std::string> key_fields(std::string_view specification) {
  const Found key = find_kind(specification, kAsKey);
  return key.kind->fields(key.rest);
}

std::string key_of_fields(std::string_view specification, std::span<const std::size_t> places) {
  const Found key = find_kind(specification, kAsKey);
  if (key.rest.empty()) return std::string(specification);  // it is one field, the record
  const std::vector<std::string> fields = key.kind->fields(key.rest);
  std::string chosen(key.kind->name);
  for (const std::size_t place : places)
    chosen.append(chosen.size() == key.kind->name.size() ? ":" : ",").append(fields.at(place));
  return chosen;
}

}  // namespace nodup
