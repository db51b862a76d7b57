// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/sources/file_window.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

namespace nodup {
namespace {

// Its pages count as memory of this process. Large enough that moving it costs nothing.
constexpr std::uint64_t kWindowBytes = std::uint64_t{8} << 20;
// The window begins at a multiple of this, so that huge pages of a file stay whole, and moves on when less than this
// is left of it: what is asked for ahead lies in it, too.
constexpr std::uint64_t kStep = std::uint64_t{2} << 20;
// Less is not worth a window.
constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
// Pages are made ready in portions of this: enough for one system call, little enough to wait for from a slow disk.
constexpr std::uint64_t kPortion = std::uint64_t{256} << 10;

// Where this thread goes on if the memory it copies from is gone; nullptr while it does not copy.
thread_local sigjmp_buf* t_rescue = nullptr;
struct sigaction g_action_before;
std::atomic<bool> g_guarded = false;  // the handler below is set

void on_bus_error(int number, siginfo_t* info, void*) {
  if (t_rescue != nullptr) siglongjmp(*t_rescue, 1);
  // None of ours. The failed instruction comes again when this returns; a signal that somebody sent does not.
  g_guarded = false;
  ::sigaction(SIGBUS, &g_action_before, nullptr);
  if (info->si_code <= 0) ::raise(number);
}

void set_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  // Not blocked while it runs: it may not return, and saving the mask for every copy would be a system call.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  g_guarded = ::sigaction(SIGBUS, &action, &g_action_before) == 0;
}

bool copy_unless_gone(char* to, const char* from, std::size_t bytes) {
  static std::once_flag once;
  std::call_once(once, set_handler);
  if (!g_guarded) return false;
  sigjmp_buf rescue;
  if (sigsetjmp(rescue, 0) != 0) {
    t_rescue = nullptr;
    return false;
  }
  t_rescue = &rescue;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_rescue = nullptr;
  return true;
}

}  // namespace

std::size_t FileWindow::copy(std::uint64_t from, std::span<char> to) {
  if (!possible_) return 0;
  if (!covers(from, std::min<std::uint64_t>(to.size() + kStep, kWindowBytes)) && !move_to(from)) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), end_ - from));
  // Where a file becomes shorter, the rest of its last page turns to zeros without any signal: look at its size.
  if (copy_unless_gone(to.data(), data_ + (from - begin_), count) && file_bytes() >= from + count) return count;
  possible_ = false;
  close();
  return 0;
}

const char* FileWindow::find(std::uint64_t from, std::size_t bytes) {
  if (!covers(from, bytes)) return nullptr;
#ifdef MADV_POPULATE_READ
  // Memory that has no page yet cannot be asked for. Where the system is too old for this, it comes later.
  if (from + bytes > ready_) {
    const std::uint64_t first = from / kPortion * kPortion;
    ready_ = std::min(end_, first + kPortion + bytes);
    ::madvise(data_ + (first - begin_), ready_ - first, MADV_POPULATE_READ);
  }
#endif
  return data_ + (from - begin_);
}

// False near the end of the file, and where it cannot be mapped.
bool FileWindow::move_to(std::uint64_t from) {
  const std::uint64_t size = file_bytes();
  if (size < from + kLeastBytes) return false;
  const std::uint64_t begin = from / kStep * kStep, end = std::min(begin + kWindowBytes, size);
  if (data_ != nullptr && begin == begin_ && end == end_) return true;  // the last window of the file
  close();
  void* const data = ::mmap(nullptr, end - begin, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(begin));
  possible_ = data != MAP_FAILED;
  if (!possible_) return false;
  ::madvise(data, end - begin, MADV_SEQUENTIAL);
  data_ = static_cast<char*>(data);
  begin_ = begin;
  end_ = end;
  ready_ = 0;
  return true;
}

void FileWindow::close() {
  if (data_ != nullptr) ::munmap(data_, end_ - begin_);
  data_ = nullptr;
  begin_ = end_ = 0;
}

std::uint64_t FileWindow::file_bytes() const {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace nodup
