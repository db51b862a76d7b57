// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "nodup/filters/registry.hpp"
#include "nodup/stream/row_text.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

template <class Row>
void window_rows(const Report& r, Row&& row) {
  const WindowReport& w = *r.window;
  if (w.shrunk)
    row("window",
        fmt::format("{} held, {} asked; {} at its shortest, for want of memory", human_ticks(w.asked, w.effective),
                    window_text(w.asked), human_ticks(w.asked, *w.shrunk)));
  else
    row("window", window_text(w.asked));
  if (w.dropped_in_slack > 0)
    row("", fmt::format("{} duplicates may be older than the window, within its slack", w.dropped_in_slack));
  if (r.counts.late > 0) row("", fmt::format("{} new events came later than --lateness", r.counts.late));
}

std::string percent(double rate) { return fmt::format("{:.3g} %", 100 * rate); }

template <class Row>
void audit_rows(const AuditReading& audit, Row&& row) {
  const auto rate = [&](const std::optional<Interval>& measured, std::string_view what, std::string_view none) {
    row("", measured ? fmt::format("{} {} (95 % sure: {:.3g} to {:.3g} %)", percent(measured->value), what,
                                   100 * measured->low, 100 * measured->high)
                     : std::string(none));
  };
  row("audit", fmt::format("{} keys followed, one in {:.4g}", audit.keys, 1 / audit.rate));
  rate(audit.false_positive, "of the new events were dropped", "no new event was among those followed");
  rate(audit.false_negative, "of the duplicates passed", "no duplicate was among those followed");
}

std::string audit_json(const AuditReading& audit) {
  const auto numbers = [](std::string_view name, const std::optional<Interval>& measured) {
    if (!measured) return fmt::format("\"{0}\":null,\"{0}_low\":null,\"{0}_high\":null", name);
    return fmt::format("\"{0}\":{1:.6g},\"{0}_low\":{2:.6g},\"{0}_high\":{3:.6g}", name, measured->value, measured->low,
                       measured->high);
  };
  return fmt::format("{{\"rate\":{:.6g},\"keys\":{},{},{}}}", audit.rate, audit.keys,
                     numbers("fpr", audit.false_positive), numbers("fnr", audit.false_negative));
}

}  // namespace

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t per_second(std::uint64_t count, double seconds) {
  return seconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(count) / seconds);
}

WindowReport make_window_report(const WindowSpan& asked, const AnyFilter& filter, Tick narrowest) {
  const WindowReading reading = filter.window();
  WindowReport window{.asked = asked,
                      .effective = reading.effective,
                      .keys = filter.keys(),
                      .dropped_in_slack = reading.dropped_in_slack};
  if (const Tick shortest = std::min(narrowest, reading.effective); shortest < asked.ticks) window.shrunk = shortest;
  return window;
}

std::string window_members(const WindowReport& w) {
  const bool count = w.asked.by_count;
  const auto seconds = [](Tick ticks) { return fmt::format("{:.9g}", static_cast<double>(ticks) / 1e9); };
  const auto ticks = [&](Tick value) { return count ? std::to_string(value) : seconds(value); };
  return fmt::format(
      "\"asked\":{},\"effective_events\":{},\"effective_seconds\":{},\"shrunk_to\":{},\"dropped_in_slack\":{}",
      count ? window_text(w.asked) : json_string(window_text(w.asked)), count ? w.effective : w.keys,
      count ? "null" : seconds(w.effective), w.shrunk ? ticks(*w.shrunk) : "null", w.dropped_in_slack);
}

Report make_report(const Counts& counts, const AnyFilter& filter, const std::optional<WindowSpan>& window) {
  Report report;
  report.counts = counts;
  report.filter = filter.kind();
  report.parameters = filter.facts();
  report.filter_keys = filter.keys();
  report.memory_bytes = filter.bytes();
  const Rates rates = filter.rates();
  report.error = rates.false_positive;
  if (filter_kind(filter.kind()).forgets) report.false_negative = rates.false_negative;
  if (window) report.window = make_window_report(*window, filter, counts.narrowest);
  return report;
}

