// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/reader.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>

#include <tuple>

#include "nodup/error.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::Random;
using testing::TemporaryFolder;

// What a record is, however the input was cut into batches: input, number, text, has a separator, is a header.
using Seen = std::tuple<std::size_t, std::uint64_t, std::string, bool, bool>;

std::vector<Seen> read_all(BatchReader& reader) {
  std::vector<Seen> all;
  Batch batch;
  while (reader.next(batch)) {
    EXPECT_GT(batch.size(), 0u);
    for (std::size_t i = 0; i < batch.size(); ++i)
      all.emplace_back(batch.input, batch.first_record + i, batch.record(i), batch.ends[i] < batch.bytes.size(),
                       i < batch.header);
  }
  EXPECT_FALSE(reader.next(batch));
  return all;
}

std::vector<Seen> read_all(BatchReader::Options options) {
  BatchReader reader(std::move(options));
  return read_all(reader);
}

std::string message_of(BatchReader::Options options) {
  try {
    read_all(std::move(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Seen> naive_lines(const std::vector<std::string>& inputs, bool header) {
  std::vector<Seen> all;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    std::uint64_t number = 0;
    for (std::size_t from = 0; from < inputs[input].size();) {
      const std::size_t end = std::min(inputs[input].find('\n', from), inputs[input].size());
      ++number;
      all.emplace_back(input, number, inputs[input].substr(from, end - from), end < inputs[input].size(),
                       header && number == 1);
      from = end + 1;
    }
  }
  return all;
}

TEST(BatchReader, TinyBlocksGiveTheSameRecords) {
  const TemporaryFolder folder;
  Random random(1);
  for (int round = 0; round < 150; ++round) {
    std::vector<std::string> inputs(1 + random.below(3)), paths;
    const bool header = random.below(2) == 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (header) inputs[i] = "name,number\n";
      for (std::uint64_t left = random.below(60); left > 0; --left) inputs[i] += "ab\n\n\r\0"[random.below(6)];
      if (random.below(8) == 0) inputs[i] += std::string(random.below(2000), 'L');
      if (random.below(6) == 0) inputs[i].clear();
      paths.push_back(folder.write("in" + std::to_string(i), inputs[i]));
    }
    const std::vector<Seen> expected = naive_lines(inputs, header);
    RecordFormat format;
    format.header = header;
    for (const std::size_t block : {1ul, 2ul, 3ul, 7ul, 64ul, 1ul << 18})
      ASSERT_EQ(read_all({.paths = paths, .format = format, .block_bytes = block}), expected) << block;
  }
}

TEST(BatchReader, QuotedRowsOverBlocks) {
  const TemporaryFolder folder;
  Random random(2);
  const RecordFormat format{.delimiter = ',', .quoted = true};
  for (int round = 0; round < 150; ++round) {
    std::string text;
    for (std::uint64_t left = random.below(60); left > 0; --left) text += "a,\"\n"[random.below(4)];
    const std::string path = folder.write("in", text);
    const std::vector<Seen> expected = read_all({.paths = {path}, .format = format});
    std::string joined;
    for (const auto& [input, number, record, ended, header] : expected) joined += record + (ended ? "\n" : "");
    ASSERT_EQ(joined, text);
    for (std::size_t block = 1; block <= 64; block += 1 + block / 8)
      ASSERT_EQ(read_all({.paths = {path}, .format = format, .block_bytes = block}), expected) << block << '\n' << text;
  }
}

TEST(BatchReader, UnterminatedQuoteIsTold) {
  const TemporaryFolder folder;
  const RecordFormat format{.delimiter = ',', .quoted = true};
  for (const auto& [text, open] : std::vector<std::pair<std::string, bool>>{
           {"a\n\"b\nc", true}, {"a\n\"b\nc\n", true}, {"a\n\"b\nc\"", false}, {"a\n\"b\"\"", true}, {"a\"b", false}}) {
    BatchReader reader({.paths = {folder.write("in", text)}, .format = format, .block_bytes = 2});
    Batch batch;
    bool last = false;
    while (reader.next(batch)) last = batch.unterminated_quote;
    EXPECT_EQ(last, open) << text;
  }
}

TEST(BatchReader, LongRecordAmongShortOnes) {
  const TemporaryFolder folder;
  const std::string text = "a\n" + std::string(5'000'000, 'x') + "\nb\n" + std::string(3'000'000, 'y');
  const std::vector<Seen> all = read_all({.paths = {folder.write("in", text)}, .format = {}});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(std::get<2>(all[1]).size(), 5'000'000u);
  EXPECT_EQ(std::get<2>(all[2]), "b");
  EXPECT_EQ(std::get<2>(all[3]), std::string(3'000'000, 'y'));
  EXPECT_FALSE(std::get<3>(all[3]));
}

TEST(BatchReader, HeadersMustAgree) {
  const TemporaryFolder folder;
  RecordFormat format{.delimiter = ',', .quoted = true, .header = true};
  const std::string first = folder.write("first", "id,name\n1,a\n"), same = folder.write("same", "id,name\r\n2,b\r\n"),
                    other = folder.write("other", "name,id\nb,2\n"), empty = folder.write("empty", "");
  EXPECT_EQ(message_of({.paths = {empty, first, same, empty}, .format = format}), "");
  const std::string message = message_of({.paths = {first, other}, .format = format});
  EXPECT_NE(message.find(first), std::string::npos) << message;
  EXPECT_NE(message.find(other), std::string::npos) << message;

  BatchReader reader({.paths = {empty, first}, .format = format});
  EXPECT_EQ(reader.header(), "id,name");
  EXPECT_EQ(read_all(reader).size(), 2u);
  BatchReader nothing({.paths = {empty}, .format = format});
  EXPECT_EQ(nothing.header(), std::nullopt);
}

TEST(BatchReader, TroubleIsKnownBeforeReading) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good", "a\n");
  EXPECT_THROW(BatchReader({.paths = {good, folder.path("missing")}, .format = {}}), Error);
  EXPECT_THROW(BatchReader({.paths = {good, folder.path(".")}, .format = {}}), Error);
}

TEST(BatchReader, EstimatesRecords) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "line number " + std::to_string(1'000'000 + i) + "\n";
  BatchReader reader({.paths = {folder.write("in", text)}, .format = {}});
  const auto guess = reader.estimated_records();
  ASSERT_TRUE(guess);
  EXPECT_GE(*guess, 200'000u);
  EXPECT_LE(*guess, 230'000u);
  EXPECT_EQ(read_all(reader).size(), 200'000u);  // looking ahead took nothing away
  BatchReader small({.paths = {folder.write("in", "a\nb\n")}, .format = {}});
  EXPECT_GE(small.estimated_records().value(), 2u);
  BatchReader none({.paths = {folder.write("in", "")}, .format = {}});
  EXPECT_EQ(none.estimated_records(), 0u);
}

// Half a record is no event: a stop in its middle must not let it out.
TEST(BatchReader, AStopKeepsWholeRecordsOnly) {
  const TemporaryFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  int wake[2];
  ASSERT_EQ(::pipe(wake), 0);
  const int feed = ::open(fifo.c_str(), O_RDWR);
  ASSERT_EQ(::write(feed, "one\ntwo\nhal", 11), 11);
  BatchReader reader({.paths = {fifo}, .format = {}, .wake_fd = wake[0]});
  std::vector<std::string> got;
  Batch batch;
  while (got.size() < 2 && reader.next(batch))
    for (std::size_t i = 0; i < batch.size(); ++i) got.emplace_back(batch.record(i));
  ASSERT_EQ(::write(wake[1], "x", 1), 1);
  while (reader.next(batch))
    for (std::size_t i = 0; i < batch.size(); ++i) got.emplace_back(batch.record(i));
  EXPECT_EQ(got, (std::vector<std::string>{"one", "two"}));
  ::close(feed);
  ::close(wake[0]);
  ::close(wake[1]);

  BatchReader file({.paths = {folder.write("in", "one\ntwo\nthree\n")}, .format = {}, .block_bytes = 6});
  ASSERT_TRUE(file.next(batch));
  EXPECT_EQ(batch.record(batch.size() - 1), "one");
  file.stop();
  EXPECT_FALSE(file.next(batch));
}

}  // namespace
}  // namespace nodup
