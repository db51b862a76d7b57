// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nodup/stream/join/join.hpp"

namespace nodup::cli {

// THE list of joins, as they are typed and reported.
inline const std::initializer_list<std::pair<std::string_view, JoinType>> kJoinTypes = {
    {"inner", JoinType::inner}, {"left", JoinType::left}, {"semi", JoinType::semi}, {"anti", JoinType::anti}};

// What a join tells about itself. docs/sets.md lists the JSON names; they are stable.
struct JoinReport {
  JoinCounts counts;
  double seconds = 0;
  JoinType type = JoinType::inner;
  unsigned threads = 1;
};

std::string text_report(const JoinReport& report);
std::string json_report(const JoinReport& report);  // one line
// How much of each side has been read, where that is known.
std::string progress_line(const JoinReport& report, std::optional<double> left, std::optional<double> right);

}  // namespace nodup::cli
