// SPDX-License-Identifier: Apache-2.0
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
    std::size_t wanted = 0;
    for (const iovec& piece : group) wanted += piece.iov_len;
    ssize_t n;
    do n = ::writev(fd_, group.data(), static_cast<int>(group.size()));
    while (n < 0 && errno == EINTR);
    if (n < 0) fail();
    if (static_cast<std::size_t>(n) == wanted) return;
    // A full pipe took a part: go on behind it.
    std::vector<iovec> rest(group.begin(), group.end());
    auto done = static_cast<std::size_t>(n);
    std::size_t first = 0;
    while (done >= rest[first].iov_len) done -= rest[first++].iov_len;
    rest[first].iov_base = static_cast<char*>(rest[first].iov_base) + done;
    rest[first].iov_len -= done;
    write_group(std::span(rest).subspan(first));
  }

  int fd_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Sink> descriptor_sink(int fd, std::string name) {
  return std::make_unique<DescriptorSink>(fd, std::move(name));
}

}  // namespace nodup
