// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "nodup/error.hpp"
#include "nodup/stream/open.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

// Gives a text in pieces of a fixed size.
class TextSource final : public Source {
 public:
  TextSource(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  std::size_t read(std::span<char> room) override {
    const std::size_t count = std::min({piece_, room.size(), text_.size() - at_});
    std::memcpy(room.data(), text_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return name_; }
  std::uint64_t bytes_taken() const override { return at_; }
  std::optional<std::uint64_t> bytes_total() const override { return text_.size(); }

 private:
  std::string text_;
  std::string name_ = "some input";
  std::size_t piece_;
  std::size_t at_ = 0;
};

std::string read_all(Source& source, std::size_t room_size = 4096) {
  std::string all, room(room_size, '\0');
  while (const std::size_t count = source.read(room)) all.append(room, 0, count);
  EXPECT_EQ(source.read(room), 0u) << "the end stays the end";
  return all;
}

std::string gzip(const std::string& text) {
  z_stream zlib{};
  EXPECT_EQ(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&zlib, text.size()) + 32, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

// A frame of zstd that carries no data.
std::string skippable(const std::string& payload) {
  return std::string("\x50\x2a\x4d\x18", 4) + static_cast<char>(payload.size()) + std::string(3, '\0') + payload;
}

std::unique_ptr<Source> open_text(std::string text, std::size_t piece = 1 << 20) {
  return unpacked(std::make_unique<TextSource>(std::move(text), piece));
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    close_writer();
    ::close(ends[0]);
  }
  void write(const std::string& text) {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  int reader() const { return ends[0]; }
  int ends[2];
};

class SourceFiles : public ::testing::Test {
 protected:
  SourceFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nodup_source_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SourceFiles() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::filesystem::path folder_;
};

TEST_F(SourceFiles, PlainGzipAndZstdReadTheSame) {
  const std::string text = "one\ntwo\n";
  for (const auto& [name, packed] : std::vector<std::pair<std::string, std::string>>{
           {"plain", text}, {"gz", gzip(text)}, {"zst", zstd(text)}, {"pzst", skippable("abcd") + zstd(text)}}) {
    const auto source = open_source(file(name, packed));
    EXPECT_EQ(source->bytes_total(), packed.size());
    EXPECT_EQ(read_all(*source), text) << name;
    EXPECT_EQ(source->bytes_taken(), packed.size());
    EXPECT_EQ(source->name(), (folder_ / name).string());
    EXPECT_FALSE(source->stopped());
  }
}

TEST_F(SourceFiles, WhatCannotBeOpenedIsNamed) {
  const std::string missing = (folder_ / "missing").string();
  EXPECT_EQ(complaint([&] { open_source(missing); }), "cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(complaint([&] { open_source(folder_.string()); }),
            folder_.string() + " is a directory; name the files in it");
  EXPECT_EQ(complaint([&] { descriptor_source(-1, Ownership::borrowed, "nothing"); }),
            "cannot read nothing: Bad file descriptor");
}

TEST_F(SourceFiles, ShortFilesAreWhatTheyAre) {
  for (const std::string& text :
       {std::string(), std::string("\x1f"), std::string("\x1f\x8b"), std::string("\x28\xb5\x2f"), std::string("(")}) {
    EXPECT_EQ(read_all(*open_source(file("short", text))), text);
  }
}

TEST_F(SourceFiles, OffsetOfARedirectedFileCounts) {
  const std::string path = file("part", "0123456789");
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_EQ(::lseek(fd, 4, SEEK_SET), 4);
  const auto source = descriptor_source(fd, Ownership::owned, path);
  EXPECT_EQ(source->bytes_total(), 6u);
  EXPECT_EQ(read_all(*source), "456789");
}

TEST_F(SourceFiles, AFileThatOutgrowsItsSizeHasNoTotal) {
  const std::string path = file("grows", "ab");
  const auto source = open_source(path);
  EXPECT_EQ(source->bytes_total(), 2u);
  std::ofstream(path, std::ios::app) << "cd";
  EXPECT_EQ(read_all(*source), "abcd");
  EXPECT_EQ(source->bytes_total(), std::nullopt);
}

TEST_F(SourceFiles, OwnershipDecidesWhoCloses) {
  const int fd = ::open(file("x", "x").c_str(), O_RDONLY);
  descriptor_source(fd, Ownership::borrowed, "x").reset();
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  descriptor_source(fd, Ownership::owned, "x").reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  const int folder = ::open(folder_.c_str(), O_RDONLY);
  EXPECT_THROW(descriptor_source(folder, Ownership::owned, "x"), Error);
  EXPECT_EQ(::fcntl(folder, F_GETFD), -1) << "also when the source is refused";
}

TEST_F(SourceFiles, ANamedPipeIsWaitedForUntilItsWriterComes) {
  const std::string path = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(path) << "through the pipe"; });
  EXPECT_EQ(read_all(*open_source(path)), "through the pipe");
}

TEST_F(SourceFiles, ANamedPipeWithoutWriterCanBeGivenUp) {
  const std::string path = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  Pipe wake;
  wake.write("!");
  const auto source = open_source(path, wake.reader());
  EXPECT_EQ(read_all(*source), "");
  EXPECT_TRUE(source->stopped());
}

TEST(SourceDescriptor, GivesBytesAsSoonAsThereAreAny) {
  Pipe pipe;
  const auto source = descriptor_source(pipe.reader(), Ownership::borrowed, "pipe");
  EXPECT_EQ(source->bytes_total(), std::nullopt);
  char room[100];
  for (const char* text : {"a", "bc", "def"}) {
    pipe.write(text);
    const std::size_t count = source->read(room);
    EXPECT_EQ(std::string(room, count), text);
  }
  pipe.close_writer();
  EXPECT_EQ(source->read(room), 0u);
  EXPECT_EQ(source->bytes_taken(), 6u);
  EXPECT_FALSE(source->stopped());
}

TEST(SourceDescriptor, WakingEndsAWaitThatHasBegun) {
  Pipe pipe, wake;
  const auto source = descriptor_source(pipe.reader(), Ownership::borrowed, "pipe", wake.reader());
  char room[100];
  pipe.write("x");
  EXPECT_EQ(source->read(room), 1u);
  std::jthread waker([&] { wake.write("!"); });
  EXPECT_EQ(source->read(room), 0u);
  EXPECT_TRUE(source->stopped());
}

TEST(SourceDescriptor, ReadsThatDoNotWaitAreWaitedFor) {
  Pipe pipe;
  ::fcntl(pipe.reader(), F_SETFL, O_NONBLOCK);
  const auto source = descriptor_source(pipe.reader(), Ownership::borrowed, "pipe");
  std::jthread writer([&] {
    pipe.write("late");
    pipe.close_writer();
  });
  EXPECT_EQ(read_all(*source), "late");
}

TEST(SourceDescriptor, SignalsDoNotDisturb) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};  // and no SA_RESTART: read() gives up with EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  Pipe pipe;
  const auto source = descriptor_source(pipe.reader(), Ownership::borrowed, "pipe");
  const pthread_t reader = ::pthread_self();
  std::jthread disturber([&] {
    for (int i = 0; i < 50; ++i) {
      ::pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    pipe.write("calm");
    pipe.close_writer();
  });
  EXPECT_EQ(read_all(*source), "calm");
  disturber.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(SourcePacked, ByteByByteThroughAPipe) {
  const std::string text = "some text, some text, some text\n";
  for (const std::string& packed : {text, gzip(text), zstd(text), std::string("\x1f not gzip")}) {
    Pipe pipe;
    std::jthread writer([&] {
      for (const char c : packed) pipe.write(std::string(1, c));
      pipe.close_writer();
    });
    const auto source = unpacked(descriptor_source(pipe.reader(), Ownership::borrowed, "pipe"));
    EXPECT_EQ(read_all(*source, 1), packed[0] == '\x1f' && packed[1] == ' ' ? packed : text);
  }
}

TEST(SourcePacked, ALivePipeIsUnpackedBeforeItsEnd) {
  const std::string first = "first\n", second = "second\n";
  for (const auto pack : {gzip, zstd}) {
    Pipe pipe;
    pipe.write(pack(first));
    const auto source = unpacked(descriptor_source(pipe.reader(), Ownership::borrowed, "pipe"));
    // Asks for no more than there is: a read too many would wait for ever.
    const auto read_exactly = [&](std::size_t size) {
      std::string got, room(size, '\0');
      while (got.size() < size) got.append(room, 0, source->read(std::span(room).first(size - got.size())));
      return got;
    };
    EXPECT_EQ(read_exactly(first.size()), first);
    pipe.write(pack(second));
    EXPECT_EQ(read_exactly(second.size()), second);
    pipe.close_writer();
    EXPECT_EQ(read_all(*source), "");
  }
}

TEST(SourcePacked, AStopIsNoTruncation) {
  for (const auto pack : {gzip, zstd}) {
    Pipe pipe, wake;
    const std::string text = "cut off in the middle";
    pipe.write(pack(text).substr(0, 12));
    const auto source = unpacked(descriptor_source(pipe.reader(), Ownership::borrowed, "pipe", wake.reader()));
    wake.write("!");
    const std::string got = read_all(*source);
    EXPECT_LT(got.size(), text.size());
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_TRUE(source->stopped());
  }
}

TEST(SourcePacked, MembersFollowOneAnother) {
  const std::string empty;
  EXPECT_EQ(read_all(*open_text(gzip("a") + gzip("") + gzip("bc"))), "abc");
  EXPECT_EQ(read_all(*open_text(gzip("a") + gzip("bc"), 1), 1), "abc");
  EXPECT_EQ(read_all(*open_text(zstd("a") + skippable("xx") + zstd("") + zstd("bc"))), "abc");
  EXPECT_EQ(read_all(*open_text(zstd("a") + zstd("bc"), 1), 1), "abc");
  EXPECT_EQ(read_all(*open_text(gzip(empty))), "");
  EXPECT_EQ(read_all(*open_text(zstd(empty))), "");
  EXPECT_EQ(read_all(*open_text(skippable("only this"))), "");
}

TEST(SourcePacked, PaddingIsIgnoredAndGarbageIsNot) {
  EXPECT_EQ(read_all(*open_text(gzip("a") + std::string(1000, '\0'))), "a");
  EXPECT_EQ(read_all(*open_text(gzip("a") + std::string(10, '\0'), 1)), "a");
  for (const std::string& tail : {std::string("x"), std::string("\0x", 2), std::string("\x1f"), std::string("\x1fx"),
                                  std::string(1, '\0') + gzip("b")}) {
    for (const std::size_t piece : {1, 1000}) {
      EXPECT_NE(complaint([&] { read_all(*open_text(gzip("a") + tail, piece)); }), "") << tail;
    }
  }
  EXPECT_NE(complaint([&] { read_all(*open_text(zstd("a") + "x")); }), "");
  EXPECT_NE(complaint([&] { read_all(*open_text(zstd("a") + "garbage")); }), "");
}

TEST(SourcePacked, EveryTruncationIsAnError) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i * i) + "\n";
  for (const auto pack : {gzip, zstd}) {
    const std::string packed = pack(text);
    const std::string two = packed + pack("more");
    for (std::size_t size = 4; size < two.size(); ++size) {
      if (size == packed.size()) continue;
      for (const std::size_t piece : {std::size_t{7}, size}) {
        const std::string message = complaint([&] { read_all(*open_text(two.substr(0, size), piece), 100); });
        EXPECT_NE(message.find("some input ended early, "), std::string::npos) << size << ' ' << message;
        EXPECT_NE(message.find(" bytes unpacked"), std::string::npos) << message;
      }
    }
  }
}

