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

// Fitted for fewer keys than come, so that what grows has grown.
inline AnyFilter golden_filter(const Kind& kind) {
  AnyFilter filter = kind.make({.keys = kGoldenKeys / 2, .error = 1e-3});
  const std::vector<Digest> keys = golden_keys();
  const auto is_new = std::make_unique<bool[]>(keys.size());
  filter.make_room(keys.size());
  filter.insert_all(keys, is_new.get());
  return filter;
}

inline std::string golden_path(const std::string& folder, const Kind& kind) {
  return folder + "/" + std::string(kind.name) + "-v" + std::to_string(kFormatVersion) + ".nodup";
}

}  // namespace nodup::testing
