// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t per_second(std::uint64_t count, double seconds) {
  return seconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(count) / seconds);
}

}  // namespace

Report make_report(const Counts& counts, const AnyFilter& filter) {
  Report report;
  report.counts = counts;
  report.filter = filter.kind();
  report.parameters = filter.facts();
  report.filter_keys = filter.keys();
  report.memory_bytes = filter.bytes();
  report.error = filter.rates().false_positive;
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
  row("error", fmt::format("{:.3g} reached, {:g} asked (chance that a new event is dropped)", r.error, r.error_goal));
  row("expected lost", fmt::format("{:.3g} of the distinct events", c.expected_lost));
  return text;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
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
      "\"expected_lost\":{:.6g},\"interrupted\":{}}}\n",
      c.events, c.distinct, c.duplicates, c.bad_records, c.bytes, r.seconds, per_second(c.events, r.seconds),
      per_second(c.bytes, r.seconds), json_string(r.key), r.threads, json_string(r.filter), parameters, r.filter_keys,
      r.memory_bytes, r.error_goal, r.error, c.expected_lost, r.interrupted);
}

std::string progress_line(const Counts& c, std::uint64_t memory_bytes, double seconds, std::optional<double> done) {
  std::string line = fmt::format("{} events  {}/s  {}/s  {:.1f} % duplicates  filter {}", human_count(c.events),
                                 human_count(per_second(c.events, seconds)), human_bytes(per_second(c.bytes, seconds)),
                                 share(c.duplicates, c.events), human_bytes(memory_bytes));
  if (done && *done > 0)
    line += fmt::format("  {:.0f} %  {} left", 100 * *done, human_seconds(seconds / *done * std::max(0.0, 1 - *done)));
  return line;
}

}  // namespace nodup::cli
