// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "nodup/text/paths.hpp"

namespace nodup {

StateFile::StateFile(const std::string& path) : path_(behind_links(path)), lock_path_(path_ + ".lock") {
  for (;;) {
    lock_fd_ = ::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_fd_ < 0) throw Error(fmt::format("cannot make the lock {}: {}", lock_path_, std::strerror(errno)));
    if (::flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      ::close(lock_fd_);
      lock_fd_ = -1;
      if (reason == EWOULDBLOCK)
        throw Error(
            fmt::format("the state {} is in use by another process; wait for it, or give this one a state of "
                        "its own",
                        path_));
      throw Error(fmt::format("cannot lock {}: {}", lock_path_, std::strerror(reason)));
    }
    // The holder before us removes the file when it ends: what we locked may have no name any more.
    struct stat ours {
    }, named{};
    if (::fstat(lock_fd_, &ours) == 0 && ::stat(lock_path_.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
        ours.st_dev == named.st_dev)
      return;
    ::close(lock_fd_);
  }
}

StateFile::~StateFile() {
  if (lock_fd_ < 0) return;
  ::unlink(lock_path_.c_str());
  ::close(lock_fd_);
}

bool StateFile::exists() const { return ::access(path_.c_str(), F_OK) == 0 || errno != ENOENT; }

std::optional<SavedFilter> StateFile::load() const { return exists() ? std::optional(load_file(path_)) : std::nullopt; }
std::optional<SavedSet> StateFile::load_set() const {
  return exists() ? std::optional(load_set_file(path_)) : std::nullopt;
}

void StateFile::save(const AnyFilter& filter, std::uint64_t seed, const Notes& notes) {
  save_timed([&] { save_file(path_, filter, seed, notes); });
}
void StateFile::save(const AttributeSet& set, std::uint64_t seed, const Notes& notes) {
  save_timed([&] { save_set_file(path_, set, seed, notes); });
}

void StateFile::save_timed(const std::function<void()>& save) {
  const auto begin = Clock::now();
  // Also after a failure: the next try comes when it is due, not at once.
  const auto note_time = [&] {
    saved_at_ = Clock::now();
    save_took_ = saved_at_ - begin;
  };
  try {
    save();
  } catch (...) {
    note_time();
    throw;
  }
  note_time();
}

bool StateFile::due(std::chrono::nanoseconds interval) const {
  return Clock::now() - saved_at_ >= std::max<Clock::duration>(interval, 20 * save_took_);
}

}  // namespace nodup
