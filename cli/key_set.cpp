// SPDX-License-Identifier: Apache-2.0
#include "cli/key_set.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

std::string_view kind_of_key(std::string_view specification) {
  return specification.substr(0, specification.find(':'));
}

}  // namespace

KeySet KeySet::make(const Kind& kind, const Goal& goal, double error, std::uint64_t seed, const std::string& key) {
  return KeySet(
      {.filter = kind.make(goal),
       .seed = seed,
       .notes = {{"key", key}, {"compare", "text"}, {"error", fmt::format("{}", error)}, {"version", NODUP_VERSION}}});
}

std::string KeySet::note(const std::string& name) const {
  const auto it = saved_.notes.find(name);
  return it == saved_.notes.end() ? std::string() : it->second;
}

double KeySet::error_goal() const {
  const std::string noted = note("error");
  return noted.empty() ? 0 : read_probability(noted);
}

void KeySet::use_key(const std::string& typed, const std::string& path) {
  const std::string noted = note("key");
  key_ = !typed.empty() ? typed : !noted.empty() ? noted : "line";
  if (by_text() || noted.empty() || kind_of_key(key_) == kind_of_key(noted)) return;
  throw UsageError(
      fmt::format("{} is the state of a stream with the key {}, which tells numbers from text: it can only be asked "
                  "with a --key of the kind {}. A set made by `nodup set build` takes any.",
                  path, noted, kind_of_key(noted)));
}

std::string KeySet::no_key_hint() const {
  return fmt::format("warning: no record had the key {}{}", key_,
                     by_text() && key_ != "line" ? "; for keys as they stand, one per line, say --key line" : "");
}

KeyContext KeySet::context(const RecordFormat& format, std::optional<std::string> header) const {
  return {.format = format, .header = std::move(header), .by_text = by_text()};
}

KeyContext KeySet::context_by_text(const RecordFormat& format, std::optional<std::string> header) {
  return {.format = format, .header = std::move(header), .by_text = true};
}

void KeySet::insert(std::span<const Digest> rows) {
  saved_.filter.make_room(rows.size());
  saved_.filter.insert_all(rows, unused_.room_for(rows.size()));
}

void KeySet::add(std::span<const Digest> rows) {
  saved_.filter.make_room(rows.size());
  saved_.filter.add_all(rows, unused_.room_for(rows.size()));
}

void KeySet::erase(std::span<const Digest> rows, Erased* answers) {
  for (std::size_t i = 0; i < rows.size(); ++i) answers[i] = saved_.filter.erase(rows[i]);
}

}  // namespace nodup::cli
