// SPDX-License-Identifier: Apache-2.0
//
// A stream against a set in a file: `nodup match`, and `nodup set test`, which is the same for lists of keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/input_options.hpp"

namespace nodup::cli {

// What is typed for every command that works with a set and records that have keys.
struct SetOptions : RecordOptions {
  std::string set;  // the file
  std::vector<std::string> paths;
  std::string key;  // empty: that of the set
  unsigned threads = 1;
  Stats stats = Stats::text;
  TalkOptions talk;

  // The first operand is the set, the others are inputs.
  void operand(const std::string& word);
  // Standard input, if no input was named. Throws UsageError when no set was named, or standard input twice.
  void settle_paths(std::string_view command);
};
std::vector<Flag> set_input_flags(SetOptions& options);
std::vector<Flag> set_report_flags(SetOptions& options);

struct MatchOptions {
  std::string output, dropped;
  bool invert = false;
  bool count = false;
  std::vector<std::string> where;     // attributes to ask for; empty: whole rows
  std::optional<OnBadRecord> on_bad;  // not given: as rows that are not in the set
};
std::vector<Flag> match_flags(MatchOptions& options, const std::string& group);

int run_match(SetOptions set, MatchOptions options);

}  // namespace nodup::cli