TEST(SourcePacked, AllThatWasFlushedComesBeforeTheComplaint) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * i);
  const auto packer = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>(ZSTD_createCCtx(), ZSTD_freeCCtx);
  std::string flushed(10000, '\0');
  ZSTD_outBuffer output{flushed.data(), flushed.size(), 0};
  ZSTD_inBuffer input{text.data(), text.size(), 0};
  ASSERT_EQ(ZSTD_compressStream2(packer.get(), &output, &input, ZSTD_e_flush), 0u);
  flushed.resize(output.pos);
  const std::string zipped = gzip(text);
  for (const std::string& packed : {flushed, zipped.substr(0, zipped.size() - 8)}) {
    const auto source = open_text(packed);
    std::string got, room(10, '\0');
    const std::string message = complaint([&] {
      while (const std::size_t count = source->read(room)) got.append(room, 0, count);
    });
    EXPECT_EQ(got, text);
    EXPECT_NE(message.find("ended early, " + std::to_string(text.size()) + " bytes unpacked"), std::string::npos)
        << message;
  }
}

TEST(SourcePacked, EveryFlippedByteIsAnErrorOrHarmless) {
  const std::string text = "a text that is long enough to be packed, a text that is long enough";
  const std::string packed = gzip(text);
  for (std::size_t i = 10; i < packed.size(); ++i) {  // behind the header, of which the sum says nothing
    std::string hurt = packed;
    hurt[i] = static_cast<char>(hurt[i] ^ 0x55);
    EXPECT_NE(complaint([&] { read_all(*open_text(hurt)); }), "") << i;
  }
  const std::string frame = zstd(text);
  for (std::size_t i = 4; i < frame.size(); ++i) {
    std::string hurt = frame;
    hurt[i] = static_cast<char>(hurt[i] ^ 0x55);
    std::string got;
    if (complaint([&] { got = read_all(*open_text(hurt)); }).empty()) {
      EXPECT_LE(got.size(), 2 * text.size()) << i;
    }
  }
}

