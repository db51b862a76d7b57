// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/window_options.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/stream/pipeline.hpp"

namespace nodup::cli {

// The window that a filter holds, beside the one that was asked for.
struct WindowReport {
  WindowSpan asked;
  Tick effective = 0;
  std::optional<Tick> shrunk = {};  // the shortest it has been, if that is less than asked
  std::uint64_t keys = 0;
  std::uint64_t dropped_in_slack = 0;
};

WindowReport make_window_report(const WindowSpan& asked, const AnyFilter& filter, Tick narrowest = Window::kEndless);
// The members of its JSON object.
std::string window_members(const WindowReport& window);

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
  // Of kinds that forget: the chance that a duplicate of a key passed so far, any of them, passes.
  std::optional<double> false_negative = {};
  bool interrupted = false;
  std::optional<WindowReport> window = {};
  std::optional<AuditReading> audit = {};
};

Report make_report(const Counts& counts, const AnyFilter& filter, const std::optional<WindowSpan>& window);

std::string text_report(const Report& report);
std::string json_report(const Report& report);   // one line
std::string json_string(std::string_view text);  // quoted and escaped

// The line shown on a terminal while it runs. `done` is the share of the input read, where that is known.
std::string progress_line(const Report& report, std::optional<double> done);
std::string time_left(double seconds, std::optional<double> done);  // its end: "  42 %  3 s left", or nothing

double share(std::uint64_t part, std::uint64_t whole);  // in percent
std::uint64_t per_second(std::uint64_t count, double seconds);

}  // namespace nodup::cli
