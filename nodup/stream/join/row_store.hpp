// SPDX-License-Identifier: Apache-2.0
//
// Rows that a join keeps: appended once, read again by the place they were given.
//
// They lie in chunks. The store has an allowance of memory, which it shares with what is built over the rows (tables,
// chains); the oldest chunks make way, into a temporary file that has no name and goes with the process. So rows may
// take more than memory; what is built over them may not.
//
//   a chunk:  length u64 | row | length u64 | row | ...       a place: number of the chunk u32 | offset in it u32
//
// A row longer than a chunk has one of its own, so that offsets stay below the size of a chunk.
// Threads: one that appends; any number that read when nobody appends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/stream/batch.hpp"

namespace nodup {

class RowStore {
 public:
  struct Options {
    std::uint64_t memory = 0;  // for the rows and for all that share it
    std::string folder;        // of the temporary file
  };

  explicit RowStore(Options options);
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;
  ~RowStore();

  std::uint64_t append(std::string_view row);
  // ByteBuffer::kPadding readable bytes follow the row. It may lie in `scratch`, which must stay as it is meanwhile.
  std::string_view read(std::uint64_t place, ByteBuffer& scratch) const;
  // Others are about to use so many bytes, all in all, of the memory. Throws Error if that cannot be.
  void share_memory(std::uint64_t others);

  std::uint64_t bytes_in_memory() const { return in_memory_; }
  std::uint64_t bytes_in_file() const { return in_file_; }

 private:
  struct Chunk {
    ByteBuffer bytes;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;  // where it is once its bytes are gone
  };

  void make_way(std::size_t most);
  void move_to_file(Chunk& chunk);
  void open_file();
  void read_file(char* to, std::uint64_t size, std::uint64_t offset) const;

  Options options_;
  std::uint64_t chunk_bytes_;
  std::vector<Chunk> chunks_;  // rows are appended to the last
  std::size_t moved_ = 0;      // how many of the first chunks are in the file
  std::uint64_t in_memory_ = 0;
  std::uint64_t in_file_ = 0;
  std::uint64_t others_ = 0;
  int file_ = -1;
};

}  // namespace nodup
