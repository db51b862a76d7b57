// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/pipeline.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "nodup/filters/registry.hpp"
#include "nodup/stream/registry.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::Random;
using testing::TemporaryFolder;

class TextSink final : public Sink {
 public:
  explicit TextSink(bool continues = false) : continues_(continues) {}
  void write(std::span<const iovec> pieces) override {
    if (writes_left == 0) throw Error("the disk is full");
    if (writes_left > 0) --writes_left;
    for (const iovec& piece : pieces) text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  void sync() override {}
  bool continues() const override { return continues_; }
  void finish() override {}
  std::string text;
  int writes_left = -1;

 private:
  bool continues_;
};

struct Input {
  std::vector<std::string> texts;
  RecordFormat format;
  std::string key = "line";
};

struct Settings {
  unsigned threads = 1;
  std::size_t block_bytes = 16;
  OnBadRecord on_bad = OnBadRecord::pass;
  bool invert = false;
  bool continues = false;
  int writes_left = -1;
};

struct Result {
  std::string passed, dropped, failure;
  std::vector<std::string> bad;
  Counts counts;
  bool remembers_unwritten = false;
};

Result run(const Input& input, const Settings& how) {
  const TemporaryFolder folder;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < input.texts.size(); ++i) paths.push_back(folder.write(std::to_string(i), input.texts[i]));
  BatchReader reader({.paths = paths, .format = input.format, .block_bytes = how.block_bytes});
  const KeyContext context{.format = input.format, .header = reader.header()};
  AnyFilter filter = filter_kind("exact").make({.keys = 1});
  const Hasher hasher(3);
  TextSink passed(how.continues), dropped(how.continues);
  passed.writes_left = how.writes_left;
  Result result;
  Pipeline pipeline(
      reader, filter, hasher,
      {.threads = how.threads,
       .on_bad = how.on_bad,
       .invert = how.invert,
       .passed = &passed,
       .dropped = &dropped,
       .separator = input.format.separator,
       .make_key = [&] { return make_key(input.key, context); },
       .report_bad = [&](const std::string& text) { result.bad.push_back(text.substr(text.rfind('/') + 1)); },
       .on_failure = {}});
  try {
    pipeline.run();
  } catch (const Error& error) {
    result.failure = error.what();
  }
  pipeline.between_batches([&](const Counts& counts, AnyFilter&) { result.counts = counts; });
  result.passed = passed.text;
  result.dropped = dropped.text;
  result.remembers_unwritten = pipeline.remembers_unwritten();
  return result;
}

// Output that gets a separator before a record when the one before lacked it.
struct Joined {
  std::string text;
  bool owes = false;
  void add(const std::string& record, bool ended) {
    if (owes) text += '\n';
    text += record + (ended ? "\n" : "");
    owes = !ended;
  }
};

// The twin: first columns of rows without quotes; a row without a second column is bad.
Result twin(const Input& input, const Settings& how) {
  Result result;
  Joined passed, dropped;
  std::set<std::string> seen;
  bool header_out = false;
  for (std::size_t file = 0; file < input.texts.size(); ++file) {
    const std::string& text = input.texts[file];
    std::uint64_t number = 0;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = std::min(text.find('\n', from), text.size());
      const std::string record = text.substr(from, end - from);
      const bool ended = end < text.size();
      from = end + 1;
      ++number;
      result.counts.bytes += record.size() + ended;
      if (input.format.header && number == 1) {
        if (!header_out && !how.continues) {
          passed.add(record, ended);
          dropped.add(record, ended);
        }
        header_out = true;
        continue;
      }
      ++result.counts.events;
      std::optional<std::string> key = record;
      if (input.key == "col:2") {
        const std::size_t comma = record.find(',');
        key.reset();
        if (comma != std::string::npos) key = record.substr(comma + 1, record.find(',', comma + 1) - comma - 1);
      }
      bool passes = how.on_bad == OnBadRecord::pass;
      if (key) {
        const bool is_new = seen.insert(*key).second;
        ++(is_new ? result.counts.distinct : result.counts.duplicates);
        passes = is_new != how.invert;
      } else {
        ++result.counts.bad_records;
        result.bad.push_back(std::to_string(file) + ": record " + std::to_string(number) +
                             ": no column 2 (the row has 1)");
      }
      (passes ? passed : dropped).add(record, ended);
    }
  }
  result.passed = passed.text;
  result.dropped = dropped.text;
  return result;
}

