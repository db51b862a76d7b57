// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/format.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nodup/filters/blocked.hpp"
#include "tests/laws/law.hpp"

namespace nodup {
namespace {

using testing::load_saved;

std::string message_of(const std::string& bytes) {
  try {
    load_saved(bytes);
    return "loaded";
  } catch (const Error& error) {
    return error.what();
  }
}

// A stage that is itself `growing` could nest until the stack is gone.
TEST(Format, StagesDoNotNest) {
  std::string bytes;
  Writer out = testing::writer_to(bytes);
  const char magic[8] = {'\x8E', 'N', 'O', 'D', 'U', 'P', '\r', '\n'};
  out.bytes(std::as_bytes(std::span(magic)));
  out.u32(kFormatVersion);
  out.u32(0);
  out.u64(0);
  out.u32(0);
  for (int depth = 0; depth < 100'000; ++depth) {
    out.text("growing");
    out.f64(0.5);
    out.u64(1);
    out.u64(1);
    out.u64(1);
  }
  out.checksum();
  EXPECT_NE(message_of(bytes).find("cannot be one"), std::string::npos) << message_of(bytes);
}

TEST(Format, SaysWhatIsWrong) {
  const std::string good = testing::saved(AnyFilter(Blocked({.lines = 2, .shape = {}, .keys = 5})));
  EXPECT_NE(message_of("").find("at byte 0"), std::string::npos);
  EXPECT_NE(message_of("hello, this is text").find("not those of a nodup file"), std::string::npos);
  std::string newer = good;
  newer[8] = 9;
  EXPECT_NE(message_of(newer).find("format version 9"), std::string::npos) << message_of(newer);
  std::string flipped = good;
  flipped[flipped.size() - 20] ^= 1;
  EXPECT_NE(message_of(flipped).find("checksum"), std::string::npos) << message_of(flipped);
  EXPECT_NE(message_of(good + "x").find("follow the end"), std::string::npos) << message_of(good + "x");
}

TEST(Format, ASavedFileReplacesWhatALinkPointsTo) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "nodup_format_test";
  std::filesystem::create_directories(folder);
  const std::filesystem::path real = folder / "real.nodup", link = folder / "link.nodup";
  std::filesystem::remove(link);
  std::ofstream(real) << "old";
  std::filesystem::create_symlink(real, link);
  save_file(link, AnyFilter(Blocked({.lines = 2, .shape = {}, .keys = 5})), 3, {});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(load_file(real).seed, 3u);
  std::filesystem::remove_all(folder);
}

TEST(Format, NotesThatCouldNotBeReadAreNotWritten) {
  const AnyFilter filter(Blocked({.lines = 2, .shape = {}, .keys = 5}));
  Writer out([](std::span<const std::byte>) {});
  EXPECT_THROW(save(out, filter, 0, {{std::string(65, 'n'), ""}}), Error);
  EXPECT_THROW(save(out, filter, 0, {{"n", std::string((1 << 20) + 1, 'v')}}), Error);
}

}  // namespace
}  // namespace nodup
