// SPDX-License-Identifier: Apache-2.0
//
// The pipeline with a sliding window, around a filter without any error.
#include <gtest/gtest.h>

#include <map>

#include "nodup/stream/pipeline.hpp"
#include "nodup/stream/registry.hpp"
#include "tests/exact_window.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::ExactWindow;
using testing::Random;
using testing::TemporaryFolder;

constexpr Tick kSecond = 1'000'000'000;

class TextSink final : public Sink {
 public:
  void write(std::span<const iovec> pieces) override {
    for (const iovec& piece : pieces) text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  void sync() override {}
  bool continues() const override { return false; }
  void finish() override {}
  std::string text;
};

struct Settings {
  std::string key = "col:1";
  TimeBase base = TimeBase::records;
  Window window;
  OnLate on_late = OnLate::pass;
  OnBadRecord on_bad = OnBadRecord::pass;
  bool invert = false;
  Tick wall = 1000 * kSecond;
  unsigned threads = 1;
  std::size_t block_bytes = 16;
};

struct Result {
  std::string passed, dropped;
  std::vector<std::string> bad;
  Counts counts;
  Tick now = 0;
  AuditReading audit;
};

// Rows of a key and a time in seconds. The filter may go on from an earlier run.
Result run(const std::string& text, const Settings& how, AnyFilter& filter) {
  const TemporaryFolder folder;
  const RecordFormat format{.delimiter = ','};
  BatchReader reader({.paths = {folder.write("in", text)}, .format = format, .block_bytes = how.block_bytes});
  const KeyContext context{
      .format = format, .header = {}, .time = how.base == TimeBase::event ? std::string("col:2") : std::string()};
  const Hasher hasher(3);
  TextSink passed, dropped;
  Result result;
  Window window = how.window;
  window.slack = 0;
  Audit audit({.rate = 1, .window = window});
  Pipeline pipeline(reader, filter, hasher,
                    {.threads = how.threads,
                     .on_bad = how.on_bad,
                     .invert = how.invert,
                     .clock = {.base = how.base, .lateness = how.window.lateness, .wall = [&] { return how.wall; }},
                     .on_late = how.on_late,
                     .passed = &passed,
                     .dropped = &dropped,
                     .audit = &audit,
                     .make_key = [&] { return make_key(how.key, context); },
                     .report_bad = [&](const std::string& what) { result.bad.push_back(what); },
                     .on_failure = {}});
  pipeline.run();
  pipeline.between_batches([&](const Counts& counts, AnyFilter&) { result.counts = counts; });
  result.audit = audit.reading();
  result.passed = passed.text;
  result.dropped = dropped.text;
  result.now = filter.window().now;
  return result;
}

Result run(const std::string& text, const Settings& how) {
  AnyFilter filter{ExactWindow({.window = how.window})};
  return run(text, how, filter);
}

// What the guide promises, word by word. Rows without a key are " " alone.
Result twin(const std::string& text, const Settings& how) {
  Result result;
  std::map<std::string, Tick> known;  // when passed, or seen
  Tick now = 0, number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    const std::string row = text.substr(from, end - from + 1);
    from = end + 1;
    ++number;
    ++result.counts.events;
    const std::size_t comma = row.find(',');
    const Tick time = comma == std::string::npos ? 0 : std::stoull(row.substr(comma + 1)) * kSecond;
    const bool by_event = how.base == TimeBase::event;
    if (by_event && (comma == std::string::npos || time > how.wall + how.window.lateness)) {
      ++result.counts.bad_records;
      (how.on_bad == OnBadRecord::pass ? result.passed : result.dropped) += row;
      continue;
    }
    Tick t = how.base == TimeBase::records ? number : how.base == TimeBase::arrival ? how.wall : time;
    now = std::max(now, t);
    const bool late = by_event && now - t > how.window.lateness;
    if (late) t = now - how.window.lateness;
    const std::string key = row.substr(0, std::min(comma, row.size() - 1));
    const auto it = known.find(key);
    const bool is_new = it == known.end() || it->second + how.window.span < t;
    bool passes = is_new != how.invert;
    if (late && is_new) {
      ++result.counts.late;
      if (how.on_late == OnLate::drop) {
        result.dropped += row;
        continue;
      }
    }
    ++(is_new ? result.counts.distinct : result.counts.duplicates);
    if (is_new || how.window.refresh) known[key] = it == known.end() ? t : std::max(it->second, t);
    (passes ? result.passed : result.dropped) += row;
  }
  result.now = how.base == TimeBase::records ? number : how.base == TimeBase::arrival ? how.wall : now;
  return result;
}

