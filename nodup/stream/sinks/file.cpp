// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "nodup/stream/sinks/sinks.hpp"
#include "nodup/text/paths.hpp"

namespace nodup {

namespace {

// A file that is appended to and does not end with the separator has a torn last record: what comes next must not be
// glued to it. `readable` is open on the same file. True if anything is in the file.
bool mend_torn_end(int fd, int readable, char separator, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  char last = separator;
  if (::pread(readable, &last, 1, status.st_size - 1) == 1 && last != separator && ::write(fd, &separator, 1) != 1)
    throw Error(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  return true;
}

class ContinuedSink final : public Sink {
 public:
  ContinuedSink(int fd, std::string name, char separator) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_APPEND) != 0) {
      // Standard output cannot be read itself, but its file can be opened once more.
      const int readable = ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
      try {
        continues_ = mend_torn_end(fd, readable, separator, name);
      } catch (...) {
        if (readable >= 0) ::close(readable);
        throw;
      }
      if (readable >= 0) ::close(readable);
    }
    out_ = descriptor_sink(fd, std::move(name));
  }
  void write(std::span<const iovec> pieces) override { out_->write(pieces); }
  void sync() override { out_->sync(); }
  bool continues() const override { return continues_; }
  void finish() override { out_->finish(); }

 private:
  bool continues_ = false;
  std::unique_ptr<Sink> out_;
};

class FileSink final : public Sink {
 public:
  FileSink(std::string path, FileMode mode, char separator) : path_(std::move(path)) {
    struct stat status {};
    const bool exists = ::stat(path_.c_str(), &status) == 0;
    if (!exists || S_ISREG(status.st_mode)) path_ = behind_links(path_);
    if (exists && S_ISDIR(status.st_mode)) throw Error(fmt::format("cannot write {}: it is a directory", path_));
    try {
      if (exists && !S_ISREG(status.st_mode)) {
        open(path_, O_WRONLY);
      } else if (mode == FileMode::append) {
        open(path_, O_RDWR | O_CREAT | O_APPEND);
        if (!exists) sync_folder();
        continues_ = mend_torn_end(fd_, fd_, separator, path_);
      } else {
        open_temporary();
        // An existing target hands its permissions on.
        if (exists) (void)::fchmod(fd_, status.st_mode & 07777);
      }
      out_ = descriptor_sink(fd_, path_);
    } catch (...) {
      give_up();
      throw;
    }
  }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override { give_up(); }

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
  // Under a name that nothing else has: neither another run nor a file of the user's is written over.
  void open_temporary() {
    for (int i = 0;; ++i) {
      const std::string name = i == 0 ? path_ + ".partial" : fmt::format("{}.partial{}", path_, i);
      fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ >= 0) {
        temporary_ = name;
        return;
      }
      if (errno != EEXIST || i == kMostTemporaries)
        throw Error(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
    }
  }
  // A new file's name, too, must outlive a crash that a state saved later outlives.
  void sync_folder() const {
    const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    (void)::fsync(folder);
    ::close(folder);
  }
  void give_up() {
    if (fd_ >= 0) ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  static constexpr int kMostTemporaries = 1000;

  std::string path_;
  std::string temporary_;  // where it is written until finish(), or empty
  bool continues_ = false;
  int fd_ = -1;
  std::unique_ptr<Sink> out_;
};

}  // namespace

std::unique_ptr<Sink> continued_sink(int fd, std::string name, char separator) {
  return std::make_unique<ContinuedSink>(fd, std::move(name), separator);
}

std::unique_ptr<Sink> file_sink(const std::string& path, FileMode mode, char separator) {
  return std::make_unique<FileSink>(path, mode, separator);
}

}  // namespace nodup
