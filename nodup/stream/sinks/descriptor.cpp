// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "nodup/stream/sinks/sinks.hpp"

namespace nodup {

namespace {

class DescriptorSink final : public Sink {
 public:
  DescriptorSink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  void write(std::span<const iovec> pieces) override {
    while (!pieces.empty()) {
      const std::size_t count = std::min<std::size_t>(pieces.size(), IOV_MAX);
      write_group(pieces.first(count));
      pieces = pieces.subspan(count);
    }
  }
  void sync() override {
    // Pipes and terminals cannot be synced (EINVAL, EROFS): what was written is with the reader.
    if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail();
  }
  void finish() override {
    struct stat status {};
    // The kernel may report a full disk or a lost network file only now.
    if (::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) {
      const int copy = ::dup(fd_);
      if (copy >= 0 && ::close(copy) != 0) fail();
    }
  }

 private:
  [[noreturn]] void fail() const {
    const int reason = errno;
    const std::string text = fmt::format("cannot write {}: {}", name_, std::strerror(reason));
    if (reason == EPIPE) throw ClosedOutput(text);
    throw Error(text);
  }

  void write_group(std::span<const iovec> group) {
    std::size_t left = 0;
    for (const iovec& piece : group) left += piece.iov_len;
    std::vector<iovec> rest;  // made when a part was taken
    while (left > 0) {
      auto done = write_some(group);
      left -= done;
      if (left == 0) return;
      if (rest.empty()) {
        rest.assign(group.begin(), group.end());
        group = rest;
      }
      std::size_t first = 0;
      while (done >= group[first].iov_len) done -= group[first++].iov_len;
      group = group.subspan(first);
      iovec& torn = rest[rest.size() - group.size()];
      torn.iov_base = static_cast<char*>(torn.iov_base) + done;
      torn.iov_len -= done;
    }
  }

  std::size_t write_some(std::span<const iovec> group) {
    for (;;) {
      const ssize_t n = ::writev(fd_, group.data(), static_cast<int>(group.size()));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) fail();
      // Another process that shares the output has switched waiting off for all.
      pollfd waiting{fd_, POLLOUT, 0};
      if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) fail();
    }
  }

  int fd_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Sink> descriptor_sink(int fd, std::string name) {
  return std::make_unique<DescriptorSink>(fd, std::move(name));
}

}  // namespace nodup
