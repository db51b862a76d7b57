// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/sources/file_window.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "nodup/stream/open.hpp"
#include "nodup/stream/reader.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::Random;
using testing::TemporaryFolder;

constexpr std::size_t kMiB = 1 << 20;

// Every line names its place, so that no piece looks like another.
std::string numbered_lines(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + " of many\n";
  text.resize(bytes);
  return text;
}

struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(::open(path.c_str(), O_RDWR)) {}
  ~OpenFile() { ::close(fd); }
  int fd;
};

TEST(FileWindow, CopiesWhatTheFileHas) {
  const TemporaryFolder folder;
  const std::string text = numbered_lines(21 * kMiB + 12'345);
  const OpenFile file(folder.write("in", text));
  FileWindow window(file.fd);
  Random random(1);
  std::string room(700'000, '\0');
  std::size_t at = 0;
  while (true) {
    const std::span<char> part(room.data(), 1 + random.below(room.size()));
    const std::size_t count = window.copy(at, part);
    if (count == 0) break;
    ASSERT_LE(count, part.size());
    ASSERT_TRUE(text.compare(at, count, room, 0, count) == 0) << "at " << at;
    if (const char* found = window.find(at, count); found != nullptr) {
      ASSERT_TRUE(text.compare(at, count, found, count) == 0);
    }
    at += count;
  }
  EXPECT_GT(at, 20 * kMiB) << "it stopped long before the end";
  // Anywhere, and backwards.
  for (int i = 0; i < 50; ++i) {
    const std::size_t from = random.below(20 * kMiB);
    const std::size_t count = window.copy(from, room);
    ASSERT_EQ(count, room.size());
    ASSERT_TRUE(text.compare(from, count, room, 0, count) == 0) << "at " << from;
  }
}

TEST(FileWindow, LeavesTheEndAndSmallFilesToRead) {
  const TemporaryFolder folder;
  const OpenFile small(folder.write("small", numbered_lines(kMiB - 1)));
  const OpenFile large(folder.write("large", numbered_lines(4 * kMiB)));
  std::string room(kMiB, '\0');
  FileWindow none(small.fd), some(large.fd), closed(-1);
  EXPECT_EQ(none.copy(0, room), 0u);
  EXPECT_EQ(none.find(0, 100), nullptr);
  EXPECT_EQ(closed.copy(0, room), 0u);
  EXPECT_EQ(some.copy(3 * kMiB, room), kMiB);
  EXPECT_EQ(some.copy(4 * kMiB, room), 0u);
  EXPECT_EQ(some.copy(std::uint64_t{1} << 50, room), 0u);
  EXPECT_EQ(some.find(4 * kMiB - 10, 100), nullptr);
}

// Without care the first is a SIGBUS, and the second gives zeros that the file never had.
TEST(FileWindow, AFileThatBecomesShorterIsNotCopied) {
  const TemporaryFolder folder;
  std::string room(kMiB, '\0');
  for (const std::size_t left : {std::size_t{4096}, 2 * kMiB + kMiB / 2 + 100}) {
    const OpenFile file(folder.write("in", numbered_lines(8 * kMiB)));
    FileWindow window(file.fd);
    ASSERT_EQ(window.copy(0, room), room.size());
    ASSERT_EQ(::ftruncate(file.fd, static_cast<off_t>(left)), 0);
    EXPECT_EQ(window.copy(2 * kMiB, room), 0u) << left << " bytes left";
    EXPECT_EQ(window.copy(0, room), 0u) << "once in doubt, always";
  }
}

// What comes out is what read(2) would have given: everything before the cut, and what was read before it was made.
TEST(FileWindow, AReaderEndsWhereTheFileEndsNow) {
  const TemporaryFolder folder;
  const std::string text = numbered_lines(8 * kMiB), path = folder.write("in", text);
  for (const std::size_t left : {3 * kMiB + 17, std::size_t{100}}) {
    folder.write("in", text);
    constexpr std::size_t first_block = 100'000;
    BatchReader reader({.paths = {path}, .format = {}, .block_bytes = first_block});
    Batch batch;
    std::string seen;
    ASSERT_TRUE(reader.next(batch));
    seen.append(batch.bytes.data(), batch.bytes.size());
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(left)), 0);
    while (reader.next(batch)) seen.append(batch.bytes.data(), batch.bytes.size());
    EXPECT_TRUE(seen == text.substr(0, std::max(left, first_block))) << seen.size() << " bytes, " << left << " left";
  }
}

TEST(FileWindow, TheDescriptorIsLeftAtTheEnd) {
  const TemporaryFolder folder;
  const std::string text = numbered_lines(5 * kMiB);
  const OpenFile file(folder.write("in", text));
  ASSERT_EQ(::lseek(file.fd, 1000, SEEK_SET), 1000);  // as when a shell's `read` took the first lines
  const auto source = descriptor_source(file.fd, Ownership::borrowed, "in");
  EXPECT_EQ(source->bytes_total(), text.size() - 1000);
  std::string all, room(300'000, '\0');
  while (const std::size_t count = source->read(room)) all.append(room, 0, count);
  EXPECT_TRUE(all == text.substr(1000));
  EXPECT_EQ(source->bytes_taken(), text.size() - 1000);
  EXPECT_EQ(::lseek(file.fd, 0, SEEK_CUR), static_cast<off_t>(text.size()));
  // What is added later is read as always.
  ASSERT_EQ(::pwrite(file.fd, "more\n", 5, static_cast<off_t>(text.size())), 5);
  EXPECT_EQ(source->read(room), 5u);
  EXPECT_TRUE(room.starts_with("more\n"));
}

TEST(FileWindow, SurvivesAFileThatShrinksAndGrowsAllTheTime) {
  const TemporaryFolder folder;
  const std::string path = folder.write("in", std::string(4 * kMiB, 'x'));
  std::atomic<bool> done = false;
  std::thread changer([&] {
    const OpenFile file(path);
    const std::string text(64 * 1024, 'x');
    while (!done) {
      ASSERT_EQ(::ftruncate(file.fd, 0), 0);
      for (std::size_t at = 0; at < 4 * kMiB && !done; at += text.size())
        ASSERT_EQ(::pwrite(file.fd, text.data(), text.size(), static_cast<off_t>(at)),
                  static_cast<ssize_t>(text.size()));
    }
  });
  std::string room(kMiB, '\0');
  std::size_t copied = 0, refused = 0;
  // On a busy machine the changer may rest for a while, with the file empty: then more tries are needed to meet both.
  for (int i = 0; i < 3000 || (i < 1'000'000 && (copied == 0 || refused == 0)); ++i) {
    const OpenFile file(path);
    FileWindow window(file.fd);
    for (std::size_t at = 0; at < 3 * kMiB; at += room.size()) ++(window.copy(at, room) > 0 ? copied : refused);
  }
  done = true;
  changer.join();
  EXPECT_GT(copied, 0u);
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace nodup