void expect_equal(const Result& actual, const Result& expected, int round) {
  ASSERT_EQ(actual.passed, expected.passed) << round;
  ASSERT_EQ(actual.dropped, expected.dropped) << round;
  ASSERT_EQ(actual.counts.events, expected.counts.events);
  ASSERT_EQ(actual.counts.distinct, expected.counts.distinct);
  ASSERT_EQ(actual.counts.duplicates, expected.counts.duplicates);
  ASSERT_EQ(actual.counts.bad_records, expected.counts.bad_records);
  ASSERT_EQ(actual.counts.late, expected.counts.late) << round;
  ASSERT_EQ(actual.now, expected.now);
}

Settings random_settings(Random& random) {
  Settings how;
  how.window.span = 1 + random.below(20);
  how.window.refresh = random.below(2) == 0;
  how.base = random.below(3) == 0 ? TimeBase::records : TimeBase::event;
  if (how.base == TimeBase::event) {
    how.window.span *= kSecond;
    how.window.lateness = random.below(3) == 0 ? 0 : random.below(10) * kSecond;
    how.on_late = random.below(2) == 0 ? OnLate::pass : OnLate::drop;
  }
  how.on_bad = random.below(2) == 0 ? OnBadRecord::pass : OnBadRecord::drop;
  how.invert = random.below(4) == 0;
  how.threads = 1 + static_cast<unsigned>(random.below(4));
  how.block_bytes = 1 + random.below(64);
  return how;
}

// Times go up by one now and then, jump back a little, or far, or into the future.
std::string random_rows(Random& random, bool bad) {
  std::string text;
  std::uint64_t time = 900;
  for (std::uint64_t left = random.below(120); left > 0; --left) {
    time += random.below(3);
    const std::uint64_t back = random.below(8) == 0 ? random.below(30) : random.below(4);
    const std::uint64_t ahead = random.below(40) == 0 ? 500 : 0;
    text += static_cast<char>('a' + random.below(5));
    if (!bad || random.below(10) > 0) text += "," + std::to_string(time - back + ahead);
    text += '\n';
  }
  return text;
}

TEST(PipelineWindow, EqualsAnExactTwin) {
  Random random(1);
  std::uint64_t late = 0, future = 0;
  for (int round = 0; round < 1000; ++round) {
    const Settings how = random_settings(random);
    const std::string text = random_rows(random, how.base == TimeBase::event);
    const Result expected = twin(text, how), actual = run(text, how);
    ASSERT_NO_FATAL_FAILURE(expect_equal(actual, expected, round));
    ASSERT_EQ(actual.bad.size(), expected.counts.bad_records);
    late += actual.counts.late;
    // The filter is exact, and every key is followed.
    ASSERT_TRUE(actual.audit.false_positive.has_value() || actual.counts.distinct == 0) << round;
    ASSERT_EQ(actual.audit.false_negative.has_value(), actual.counts.duplicates > 0) << round;
    ASSERT_EQ(actual.audit.false_positive.value_or(Interval{}).high, 0) << round;
    ASSERT_EQ(actual.audit.false_negative.value_or(Interval{}).high, 0) << round;
    for (const std::string& what : actual.bad) future += what.find("future") != std::string::npos;
  }
  EXPECT_GT(late, 1000u);
  EXPECT_GT(future, 1000u);
}

// Two runs with one filter are one run: the window goes on.
TEST(PipelineWindow, GoesOnWhereTheFilterStopped) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const Settings how = random_settings(random);
    const std::string first = random_rows(random, how.base == TimeBase::event);
    const std::string second = random_rows(random, how.base == TimeBase::event);
    AnyFilter filter{ExactWindow({.window = how.window})};
    const std::string passed = run(first, how, filter).passed;
    EXPECT_EQ(passed + run(second, how, filter).passed, twin(first + second, how).passed) << round;
  }
}

TEST(PipelineWindow, BadRecordsCountAsRecords) {
  const Settings how{.key = "col:2", .window = {.span = 1}, .block_bytes = 1000};
  EXPECT_EQ(run("1,a\n2,a\n", how).dropped, "2,a\n");
  const Result result = run("1,a\nbad\n2,a\nbad\nbad\n", how);
  EXPECT_EQ(result.dropped, "") << "two records back";
  EXPECT_EQ(result.now, 5u);
}

// An idle stream forgets as the wall clock goes on.
TEST(PipelineWindow, ArrivalTimeGoesOnWithoutEvents) {
  Settings how{.base = TimeBase::arrival, .window = {.span = 10}};
  how.wall = 100;
  AnyFilter filter{ExactWindow({.window = how.window})};
  EXPECT_EQ(run("a\na\n", how, filter).passed, "a\n");
  how.wall = 110;
  EXPECT_EQ(run("a\nb\n", how, filter).passed, "b\n");
  how.wall = 111;
  EXPECT_EQ(run("", how, filter).now, 111u) << "without any event";
  EXPECT_EQ(filter.keys(), 1u);
  how.wall = 90;  // set back: does nothing
  EXPECT_EQ(run("a\nb\n", how, filter).passed, "a\n");
  EXPECT_EQ(filter.window().now, 111u);
}

}  // namespace
}  // namespace nodup
