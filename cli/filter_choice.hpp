// SPDX-License-Identifier: Apache-2.0
//
// Which filter the main job works with: planned from the options, or taken from a state that fits them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/dedup_options.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/stream/reader.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup::cli {

inline constexpr std::string_view kDefaultKind = "growing";
inline constexpr std::string_view kDefaultWindowKind = "aged_lines";
inline constexpr std::string_view kCompactWindowKind = "aged_table";  // --compact, or little slack
inline constexpr std::string_view kDefaultEndlessKind = "automatic";  // --memory, unless --events tells that all fit

struct ChosenFilter {
  AnyFilter filter;
  Goal goal;                               // what it was chosen for
  double slack = 0;                        // of a window: the share by which keys may really be remembered longer
  std::vector<std::string> warnings = {};  // what will be less than asked for, as far as that is known before reading
};

// Throws Error when the memory cannot hold the goal with the filter named, and --degrade was not given.
ChosenFilter choose_filter(const DedupOptions& options, BatchReader& reader, std::optional<SavedFilter> resumed);

// What to follow beside the filter, if anything. Throws UsageError for an --audit that cannot be had.
std::optional<Audit::Options> choose_audit(const DedupOptions& options, const ChosenFilter& chosen, bool resumed);

// Does the state fit the options? Throws Error naming what is in the state and what was asked for.
void check_resumed(const DedupOptions& options, const SavedFilter& state);

// What a state keeps beside the filter; check_resumed compares it.
std::map<std::string, std::string> state_notes(const DedupOptions& options, const ChosenFilter& chosen,
                                               const std::map<std::string, std::string>& before, const Counts& counts);

}  // namespace nodup::cli
