// SPDX-License-Identifier: Apache-2.0
#include "cli/window_options.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/dedup_options.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

std::string names_of_kinds(bool ageing) {
  std::string names;
  for (const Kind& kind : filter_kinds())
    if (kind.ages == ageing) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

}  // namespace

WindowSpan read_window(std::string_view text) {
  WindowSpan span;
  try {
    span = {true, read_count(text)};
  } catch (const Error&) {
    // Durations take a number without unit as seconds; here that is a count, and a wrong one.
    const bool has_unit = !text.empty() && text.back() >= 'a' && text.back() <= 'z';
    try {
      if (!has_unit) throw Error("");
      span = {false, static_cast<Tick>(read_duration(text).count())};
    } catch (const Error&) {
      throw Error(fmt::format(
          "`{}` is no window: write a time like 24h, 90s or 5m, or a number of records like 10M or 1e6", text));
    }
  }
  if (span.ticks == 0) throw Error("a window of 0 would hold nothing");
  // Sums of ticks must not run over.
  if (span.ticks > Window::kEndless / 4) throw Error(fmt::format("{} is too long for a window", text));
  return span;
}

std::string window_text(const WindowSpan& span) {
  return span.by_count ? fmt::format("{}", span.ticks) : duration_text(span.ticks);
}

std::string human_ticks(const WindowSpan& unit, Tick ticks) {
  return unit.by_count ? fmt::format("{} records", human_count(ticks))
                       : human_seconds(static_cast<double>(ticks) / 1e9);
}

double read_slack(std::string_view text) {
  const double slack = read_probability(text);
  if (slack < 1e-4) throw Error(fmt::format("a slack of {} is out of range: 0.01% to 100%", text));
  return slack;
}

void check_window(const DedupOptions& o) {
  if (o.filter)
    if (const Kind& kind = filter_kind(*o.filter); kind.ages != o.window.has_value())
      throw UsageError(
          kind.ages
              ? fmt::format("--filter {} holds a sliding window: add --window SPAN, e.g. --window 1h; "
                            "without a window there are: {}",
                            kind.name, names_of_kinds(false))
              : fmt::format("--filter {} never forgets: with --window there are: {}", kind.name, names_of_kinds(true)));
  if (!o.window) {
    const std::pair<bool, std::string_view> of_windows[] = {
        {!o.time.empty(), "--time"},    {o.refresh, "--refresh"},         {o.lateness.has_value(), "--lateness"},
        {o.late.has_value(), "--late"}, {o.slack.has_value(), "--slack"}, {o.compact, "--compact"},
        {o.rate.has_value(), "--rate"},
    };
    for (const auto& [given, name] : of_windows)
      if (given) throw UsageError(fmt::format("{} is about a window: add --window SPAN, e.g. --window 1h", name));
    return;
  }
  if (o.window->by_count && !o.time.empty())
    throw UsageError(fmt::format(
        "--window {} counts records, which has no use for --time: give a time, e.g. --window 1h", o.window->ticks));
  if (o.window->by_count && o.rate)
    throw UsageError(fmt::format("--window {} counts records: leave --rate out", o.window->ticks));
  if (o.time.empty() && (o.lateness || o.late))
    throw UsageError(fmt::format("{} is about the events' own times: add --time KEY, e.g. --time json:ts",
                                 o.lateness ? "--lateness" : "--late"));
  if (o.error == 0.0)
    throw UsageError("--error 0 with --window: window filters are not exact; --error 1e-15 comes close enough");
  if (o.degrade)
    throw UsageError("--degrade with --window: within --memory the error is kept and the window shrinks if it must");
  if (o.rate && o.events) throw UsageError("--rate and --events both say how many events the window holds: give one");
}

Window asked_window(const DedupOptions& o) {
  Window window;
  if (!o.window) return window;
  window.span = o.window->ticks;
  window.lateness = static_cast<Tick>(o.lateness.value_or(std::chrono::nanoseconds(0)).count());
  window.slack = o.slack.value_or(window.slack);
  window.refresh = o.refresh;
  window.by_count = o.window->by_count;
  return window;
}

std::uint64_t events_in(double per_second, double seconds, std::string_view flag) {
  const double events = per_second * seconds;
  if (events > 1e18) throw UsageError(fmt::format("--rate times {} is more than 1e18 events", flag));
  return static_cast<std::uint64_t>(events);
}

}  // namespace nodup::cli