TEST(Pipeline, EqualsAnExactTwin) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    Input input;
    Settings how{.threads = 1 + static_cast<unsigned>(random.below(4)),
                 .block_bytes = 1 + random.below(64),
                 .on_bad = random.below(2) == 0 ? OnBadRecord::pass : OnBadRecord::drop,
                 .invert = random.below(4) == 0,
                 .continues = random.below(4) == 0};
    const bool columns = random.below(2) == 0;
    if (columns) {
      input.key = "col:2";
      input.format = {.delimiter = ',', .header = random.below(2) == 0};
    }
    input.texts.resize(1 + random.below(3));
    for (std::string& text : input.texts) {
      if (random.below(6) == 0) continue;
      if (input.format.header) text = "id,name" + std::string(random.below(8) == 0 ? "" : "\n");
      if (text == "id,name") continue;
      for (std::uint64_t left = random.below(80); left > 0; --left) text += "abc,,\n\n"[random.below(7)];
    }
    const Result expected = twin(input, how), actual = run(input, how);
    ASSERT_EQ(actual.failure, "");
    ASSERT_EQ(actual.passed, expected.passed) << round;
    ASSERT_EQ(actual.dropped, expected.dropped) << round;
    ASSERT_EQ(actual.bad, expected.bad) << round;
    ASSERT_EQ(actual.counts.events, expected.counts.events);
    ASSERT_EQ(actual.counts.distinct, expected.counts.distinct);
    ASSERT_EQ(actual.counts.duplicates, expected.counts.duplicates);
    ASSERT_EQ(actual.counts.bad_records, expected.counts.bad_records);
    ASSERT_EQ(actual.counts.bytes, expected.counts.bytes);
    ASSERT_FALSE(actual.remembers_unwritten);
  }
}

// What stands before the bad record comes out, whatever the blocks and threads.
TEST(Pipeline, FailsAtTheFirstBadRecord) {
  const Input input{.texts = {"1,a\n2,b\n3,a\n4,c\nbad\n5,d\nworse\n"}, .format = {.delimiter = ','}, .key = "col:2"};
  for (unsigned threads = 1; threads <= 4; ++threads)
    for (const std::size_t block : {1u, 3u, 5u, 9u, 1000u}) {
      const Result result = run(input, {.threads = threads, .block_bytes = block, .on_bad = OnBadRecord::fail});
      EXPECT_EQ(result.passed, "1,a\n2,b\n4,c\n") << block;
      EXPECT_EQ(result.dropped, "3,a\n");
      EXPECT_EQ(result.counts.events, 4u);
      EXPECT_NE(result.failure.find("record 5"), std::string::npos) << result.failure;
      EXPECT_FALSE(result.remembers_unwritten) << "all that was judged was written";
    }
}

// The filter knows the records that could not be written: a state saved now would lose them.
TEST(Pipeline, TellsWhenOutputIsMissing) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::to_string(i) + "\n";
  for (unsigned threads = 1; threads <= 4; ++threads) {
    const Result result =
        run({.texts = {text}, .format = {}}, {.threads = threads, .block_bytes = 8, .writes_left = 3});
    EXPECT_NE(result.failure.find("full"), std::string::npos) << result.failure;
    EXPECT_TRUE(result.remembers_unwritten);
    EXPECT_TRUE(text.starts_with(result.passed));
    EXPECT_LT(result.passed.size(), text.size());
  }
}

TEST(Pipeline, JudgesWhatCameBeforeAReadError) {
  const Input input{.texts = {"id,n\n1,a\n2,b\n", "other\n3,c\n"}, .format = {.delimiter = ',', .header = true}};
  for (unsigned threads = 1; threads <= 4; ++threads) {
    const Result result = run(input, {.threads = threads, .block_bytes = 6});
    EXPECT_EQ(result.passed, "id,n\n1,a\n2,b\n");
    EXPECT_NE(result.failure.find("header"), std::string::npos) << result.failure;
    EXPECT_FALSE(result.remembers_unwritten);
  }
}

}  // namespace
}  // namespace nodup
