// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "nodup/stream/sinks/sinks.hpp"

namespace nodup {

namespace {

class FileSink final : public Sink {
 public:
  FileSink(std::string path, FileMode mode, char separator) : path_(std::move(path)) {
    struct stat status {};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) throw Error(fmt::format("cannot write {}: it is a directory", path_));
    if (mode == FileMode::append) {
      open(path_, O_RDWR | O_CREAT | O_APPEND);
      mend_torn_end(separator);
    } else if (exists && !S_ISREG(status.st_mode)) {
      open(path_, O_WRONLY);
    } else {
      temporary_ = path_ + ".partial";
      // An existing target hands its permissions on.
      open(temporary_, O_WRONLY | O_CREAT | O_TRUNC);
      if (exists) (void)::fchmod(fd_, status.st_mode & 07777);
    }
    out_ = descriptor_sink(fd_, path_);
  }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void write(std::span<const iovec> pieces) override { out_->write(pieces); }
  void sync() override { out_->sync(); }
  bool continues() const override { return continues_; }
  void finish() override {
    out_->finish();
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw Error(fmt::format("cannot rename {} to {}: {}", temporary_, path_, std::strerror(errno)));
    temporary_.clear();
  }

 private:
  void open(const std::string& path, int flags) {
    fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (fd_ < 0) throw Error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  void mend_torn_end(char separator) {
    struct stat status {};
    char last = separator;
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
    continues_ = true;
    if (::pread(fd_, &last, 1, status.st_size - 1) == 1 && last != separator && ::write(fd_, &separator, 1) != 1)
      throw Error(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::string temporary_;  // where it is written until finish(), or empty
  bool continues_ = false;
  int fd_ = -1;
  std::unique_ptr<Sink> out_;
};

}  // namespace

std::unique_ptr<Sink> file_sink(const std::string& path, FileMode mode, char separator) {
  return std::make_unique<FileSink>(path, mode, separator);
}

}  // namespace nodup
