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
// A wrong key is known before anything is written. Throws UsageError.
void check_key(const std::string& key, const KeyContext& context);
Flag on_error_flag(std::function<void(OnBadRecord)> set, std::string brief, std::string detail);
inline Flag on_error_flag(OnBadRecord& on_bad, std::string brief, std::string detail) {
  return on_error_flag([&](OnBadRecord typed) { on_bad = typed; }, std::move(brief), std::move(detail));
}
Flag threads_flag(unsigned& threads);

enum class Stats { text, json, none };
Flag stats_flag(Stats& stats);

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
