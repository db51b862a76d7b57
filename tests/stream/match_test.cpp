// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/match.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "nodup/filters/registry.hpp"
#include "nodup/stream/registry.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/key_batch.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::Random;
using testing::TemporaryFolder;

class TextSink final : public Sink {
 public:
  void write(std::span<const iovec> pieces) override {
    if (writes_left == 0) throw Error("the disk is full");
    if (writes_left > 0) --writes_left;
    for (const iovec& piece : pieces) text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  void sync() override {}
  void finish() override {}
  std::string text;
  int writes_left = -1;
};

constexpr RecordFormat kRows{.delimiter = ','};

struct Settings {
  unsigned threads = 1;
  OnBadRecord on_bad = OnBadRecord::drop;
  bool invert = false;
  int writes_left = -1;
};

struct Result {
  std::string passed, dropped, failure;
  std::uint64_t bad_told = 0;
  MatchCounts counts;
};

// The second column against an exact set of these.
Result run(const std::string& text, const std::set<std::string>& held, const Settings& how) {
  const TemporaryFolder folder;
  BatchReader reader({.paths = {folder.write("rows", text)}, .format = kRows, .block_bytes = 64});
  const KeyContext context{.format = kRows, .header = reader.header(), .by_text = true};
  const Hasher hasher(5);
  AnyFilter set = filter_kind("exact").make({.keys = 1});
  // Made from lines: keys by text meet.
  Batch values = testing_keys::make_batch({held.begin(), held.end()});
  make_key("line", {.format = {}, .header = {}, .by_text = true})->extract(values, hasher);
  Answers is_new;
  set.make_room(held.size());
  set.insert_all(values.digests, is_new.room_for(held.size()));
  TextSink passed, dropped;
  passed.writes_left = how.writes_left;
  Result result;
  Match match(reader, hasher,
              {.threads = how.threads,
               .on_bad = how.on_bad,
               .invert = how.invert,
               .passed = &passed,
               .dropped = &dropped,
               .make_key = [&] { return make_key("col:2", context); },
               .ask = [&](const Batch& batch, bool* seen) { set.contains_all(batch.digests, seen); },
               .report_bad = [&](const std::string&) { ++result.bad_told; },
               .on_failure = {}});
  try {
    match.run();
  } catch (const Error& error) {
    result.failure = error.what();
  }
  result.passed = passed.text;
  result.dropped = dropped.text;
  result.counts = match.counts();
  return result;
}

TEST(Match, AgreesWithItsTwin) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::set<std::string> held;
    while (held.size() < 20) held.insert("v" + std::to_string(random.below(40)));
    for (const bool invert : {false, true}) {
      for (const OnBadRecord on_bad : {OnBadRecord::drop, OnBadRecord::pass}) {
        std::string text, passed, dropped;
        MatchCounts counts;
        for (int i = 0; i < 300; ++i) {
          const bool bad = random.below(10) == 0;
          const std::string value = "v" + std::to_string(random.below(40));
          const std::string row = bad ? "x\n" : std::to_string(i) + "," + value + "\n";
          const bool in_set = !bad && held.contains(value);
          text += row;
          const bool passes = bad ? on_bad == OnBadRecord::pass : in_set != invert;
          (passes ? passed : dropped) += row;
          ++counts.rows;
          counts.matched += in_set;
          counts.bad_records += bad;
        }
        for (const unsigned threads : {1U, 4U}) {
          const Result result = run(text, held, {.threads = threads, .on_bad = on_bad, .invert = invert});
          EXPECT_EQ(result.passed, passed) << seed;
          EXPECT_EQ(result.dropped, dropped) << seed;
          EXPECT_EQ(result.failure, "");
          EXPECT_EQ(result.counts.rows, counts.rows);
          EXPECT_EQ(result.counts.matched, counts.matched);
          EXPECT_EQ(result.counts.bad_records, counts.bad_records);
          EXPECT_EQ(result.bad_told, counts.bad_records);
          EXPECT_EQ(result.counts.bytes, text.size());
          EXPECT_EQ(result.counts.bytes_passed, passed.size());
        }
      }
    }
  }
}

TEST(Match, FailsAtTheFirstBadRecordBehindWhatCameBefore) {
  for (const unsigned threads : {1U, 4U}) {
    const Result result = run("1,a\n2,b\nbroken\n3,a\n", {"a"}, {.threads = threads, .on_bad = OnBadRecord::fail});
    EXPECT_EQ(result.passed, "1,a\n");
    EXPECT_EQ(result.dropped, "2,b\n");
    EXPECT_NE(result.failure.find("record 3"), std::string::npos) << result.failure;
  }
}

TEST(Match, TellsWhatCouldNotBeWritten) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",a\n";
  for (const unsigned threads : {1U, 4U}) {
    const Result result = run(text, {"a"}, {.threads = threads, .writes_left = 2});
    EXPECT_EQ(result.failure, "the disk is full");
    EXPECT_TRUE(text.starts_with(result.passed));
    EXPECT_EQ(result.counts.bytes_passed, result.passed.size());
  }
}

}  // namespace
}  // namespace nodup
