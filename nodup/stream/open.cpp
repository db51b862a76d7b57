// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/open.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "nodup/error.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

// A source of which the first bytes were looked at already.
class PeekedSource final : public Source {
 public:
  PeekedSource(std::string head, std::unique_ptr<Source> rest) : head_(std::move(head)), rest_(std::move(rest)) {}

  std::size_t read(std::span<char> room) override {
    if (given_ == head_.size()) return rest_->read(room);
    const std::size_t count = std::min(room.size(), head_.size() - given_);
    std::memcpy(room.data(), head_.data() + given_, count);
    given_ += count;
    // A file is not waited for: the first block is a full one, from which the number of records is guessed.
    const bool is_file = rest_->bytes_total().has_value();
    return is_file && count < room.size() ? count + rest_->read(room.subspan(count)) : count;
  }
  const std::string& name() const override { return rest_->name(); }
  std::uint64_t bytes_taken() const override { return rest_->bytes_taken(); }
  std::optional<std::uint64_t> bytes_total() const override { return rest_->bytes_total(); }
  bool stopped() const override { return rest_->stopped(); }
  const char* upcoming(std::uint64_t skipped, std::size_t bytes) override { return rest_->upcoming(skipped, bytes); }

 private:
  std::string head_;
  std::size_t given_ = 0;
  std::unique_ptr<Source> rest_;
};

const Packing* find_packing(std::string_view head) {
  for (const Packing& packing : packings()) {
    if (head.starts_with(packing.magic)) return &packing;
  }
  return nullptr;
}

bool may_become_packing(std::string_view head) {
  return std::any_of(packings().begin(), packings().end(),
                     [&](const Packing& packing) { return packing.magic.starts_with(head); });
}

// A pipe that has a name is opened without waiting for its writer: that wait could not be ended by wake_fd,
// the one before the first read can. Other kinds go back to reads that wait.
int open_file(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) throw Error(fmt::format("cannot open {}: {}", path, std::generic_category().message(errno)));
  struct stat status {};
  if (::fstat(fd, &status) == 0 && !S_ISFIFO(status.st_mode)) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
  }
  return fd;
}

}  // namespace

std::unique_ptr<Source> unpacked(std::unique_ptr<Source> source) {
  // Byte by byte as far as need be, so that a live pipe is never waited on for more than it takes to decide.
  std::string head;
  const Packing* packing = nullptr;
  while (packing == nullptr && may_become_packing(head)) {
    char bytes[16];
    const std::size_t count = source->read(bytes);
    if (count == 0) break;
    head.append(bytes, count);
    packing = find_packing(head);
  }
  if (head.empty()) return source;
  auto whole = std::make_unique<PeekedSource>(std::move(head), std::move(source));
  return packing == nullptr ? std::move(whole) : packing->unpack(std::move(whole));
}

std::unique_ptr<Source> open_source(const std::string& path, int wake_fd) {
  if (path == "-") return unpacked(descriptor_source(STDIN_FILENO, Ownership::borrowed, "standard input", wake_fd));
  return unpacked(descriptor_source(open_file(path), Ownership::owned, path, wake_fd));
}

}  // namespace nodup
