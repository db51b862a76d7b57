// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nodup/filters/filter.hpp"
#include "nodup/stream/pipeline.hpp"

namespace nodup::cli {

// What a run tells about itself, at its end or in between. docs/guide.md lists the JSON names; they are stable.
struct Report {
  Counts counts;
  double seconds = 0;
  std::string key;
  unsigned threads = 1;
  std::string filter;
  Facts parameters;
  std::uint64_t filter_keys = 0;
  std::uint64_t memory_bytes = 0;
  double error_goal = 0;
  double error = 0;  // reached: the chance that the next new event is dropped
  bool interrupted = false;
};

Report make_report(const Counts& counts, const AnyFilter& filter);

std::string text_report(const Report& report);
std::string json_report(const Report& report);   // one line
std::string json_string(std::string_view text);  // quoted and escaped

// The line shown on a terminal while it runs. `done` is the share of the input read, where that is known.
std::string progress_line(const Counts& counts, std::uint64_t memory_bytes, double seconds, std::optional<double> done);

}  // namespace nodup::cli
