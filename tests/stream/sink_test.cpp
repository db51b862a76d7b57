// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/sink.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "nodup/stream/sinks/sinks.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::TemporaryFolder;
using Names = std::vector<std::string>;

void write_text(Sink& sink, const std::string& text) {
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  sink.write({&piece, 1});
}

std::string drain(int fd, std::size_t chunk) {
  std::string all, room(chunk, '\0');
  ssize_t n;
  while ((n = ::read(fd, room.data(), room.size())) > 0) all.append(room, 0, static_cast<std::size_t>(n));
  return all;
}

// More pieces than one call takes, some of them empty, through a pipe of one page that is drained slowly.
void write_through_small_pipe(bool waits) {
  testing::Random random(1);
  std::vector<std::string> texts(3000);
  std::string expected;
  for (std::string& text : texts) {
    text.assign(random.below(200), static_cast<char>('a' + random.below(26)));
    expected += text;
  }
  std::vector<iovec> pieces;
  for (std::string& text : texts) pieces.push_back({text.data(), text.size()});

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  if (!waits) {
    ASSERT_EQ(::fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  }
  std::string received;
  std::thread reader([&] { received = drain(ends[0], 333); });
  descriptor_sink(ends[1], "pipe")->write(pieces);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(received, expected);
}

TEST(DescriptorSink, SmallPipe) { write_through_small_pipe(true); }
// Another process may have switched waiting off.
TEST(DescriptorSink, SmallPipeThatDoesNotWait) { write_through_small_pipe(false); }

TEST(DescriptorSink, ClosedPipeIsTold) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const auto sink = descriptor_sink(ends[1], "the pipe");
  EXPECT_THROW(write_text(*sink, "a\n"), ClosedOutput);
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}

TEST(DescriptorSink, FullDiskIsTold) {
  const int fd = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  const auto sink = descriptor_sink(fd, "the output");
  try {
    write_text(*sink, "a\n");
    FAIL() << "nothing was said";
  } catch (const ClosedOutput&) {
    FAIL() << "a full disk is no closed pipe";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the output"), std::string::npos) << error.what();
  }
  ::close(fd);
}

TEST(FileSink, ReplacesOnlyWhenFinished) {
  const TemporaryFolder folder;
  folder.write("out", "old\n");
  ::chmod(folder.path("out").c_str(), 0640);
  {
    const auto sink = file_sink(folder.path("out"), FileMode::replace, '\n');
    write_text(*sink, "new\n");
    EXPECT_EQ(folder.read("out"), "old\n");
  }
  EXPECT_EQ(folder.read("out"), "old\n");
  EXPECT_EQ(folder.names(), Names{"out"}) << "something half-written stayed";
  const auto sink = file_sink(folder.path("out"), FileMode::replace, '\n');
  write_text(*sink, "new\n");
  sink->finish();
  EXPECT_EQ(folder.read("out"), "new\n");
  EXPECT_EQ(folder.names(), Names{"out"});
  struct stat status {};
  ::stat(folder.path("out").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(FileSink, NeverWritesOverAnotherFile) {
  const TemporaryFolder folder;
  folder.write("out.partial", "mine\n");
  const auto first = file_sink(folder.path("out"), FileMode::replace, '\n');
  const auto second = file_sink(folder.path("out"), FileMode::replace, '\n');
  write_text(*first, "first\n");
  write_text(*second, "second\n");
  first->finish();
  EXPECT_EQ(folder.read("out"), "first\n");
  second->finish();
  EXPECT_EQ(folder.read("out"), "second\n");
  EXPECT_EQ(folder.read("out.partial"), "mine\n");
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(FileSink, WritesThroughLinks) {
  const TemporaryFolder folder;
  folder.write("real", "old\n");
  ASSERT_EQ(::symlink("real", folder.path("link").c_str()), 0);
  const auto sink = file_sink(folder.path("link"), FileMode::replace, '\n');
  write_text(*sink, "new\n");
  sink->finish();
  EXPECT_EQ(folder.read("real"), "new\n");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(FileSink, AppendMendsATornEnd) {
  const TemporaryFolder folder;
  const auto append = [&](const std::string& text, char separator = '\n') {
    const auto sink = file_sink(folder.path("out"), FileMode::append, separator);
    const bool continues = sink->continues();
    write_text(*sink, text);
    sink->sync();
    return continues;
  };
  EXPECT_FALSE(append("a\nb\n"));
  EXPECT_TRUE(append("c\ntor"));  // no finish(): what was appended stays
  EXPECT_TRUE(append("d\n"));
  EXPECT_EQ(folder.read("out"), "a\nb\nc\ntor\nd\n");
  EXPECT_TRUE(append("e", '\0'));
  EXPECT_EQ(folder.read("out"), std::string("a\nb\nc\ntor\nd\n\0e", 14));
}

TEST(FileSink, RefusesFoldersAndMissingOnes) {
  const TemporaryFolder folder;
  for (const FileMode mode : {FileMode::replace, FileMode::append}) {
    EXPECT_THROW(file_sink(folder.path("."), mode, '\n'), Error);
    EXPECT_THROW(file_sink(folder.path("no/such"), mode, '\n'), Error);
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(ContinuedSink, MendsWhatIsAppendedTo) {
  const TemporaryFolder folder;
  folder.write("out", "a\ntor");
  const int fd = ::open(folder.path("out").c_str(), O_WRONLY | O_APPEND);
  const auto sink = continued_sink(fd, "standard output", '\n');
  EXPECT_TRUE(sink->continues());
  write_text(*sink, "b\n");
  ::close(fd);
  EXPECT_EQ(folder.read("out"), "a\ntor\nb\n");
}

TEST(ContinuedSink, LeavesOtherOutputsAlone) {
  const TemporaryFolder folder;
  folder.write("out", "# note");
  const int fd = ::open(folder.path("out").c_str(), O_WRONLY);
  ::lseek(fd, 0, SEEK_END);
  const auto sink = continued_sink(fd, "standard output", '\n');
  EXPECT_FALSE(sink->continues());
  write_text(*sink, "b\n");
  ::close(fd);
  EXPECT_EQ(folder.read("out"), "# noteb\n");
}

}  // namespace
}  // namespace nodup
