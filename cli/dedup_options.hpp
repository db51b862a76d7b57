// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/input_options.hpp"
#include "cli/window_options.hpp"
#include "nodup/stream/pipeline.hpp"

namespace nodup::cli {

// What was typed for the main job.
struct DedupOptions : RecordOptions {
  std::vector<std::string> paths;

  std::string key = "line";
  std::string output, dropped;
  bool invert = false;
  bool count = false;

  std::optional<double> error;
  std::optional<std::uint64_t> events;
  std::optional<std::uint64_t> memory;
  bool degrade = false;
  std::optional<std::string> filter;

  std::optional<WindowSpan> window;
  std::string time;  // where an event's own time stands; empty: by arrival
  std::optional<std::chrono::nanoseconds> lateness;
  std::optional<OnLate> late;
  bool refresh = false;
  std::optional<double> slack;
  bool compact = false;
  std::optional<double> rate;

  std::optional<double> audit;  // the share of the keys to follow, 0: none; not given: as the filter needs

  std::string state;
  std::chrono::nanoseconds checkpoint = std::chrono::seconds(30);
  std::optional<std::uint64_t> seed;

  OnBadRecord on_bad = OnBadRecord::pass;
  unsigned threads = 1;
  Stats stats = Stats::text;
  TalkOptions talk;
};

std::vector<Flag> dedup_flags(DedupOptions& options);

}  // namespace nodup::cli
