// SPDX-License-Identifier: Apache-2.0
//
// Flags that several commands have, and the values they take.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "nodup/stream/pipeline.hpp"
#include "nodup/stream/records.hpp"

namespace nodup::cli {

// How the input is cut into records.
struct RecordOptions {
  bool csv = false, tsv = false;
  std::optional<char> delimiter;
  bool header = false;
  bool zero = false;
};
std::vector<Flag> record_flags(RecordOptions& options);
// Throws UsageError when the options contradict each other.
RecordFormat record_format(const RecordOptions& options);

Flag key_flag(std::string& key, std::string group, std::string brief);
Flag on_error_flag(OnBadRecord& on_bad, std::string brief, std::string detail);
Flag threads_flag(unsigned& threads);

struct TalkOptions {
  bool quiet = false;
  bool progress = true;
};
std::vector<Flag> talk_flags(TalkOptions& options);

// What flags take. All throw Error with the remedy.
std::string file_name(const std::string& value);
double error_rate(const std::string& value);
std::uint64_t memory_limit(const std::string& value);
template <class T>
T choice(const std::string& value, std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::string known;
  for (const auto& [name, result] : choices) {
    if (value == name) return result;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  throw Error(fmt::format("`{}` is none of: {}", value, known));
}

}  // namespace nodup::cli
