// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/registry.hpp"

#include <fmt/format.h>

#include <string>

#include "nodup/error.hpp"

namespace nodup {

// Each stands in keys/ or sources/, in a file of its own.
std::unique_ptr<Key> make_line_key(std::string_view, const KeyContext&);
std::unique_ptr<Key> make_col_key(std::string_view, const KeyContext&);
std::unique_ptr<Key> make_json_key(std::string_view, const KeyContext&);
std::unique_ptr<Source> unpack_gzip(std::unique_ptr<Source>);
std::unique_ptr<Source> unpack_zstd(std::unique_ptr<Source>);

namespace {

constexpr KeyKind kKeyKinds[] = {
    {"line", "line", "the whole record, byte for byte", make_line_key},
    {"col", "col:COLUMN[,COLUMN...]", "columns by number from 1 or by name in the header; \\, is a comma in a name",
     make_col_key},
    {"json", "json:PATH[,PATH...]", "fields of a JSON record: user, ad.id, tags[0]; \\. \\, \\[ stand for themselves",
     make_json_key},
};

constexpr Packing kPackings[] = {
    {"gzip", "\x1f\x8b\x08", unpack_gzip},
    {"zstd", "\x28\xb5\x2f\xfd", unpack_zstd},
    // A frame without data, with which parallel packers (pzstd) begin.
    {"zstd", "\x50\x2a\x4d\x18", unpack_zstd},
};

std::string list_usages() {
  std::string list;
  for (const KeyKind& kind : kKeyKinds) list.append(list.empty() ? "" : ", ").append(kind.usage);
  return list;
}

}  // namespace

std::span<const KeyKind> key_kinds() { return kKeyKinds; }

std::span<const Packing> packings() { return kPackings; }

std::unique_ptr<Key> make_key(std::string_view specification, const KeyContext& context) {
  const std::size_t colon = specification.find(':');
  const std::string_view name = specification.substr(0, colon);
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? specification.substr(colon + 1) : std::string_view();
  for (const KeyKind& kind : kKeyKinds) {
    if (kind.name != name) continue;
    const bool takes_rest = kind.usage != kind.name;
    if (takes_rest && rest.empty()) throw Error(fmt::format("--key {}: say which, as {}", specification, kind.usage));
    if (!takes_rest && has_rest) throw Error(fmt::format("--key {}: {} takes nothing more", specification, name));
    return kind.make(rest, context);
  }
  throw Error(fmt::format("--key {}: there is no such kind of key; there are {}", specification, list_usages()));
}

}  // namespace nodup