std::string text_report(const Report& r) {
  const Counts& c = r.counts;
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  if (r.interrupted) row("interrupted", "what was read so far is judged and written");
  row("events", fmt::format("{}  ({}/s)", c.events, human_count(per_second(c.events, r.seconds))));
  row("distinct", fmt::format("{}  ({:.2f} %)", c.distinct, share(c.distinct, c.events)));
  row("duplicates", fmt::format("{}  ({:.2f} %)", c.duplicates, share(c.duplicates, c.events)));
  if (c.bad_records > 0)
    row("bad records", fmt::format("{}  ({:.2f} %)", c.bad_records, share(c.bad_records, c.events)));
  row("bytes", fmt::format("{}  ({}/s)", human_bytes(c.bytes), human_bytes(per_second(c.bytes, r.seconds))));
  row("time", human_seconds(r.seconds));
  row("filter", fmt::format("{}, {} keys, {}", r.filter, r.filter_keys, human_bytes(r.memory_bytes)));
  for (const auto& [name, value] : r.parameters) row("", fmt::format("{}: {}", name, value));
  if (r.window) window_rows(r, row);
  row("error", fmt::format("{:.3g} reached, {:g} asked (chance that a new event is dropped)", r.error, r.error_goal));
  if (r.false_negative)
    row("forgotten",
        fmt::format("{:.3g} (chance that a duplicate of any key passed so far would pass)", *r.false_negative));
  // Duplicates that passed are among what seemed new.
  row("expected lost",
      fmt::format("{}{:.3g} of the distinct events", r.false_negative ? "at most " : "", c.expected_lost));
  if (r.audit) audit_rows(*r.audit, row);
  return text;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_report(const Report& r) {
  const Counts& c = r.counts;
  std::string parameters;
  for (const auto& [name, value] : r.parameters)
    parameters += fmt::format("{}{}:{}", parameters.empty() ? "" : ",", json_string(name), json_string(value));
  return fmt::format(
      "{{\"events\":{},\"distinct\":{},\"duplicates\":{},\"bad_records\":{},\"bytes\":{},\"seconds\":{:.6f},"
      "\"events_per_second\":{},\"bytes_per_second\":{},\"key\":{},\"threads\":{},\"filter\":{},"
      "\"parameters\":{{{}}},\"filter_keys\":{},\"memory_bytes\":{},\"error_goal\":{:g},\"error\":{:.6g},"
      "\"false_negative\":{:.6g},\"expected_lost\":{:.6g},\"interrupted\":{},\"window\":{},\"audit\":{}}}\n",
      c.events, c.distinct, c.duplicates, c.bad_records, c.bytes, r.seconds, per_second(c.events, r.seconds),
      per_second(c.bytes, r.seconds), json_string(r.key), r.threads, json_string(r.filter), parameters, r.filter_keys,
      r.memory_bytes, r.error_goal, r.error, r.false_negative.value_or(0), c.expected_lost, r.interrupted,
      r.window ? fmt::format("{{{},\"late\":{}}}", window_members(*r.window), c.late) : "null",
      r.audit ? audit_json(*r.audit) : "null");
}

std::string progress_line(const Report& r, std::optional<double> done) {
  const Counts& c = r.counts;
  std::string line =
      fmt::format("{} events  {}/s  {}/s  {:.1f} % duplicates  filter {}", human_count(c.events),
                  human_count(per_second(c.events, r.seconds)), human_bytes(per_second(c.bytes, r.seconds)),
                  share(c.duplicates, c.events), human_bytes(r.memory_bytes));
  if (r.window)
    line += r.window->effective < r.window->asked.ticks
                ? fmt::format("  window {} of {}", human_ticks(r.window->asked, r.window->effective),
                              window_text(r.window->asked))
                : fmt::format("  window {}", window_text(r.window->asked));
  if (r.audit && r.audit->false_positive) line += fmt::format("  lost {}", percent(r.audit->false_positive->value));
  if (r.audit && r.audit->false_negative) line += fmt::format("  passed {}", percent(r.audit->false_negative->value));
  return line + time_left(r.seconds, done);
}

std::string time_left(double seconds, std::optional<double> done) {
  if (!done || *done <= 0) return "";
  return fmt::format("  {:.0f} %  {} left", 100 * *done, human_seconds(seconds / *done * std::max(0.0, 1 - *done)));
}

}  // namespace nodup::cli
