// SPDX-License-Identifier: Apache-2.0
#include "cli/key_set.hpp"

#include <algorithm>
#include <iterator>
#include <variant>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

std::string_view kind_of_key(std::string_view specification) {
  return specification.substr(0, specification.find(':'));
}

// Columns by number, and lines, are fields without names.
bool has_names(const std::string& key) {
  if (kind_of_key(key) == "line") return false;
  return kind_of_key(key) != "col" || !std::ranges::all_of(key_fields(key), [](const std::string& field) {
           return field.find_first_not_of("0123456789") == std::string::npos;
         });
}

Notes notes_of_new(const std::string& key, double error) {
  return {{"key", key}, {"compare", "text"}, {"error", fmt::format("{}", error)}, {"version", NODUP_VERSION}};
}

}  // namespace

std::vector<std::string> typed_fields(const std::string& key) {
  try {
    return key_fields(key);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

KeySet KeySet::make(const Kind& kind, const Goal& goal, double error, std::uint64_t seed, const std::string& key) {
  return KeySet(SavedFilter{.filter = kind.make(goal), .seed = seed, .notes = notes_of_new(key, error)});
}

KeySet KeySet::make_of_rows(const AttributeSet::Params& params, std::uint64_t seed, const std::string& key) {
  return KeySet(SavedAttributeSet{.set = AttributeSet(params), .seed = seed, .notes = notes_of_new(key, params.error)});
}

void KeySet::save(StateFile& file) const {
  if (filter() != nullptr)
    file.save(*filter(), seed(), notes());
  else
    file.save(attribute_set(), seed(), notes());
}

const AnyFilter* KeySet::filter() const {
  const auto* saved = std::get_if<SavedFilter>(&saved_);
  return saved == nullptr ? nullptr : &saved->filter;
}
AnyFilter* KeySet::filter() {
  auto* saved = std::get_if<SavedFilter>(&saved_);
  return saved == nullptr ? nullptr : &saved->filter;
}

const Notes& KeySet::notes() const {
  return std::visit([](const auto& saved) -> const Notes& { return saved.notes; }, saved_);
}
std::string KeySet::note(const std::string& name) const {
  const auto it = notes().find(name);
  return it == notes().end() ? std::string() : it->second;
}

std::string_view KeySet::kind() const { return filter() != nullptr ? filter()->kind() : AttributeSet::kName; }
std::uint64_t KeySet::seed() const {
  return std::visit([](const auto& saved) { return saved.seed; }, saved_);
}
std::uint64_t KeySet::keys() const { return filter() != nullptr ? filter()->keys() : attribute_set().keys(); }
std::uint64_t KeySet::bytes() const { return filter() != nullptr ? filter()->bytes() : attribute_set().bytes(); }

// A part passes falsely if one of its values does, the others being there: at most as often as the worst attribute.
Rates KeySet::rates() const {
  if (filter() != nullptr) return filter()->rates();
  if (!asks_part_) return attribute_set().rates();
  Rates worst;
  for (const std::size_t attribute : attributes_)
    worst.false_positive = std::max(worst.false_positive, attribute_set().rates(attribute).false_positive);
  return worst;
}

double KeySet::error_goal() const {
  const std::string noted = note("error");
  return noted.empty() ? 0 : read_probability(noted);
}

// ------------------------------------------------------------------------------------------------ its key

void KeySet::use_key(const std::string& typed, const std::vector<std::string>& where, Use use,
                     const std::string& path) {
  const std::string noted = note("key");
  key_ = !typed.empty() ? typed : !noted.empty() ? noted : "line";
  if (filter() == nullptr) {
    find_attributes(where, use, path);
    return;
  }
  if (!where.empty())
    throw UsageError(
        fmt::format("--where: {} has no attributes; `nodup set build --attributes` makes sets that have", path));
  check_key(path);
}

void KeySet::check_key(const std::string& path) const {
  const std::string noted = note("key");
  if (noted.empty()) return;
  if (!by_text() && kind_of_key(key_) != kind_of_key(noted))
    throw UsageError(
        fmt::format("{} is the state of a stream with the key {}, which tells numbers from text: it can only be asked "
                    "with a --key of the kind {}. A set made by `nodup set build` takes any.",
                    path, noted, kind_of_key(noted)));
  const std::size_t fields = key_fields(noted).size(), typed = typed_fields(key_).size();
  if (fields != typed)
    throw UsageError(fmt::format(
        "the keys in {} have {} field{} ({}), those of --key {} have {}: only a set that was built with --attributes "
        "can be asked for a part, with --where",
        path, fields, fields == 1 ? "" : "s", noted, key_, typed));
}

std::size_t KeySet::attribute(const std::string& name, const std::string& path) const {
  if (const auto found = attribute_set().find(name)) return *found;
  throw UsageError(
      fmt::format("{} has no attribute {}; it has: {}", path, name, fmt::join(attribute_set().names(), ", ")));
}

// Which attribute each field of the key is. By --where if that is given; else by the names of the fields. Columns by
// number, and lines, have no names: they go by their order in the set's own key (col:3,1 against json:user,day), as
// everything does where that key has none itself. Attributes appear as they come: what is added may have names that are
// new. A question with names of which the set knows none goes by order, too.
void KeySet::find_attributes(const std::vector<std::string>& where, Use use, const std::string& path) {
  AttributeSet& set = attribute_set();
  const std::string noted = note("key");
  const std::vector<std::string> own = key_fields(noted);
  asks_part_ = !where.empty();
  if (asks_part_ && key_ == noted) {
    std::vector<std::size_t> places;
    for (const std::string& name : where) {
      (void)attribute(name, path);
      const auto place = std::ranges::find(own, name);
      if (place == own.end())
        throw UsageError(
            fmt::format("where does {} stand in a record? Add --key, with a field for each of --where", name));
      places.push_back(static_cast<std::size_t>(place - own.begin()));
    }
    key_ = key_of_fields(noted, places);
  }
  std::vector<std::string> names = typed_fields(key_);
  if (asks_part_) {
    if (names.size() != where.size())
      throw UsageError(
          fmt::format("--where names {} attribute{}, --key {} has {} field{}: give one for each, in the "
                      "same order",
                      where.size(), where.size() == 1 ? "" : "s", key_, names.size(), names.size() == 1 ? "" : "s"));
    names = where;
  } else {
    const auto known =
        std::ranges::count_if(names, [&](const std::string& name) { return set.find(name).has_value(); });
    if (!has_names(key_) || !has_names(noted)) {
      if (names.size() != own.size())
        throw UsageError(
            fmt::format("--key {} has {} field{}, the rows in {} have {} ({}), and without names fields go by their "
                        "order: give as many{}",
                        key_, names.size(), names.size() == 1 ? "" : "s", path, own.size(), noted,
                        use == Use::ask ? ", or the name of each with --where" : ""));
      names = own;
    } else if (use != Use::add && known == 0 && names.size() == own.size()) {
      names = own;
    }
    if (use == Use::ask && names.size() < own.size())
      throw UsageError(
          fmt::format("the rows in {} have the attributes {}, --key {} has {}: to ask for a part add --where "
                      "with the name of each field{}",
                      path, fmt::join(own, ","), key_, names.size(),
                      known == std::ssize(names) ? fmt::format(", --where {}", fmt::join(names, ",")) : ""));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw UsageError(fmt::format("the attribute {} is named twice", *twice));
  attributes_.clear();
  for (const std::string& name : names)
    attributes_.push_back(use == Use::add ? set.attribute(name) : attribute(name, path));
}

std::string KeySet::no_key_hint() const {
  return fmt::format("warning: no record had the key {}{}", key_,
                     by_text() && key_ != "line" ? "; for keys as they stand, one per line, say --key line" : "");
}

KeyContext KeySet::context(const RecordFormat& format, std::optional<std::string> header) const {
  return {.format = format, .header = std::move(header), .by_text = by_text(), .each_field = filter() == nullptr};
}

// ------------------------------------------------------------------------------------------------ its content

void KeySet::insert(std::span<const Digest> keys) {
  filter()->make_room(keys.size());
  filter()->insert_all(keys, unused_.room_for(keys.size()));
}

void KeySet::add(std::span<const Digest> rows) {
  if (AnyFilter* const keys = filter()) {
    keys->make_room(rows.size());
    keys->add_all(rows, unused_.room_for(rows.size()));
    return;
  }
  const std::size_t count = rows.size() / attributes_.size();
  attribute_set().make_room(count);
  attribute_set().add_rows(attributes_, rows, unused_.room_for(count));
}

void KeySet::erase(std::span<const Digest> rows, Erased* answers) {
  if (AnyFilter* const keys = filter())
    keys->erase_all(rows, answers);
  else
    attribute_set().erase_rows(attributes_, rows, answers);
}

void KeySet::contains(std::span<const Digest> rows, bool* seen) const noexcept {
  if (const AnyFilter* const keys = filter())
    keys->contains_all(rows, seen);
  else if (asks_part_)
    attribute_set().contains_parts(attributes_, rows, seen);
  else
    attribute_set().contains_rows(attributes_, rows, seen);
}

}  // namespace nodup::cli
