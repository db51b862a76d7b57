// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "nodup/error.hpp"
#include "nodup/stream/open.hpp"
#include "nodup/stream/sources/file_window.hpp"

namespace nodup {
namespace {

// As much as an unprivileged process may ask for; the default of 64 KiB makes writer and reader take turns.
constexpr int kPipeBytes = 1 << 20;

std::string describe(int error) { return std::generic_category().message(error); }

class DescriptorSource final : public Source {
 public:
  DescriptorSource(int fd, Ownership ownership, std::string name, int wake_fd)
      : fd_(fd, ownership), name_(std::move(name)), wake_fd_(wake_fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw Error(fmt::format("cannot read {}: {}", name_, describe(errno)));
    if (S_ISDIR(status.st_mode)) throw Error(fmt::format("{} is a directory; name the files in it", name_));
    if (S_ISREG(status.st_mode)) {
      const off_t at = ::lseek(fd, 0, SEEK_CUR);
      begin_ = at > 0 ? static_cast<std::uint64_t>(at) : 0;
      const off_t left = status.st_size - static_cast<off_t>(begin_);
      total_ = left > 0 ? static_cast<std::uint64_t>(left) : 0;
      window_.emplace(fd);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
      return;
    }
#ifdef F_SETPIPE_SZ
    if (S_ISFIFO(status.st_mode) && ::fcntl(fd, F_GETPIPE_SZ) < kPipeBytes) ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
#endif
    const int flags = ::fcntl(fd, F_GETFL);
    const bool reads_wait = flags < 0 || (flags & O_NONBLOCK) == 0;
    waits_first_ = wake_fd_ >= 0 || !reads_wait;
  }

  std::size_t read(std::span<char> room) override {
    if (window_) {
      if (const std::size_t count = window_->copy(begin_ + taken_, room); count > 0) {
        taken_ += count;
        ahead_ = true;
        return count;
      }
      if (ahead_) ::lseek(fd_.number, static_cast<off_t>(begin_ + taken_), SEEK_SET);
      ahead_ = false;
    }
    while (!stopped_) {
      if (waits_first_ && !wait()) break;
      const ssize_t count = ::read(fd_.number, room.data(), room.size());
      if (count >= 0) {
        taken_ += static_cast<std::uint64_t>(count);
        return static_cast<std::size_t>(count);
      }
      if (errno == EINTR) continue;
      // Another process that shares the terminal or pipe may switch waiting off at any time.
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        waits_first_ = true;
        continue;
      }
      throw Error(fmt::format("cannot read {}: {}", name_, describe(errno)));
    }
    return 0;
  }

  const std::string& name() const override { return name_; }
  std::uint64_t bytes_taken() const override { return taken_; }
  std::optional<std::uint64_t> bytes_total() const override {
    // A file that grows, or one of /proc that claims to be empty, has no known end.
    if (total_ && taken_ > *total_) return std::nullopt;
    return total_;
  }
  bool stopped() const override { return stopped_; }
  const char* upcoming(std::uint64_t skipped, std::size_t bytes) override {
    return window_ ? window_->find(begin_ + taken_ + skipped, bytes) : nullptr;
  }

 private:
  struct Descriptor {
    Descriptor(int fd, Ownership how) : number(fd), ownership(how) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
      if (ownership == Ownership::owned) ::close(number);
    }
    int number;
    Ownership ownership;
  };

  // Until there is something to read (or the end); false when a stop is asked for.
  bool wait() {
    pollfd waiting[] = {{fd_.number, POLLIN, 0}, {wake_fd_, POLLIN, 0}};  // poll skips a descriptor of -1
    while (::poll(waiting, 2, -1) < 0) {
      if (errno != EINTR) throw Error(fmt::format("cannot wait for {}: {}", name_, describe(errno)));
    }
    stopped_ = waiting[1].revents != 0;
    return !stopped_;
  }

  Descriptor fd_;
  std::string name_;
  int wake_fd_;
  bool waits_first_ = false;
  bool stopped_ = false;
  std::uint64_t begin_ = 0;  // of a file: where it was read from
  std::uint64_t taken_ = 0;
  std::optional<FileWindow> window_;  // of a file
  bool ahead_ = false;                // more was taken than the descriptor knows
  std::optional<std::uint64_t> total_;
};

}  // namespace

std::unique_ptr<Source> descriptor_source(int fd, Ownership ownership, std::string name, int wake_fd) {
  return std::make_unique<DescriptorSource>(fd, ownership, std::move(name), wake_fd);
}

}  // namespace nodup
