// SPDX-License-Identifier: Apache-2.0
//
// Golden files: filters saved by some version, read by all later ones. Files are added (tools/add_golden), never
// changed: a change here is a broken promise to everyone with a saved state.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/sets/saved.hpp"

namespace nodup::testing {

inline constexpr std::uint64_t kGoldenSeed = 7;
inline constexpr std::uint64_t kGoldenKeys = 1000;
inline const std::map<std::string, std::string> kGoldenNotes = {{"key", "line"}};

inline std::vector<Digest> golden_keys() {
  const Hasher hasher(kGoldenSeed);
  std::vector<Digest> keys;
  for (std::uint64_t i = 0; i < kGoldenKeys; ++i) keys.push_back(hasher("key " + std::to_string(i)));
  return keys;
}

// Kinds that age: a key in each tick, every fourth one late.
inline const Window kGoldenWindow{.span = kGoldenKeys / 2 - 20, .lateness = 10};
inline std::vector<Tick> golden_ticks() {
  std::vector<Tick> ticks;
  for (std::uint64_t i = 0; i < kGoldenKeys; ++i) ticks.push_back(5000 + i - (i % 4 == 3 ? i % 10 : 0));
  return ticks;
}

// Fitted for fewer keys than come, so that what grows has grown and what ages has forgotten.
inline AnyFilter golden_filter(const Kind& kind) {
  AnyFilter filter =
      kind.make({.keys = kGoldenKeys / 2, .error = 1e-3, .window = kind.ages ? kGoldenWindow : Window{}});
  const std::vector<Digest> keys = golden_keys();
  const std::vector<Tick> ticks = golden_ticks();
  const auto is_new = std::make_unique<bool[]>(keys.size());
  filter.make_room(keys.size());
  filter.insert_all(keys, ticks.data(), is_new.get());
  return filter;
}

// The first of the golden keys that a filter must know; one that forgets promises none.
inline std::size_t golden_first_known(const AnyFilter& filter) {
  if (filter_kind(filter.kind()).forgets) return kGoldenKeys;
  return filter_kind(filter.kind()).ages ? kGoldenKeys - kGoldenWindow.span : 0;
}

// The one kind that is no filter: each golden key is a user, one of few sites, and sometimes an ad.
inline std::vector<Attribute> golden_row(AttributeSet& set, std::size_t i) {
  const Hasher hasher(kGoldenSeed);
  std::vector<Attribute> row = {{set.attribute("user"), hasher("key " + std::to_string(i))},
                                {set.attribute("site"), hasher("site " + std::to_string(i % 7))}};
  if (i % 3 == 0) row.push_back({set.attribute("ad"), hasher("ad " + std::to_string(i / 2))});
  return row;
}
inline AttributeSet golden_rows() {
  AttributeSet set({.rows = kGoldenKeys / 2, .error = 1e-3});
  for (std::size_t i = 0; i < kGoldenKeys; ++i) {
    const std::vector<Attribute> row = golden_row(set, i);
    set.make_room(1);
    set.add(row);
  }
  return set;
}

inline std::string golden_path(const std::string& folder, std::string_view kind) {
  return folder + "/" + std::string(kind) + "-v" + std::to_string(kFormatVersion) + ".nodup";
}

}  // namespace nodup::testing