TEST(SourcePacked, AWindowTooLargeIsExplained) {
  const auto packer = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(packer.get(), ZSTD_c_windowLog, 28);
  ZSTD_CCtx_setParameter(packer.get(), ZSTD_c_compressionLevel, 1);
  std::string packed(1000, '\0');
  ZSTD_outBuffer output{packed.data(), packed.size(), 0};
  std::string text = "text";
  ZSTD_inBuffer input{text.data(), text.size(), 0};
  ASSERT_FALSE(ZSTD_isError(ZSTD_compressStream2(packer.get(), &output, &input, ZSTD_e_flush)));  // size not known
  packed.resize(output.pos);
  EXPECT_NE(complaint([&] { read_all(*open_text(packed)); }).find("zstd -dc --long=31 some input"), std::string::npos);
}

RC_GTEST_PROP(SourcePackedTwin, RoundTrip, (std::vector<std::string> parts)) {
  const auto piece = *rc::gen::inRange<std::size_t>(1, 50);
  const auto room = *rc::gen::inRange<std::size_t>(1, 50);
  const std::size_t repeats = *rc::gen::inRange<std::size_t>(1, 200);
  parts.push_back(std::string(repeats, 'r'));
  std::string text, zipped, zst;
  for (const std::string& part : parts) {
    text += part;
    zipped += gzip(part);
    zst += zstd(part);
  }
  RC_ASSERT(read_all(*open_text(zipped, piece), room) == text);
  RC_ASSERT(read_all(*open_text(zst, piece), room) == text);
}

}  // namespace
}  // namespace nodup
