// SPDX-License-Identifier: Apache-2.0
#include "cli/join_report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/report.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

std::string_view type_name(JoinType type) {
  return std::ranges::find(kJoinTypes, type, &decltype(kJoinTypes)::value_type::second)->first;
}

std::string side_json(const JoinCounts::Side& side) {
  return fmt::format("{{\"rows\":{},\"bytes\":{},\"bad_records\":{}}}", side.rows, side.bytes, side.bad_records);
}

}  // namespace

std::string text_report(const JoinReport& r) {
  const JoinCounts& c = r.counts;
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  const auto side = [&](std::string_view name, const JoinCounts::Side& s, bool streamed) {
    row(name, fmt::format("{} rows, {}{}", s.rows, human_bytes(s.bytes), streamed ? ", streamed" : ", kept"));
    if (s.bad_records > 0) row("", fmt::format("{} without a key, or broken: they match nothing", s.bad_records));
  };
  side("left", c.left, c.left_streams);
  side("right", c.right, !c.left_streams);
  const JoinCounts::Side& streamed = c.streamed();
  row("filter", fmt::format("{} keys, {}", c.keys, human_bytes(c.filter_bytes)));
  row("", fmt::format("let {} rows pass ({:.2f} %), {} ({:.2f} %)", c.passed_rows, share(c.passed_rows, streamed.rows),
                      human_bytes(c.passed_bytes), share(c.passed_bytes, streamed.bytes)));
  row("", fmt::format("{} of these match; {} were false positives, {:.3g} expected", c.matched_rows,
                      c.false_positives(), c.expected_false_positives()));
  row("written", fmt::format("{} rows, {}", c.rows_written, human_bytes(c.bytes_written)));
  row("memory",
      fmt::format("{}{}", human_bytes(c.memory_bytes),
                  c.file_bytes > 0 ? fmt::format(", and {} in a temporary file", human_bytes(c.file_bytes)) : ""));
  row("time", human_seconds(r.seconds));
  return text;
}

std::string json_report(const JoinReport& r) {
  const JoinCounts& c = r.counts;
  return fmt::format(
      "{{\"type\":\"{}\",\"left\":{},\"right\":{},\"streamed\":\"{}\",\"keys\":{},\"filter_bytes\":{},"
      "\"filter_error\":{:.6g},\"passed_rows\":{},\"passed_bytes\":{},\"matched_rows\":{},\"false_positives\":{},"
      "\"expected_false_positives\":{:.6g},\"rows_written\":{},\"bytes_written\":{},\"memory_bytes\":{},"
      "\"file_bytes\":{},\"seconds\":{:.6f},\"threads\":{}}}\n",
      type_name(r.type), side_json(c.left), side_json(c.right), c.left_streams ? "left" : "right", c.keys,
      c.filter_bytes, c.filter_error, c.passed_rows, c.passed_bytes, c.matched_rows, c.false_positives(),
      c.expected_false_positives(), c.rows_written, c.bytes_written, c.memory_bytes, c.file_bytes, r.seconds,
      r.threads);
}

std::string progress_line(const JoinReport& r, std::optional<double> left, std::optional<double> right) {
  const JoinCounts& c = r.counts;
  const auto side = [](std::string_view name, std::uint64_t rows, std::optional<double> done) {
    return fmt::format("{} {} rows{}  ", name, human_count(rows), done ? fmt::format(" ({:.0f} %)", 100 * *done) : "");
  };
  return side("left", c.left.rows, left) + side("right", c.right.rows, right) +
         fmt::format("{} written  {}", human_count(c.rows_written), human_seconds(r.seconds));
}

}  // namespace nodup::cli
