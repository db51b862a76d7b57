// SPDX-License-Identifier: Apache-2.0
//
// What the laws of kinds that forget share: an endless stream in little memory.
#pragma once

#include <cmath>

#include "tests/laws/law.hpp"

namespace nodup::testing {

inline std::vector<std::string> forgetting_kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : filter_kinds())
    if (kind.forgets) names.emplace_back(kind.name);
  return names;
}

#define NODUP_FORGETTING_LAW(suite)                                                                      \
  class suite : public ::nodup::testing::Law {};                                                         \
  INSTANTIATE_TEST_SUITE_P(Kinds, suite, ::testing::ValuesIn(::nodup::testing::forgetting_kind_names()), \
                           ::nodup::testing::name_of)

// As many bytes as keys that could be held well; a hundred times as many keys come.
inline constexpr std::uint64_t kRoom = 16'000;
inline constexpr std::uint64_t kEndless = 100 * kRoom;
inline Goal endless_goal(double error = 0.05) { return {.keys = kEndless, .error = error, .bytes = kRoom}; }

inline double share_known(const AnyFilter& filter, std::span<const Digest> keys) {
  return static_cast<double>(contains(filter, keys).count(true)) / static_cast<double>(keys.size());
}

inline double five_sigma(double share, std::size_t count) {
  return 5 * std::sqrt(share * (1 - share) / static_cast<double>(count));
}

}  // namespace nodup::testing
