// SPDX-License-Identifier: Apache-2.0
//
// What the flags of sliding windows mean together.
#pragma once

#include <string>
#include <string_view>

#include "nodup/filters/filter.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup::cli {

struct DedupOptions;

// `--window 24h` or `--window 10M`.
struct WindowSpan {
  bool by_count = false;  // records; otherwise nanoseconds
  Tick ticks = 0;
};

// A bare number and k, M, G, B, T count records; ns, us, ms, s, m, min, h, d, w are times. Throws Error.
WindowSpan read_window(std::string_view text);
// So that read_window reads it again: 24h, 10000000.
std::string window_text(const WindowSpan& span);
// For people: how much of it, "42 min" or "3 M records".
std::string human_ticks(const WindowSpan& unit, Tick ticks);

double read_slack(std::string_view text);

// Throws UsageError, with the remedy, when flags contradict each other.
void check_window(const DedupOptions& options);

// The window that the options ask for; an endless one without --window.
Window asked_window(const DedupOptions& options);

// Throws UsageError when it is beyond all bounds; `flag` is the one the seconds came from.
std::uint64_t events_in(double per_second, double seconds, std::string_view flag);

}  // namespace nodup::cli
