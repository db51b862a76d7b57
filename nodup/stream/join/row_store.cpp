// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/join/row_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/text/units.hpp"

namespace nodup {

namespace {

// A chunk is written in one piece, and a large one costs nothing: what is not touched takes no memory. A small
// allowance gets small chunks: the last stays in memory while rows are appended to it.
constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestChunk = std::uint64_t{4} << 10;
constexpr std::uint64_t kChunksInAllowance = 16;

using Length = std::uint64_t;

// How much of a row in the file is read along with its length: most rows are shorter.
constexpr std::uint64_t kFirstRead = 1024;

std::uint64_t place_of(std::size_t chunk, std::uint64_t offset) { return std::uint64_t{chunk} << 32 | offset; }

}  // namespace

RowStore::RowStore(Options options)
    : options_(std::move(options)),
      chunk_bytes_(std::clamp(options_.memory / kChunksInAllowance, kSmallestChunk, kLargestChunk)) {}

RowStore::~RowStore() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t RowStore::append(std::string_view row) {
  const Length length = row.size();
  const std::uint64_t needed = sizeof length + row.size();
  if (moved_ == chunks_.size() || chunks_.back().bytes.capacity() - chunks_.back().size < needed) {
    if (chunks_.size() > std::numeric_limits<std::uint32_t>::max())
      throw Error("too many rows for a join: split the input");
    chunks_.push_back({.bytes = ByteBuffer(std::max(chunk_bytes_, needed))});
    in_memory_ += chunks_.back().bytes.capacity();
    make_way(chunks_.size() - 1);
  }
  Chunk& chunk = chunks_.back();
  const std::uint64_t offset = chunk.size;
  std::memcpy(chunk.bytes.data() + offset, &length, sizeof length);
  if (!row.empty()) std::memcpy(chunk.bytes.data() + offset + sizeof length, row.data(), row.size());
  chunk.size += needed;
  return place_of(chunks_.size() - 1, offset);
}

std::string_view RowStore::read(std::uint64_t place, ByteBuffer& scratch) const {
  const Chunk& chunk = chunks_[place >> 32];
  const std::uint64_t offset = place & std::numeric_limits<std::uint32_t>::max();
  Length length = 0;
  if (chunk.bytes.data() != nullptr) {
    const char* const row = chunk.bytes.data() + offset;
    std::memcpy(&length, row, sizeof length);
    return {row + sizeof length, length};
  }
  const std::uint64_t from = chunk.file_offset + offset;
  const std::uint64_t first = std::min(kFirstRead, chunk.size - offset);
  scratch.reserve(first);
  read_file(scratch.data(), first, from);
  std::memcpy(&length, scratch.data(), sizeof length);
  const std::uint64_t whole = sizeof length + length;
  if (whole > first) {
    scratch.reserve(whole);
    read_file(scratch.data() + first, whole - first, from + first);
  }
  return {scratch.data() + sizeof length, length};
}

void RowStore::share_memory(std::uint64_t others) {
  others_ = others;
  make_way(chunks_.size());
  if (others_ + in_memory_ <= options_.memory) return;
  throw Error(fmt::format(
      "the keys of the smaller side, and where their rows are, take {} at least; the limit is {}: give more "
      "--memory",
      human_bytes(others_ + in_memory_), human_bytes(options_.memory)));
}

// Some of the first `most` chunks go, as many as must.
void RowStore::make_way(std::size_t most) {
  while (others_ + in_memory_ > options_.memory && moved_ < most) move_to_file(chunks_[moved_++]);
}

void RowStore::move_to_file(Chunk& chunk) {
  if (file_ < 0) open_file();
  chunk.file_offset = in_file_;
  const char* from = chunk.bytes.data();
  std::uint64_t left = chunk.size;
  while (left > 0) {
    const ssize_t n = ::pwrite(file_, from, left, static_cast<off_t>(in_file_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(fmt::format(
          "cannot write a temporary file in {}: {}; more --memory needs less of it, and TMPDIR names another folder",
          options_.folder, std::strerror(errno)));
    from += n;
    left -= static_cast<std::uint64_t>(n);
    in_file_ += static_cast<std::uint64_t>(n);
  }
  in_memory_ -= chunk.bytes.capacity();
  chunk.bytes = ByteBuffer();
}

void RowStore::open_file() {
  std::string name = options_.folder + "/nodup_join.XXXXXX";
  file_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0)
    throw Error(fmt::format(
        "cannot make a temporary file in {}: {}; TMPDIR names another folder, and more --memory may need none",
        options_.folder, std::strerror(errno)));
  ::unlink(name.c_str());
}

void RowStore::read_file(char* to, std::uint64_t size, std::uint64_t offset) const {
  while (size > 0) {
    const ssize_t n = ::pread(file_, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(fmt::format("cannot read a temporary file in {}: {}", options_.folder,
                              n == 0 ? "it is too short" : std::strerror(errno)));
    to += n;
    size -= static_cast<std::uint64_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
}

}  // namespace nodup
