// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nodup {

// A stretch of an open file in memory (mmap), which moves along as the file is read. It takes the place of read(2)
// where that is possible. Either way every byte is copied once, into memory of our own that nobody else can change;
// but only memory can be asked for ahead (memory/upcoming.hpp), while records read before are worked on. The copy is
// then three times as fast as one that waits for each line.
//
// One thread at a time. Needs a handler for SIGBUS, and sets it at the first copy: a file that becomes shorter, or a
// disk that fails, is told to a copying process by that signal. Any other SIGBUS goes where it went before.
class FileWindow {
 public:
  explicit FileWindow(int fd) : fd_(fd) {}
  FileWindow(const FileWindow&) = delete;
  FileWindow& operator=(const FileWindow&) = delete;
  ~FileWindow() { close(); }

  // Copies what the file has at `from` and returns how much that was. 0 where it cannot tell: close to the end of the
  // file or behind it, where a file cannot be mapped, is damaged or has just become shorter. read(2) will know.
  std::size_t copy(std::uint64_t from, std::span<char> to);

  // Where the `bytes` at `from` lie, made ready to be asked for; nullptr where they do not. Only for prefetching, which
  // never fails: they may be gone at any time.
  const char* find(std::uint64_t from, std::size_t bytes);

 private:
  bool covers(std::uint64_t from, std::uint64_t bytes) const {
    return from >= begin_ && bytes <= end_ && from <= end_ - bytes;
  }
  bool move_to(std::uint64_t from);
  void close();
  std::uint64_t file_bytes() const;

  int fd_;
  bool possible_ = true;  // as far as is known
  char* data_ = nullptr;
  std::uint64_t begin_ = 0, end_ = 0;  // the stretch, in bytes of the file
  std::uint64_t ready_ = 0;            // up to here it has been made ready
};

}  // namespace nodup
