// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/format.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "nodup/filters/registry.hpp"
#include "nodup/text/paths.hpp"

namespace nodup {

static_assert(std::endian::native == std::endian::little, "saved filters are written as memory stands");

namespace {

// A byte above 127 and both kinds of line end: a transfer that damages binary files damages this first.
constexpr std::array<char, 8> kMagic = {'\x8E', 'N', 'O', 'D', 'U', 'P', '\r', '\n'};

constexpr std::size_t kLongestName = 64;
constexpr std::uint32_t kMostNotes = 1000;
constexpr std::size_t kLongestNote = 1 << 20;

std::string system_reason() { return std::strerror(errno); }

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0) : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) throw Error(fmt::format("cannot open {}: {}", path, system_reason()));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

void write_all(int fd, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    // Linux takes at most 2^31 bytes in one call.
    const ssize_t n = ::write(fd, data.data(), std::min<std::size_t>(data.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(fmt::format("cannot write {}: {}", path, system_reason()));
    data = data.subspan(static_cast<std::size_t>(n));
  }
}

void sync(int fd, const std::string& path) {
  // EINVAL: a file system that cannot sync; then nothing more can be had.
  if (::fsync(fd) != 0 && errno != EINVAL) throw Error(fmt::format("cannot sync {}: {}", path, system_reason()));
}

}  // namespace

struct Writer::Sum {
  XXH3_state_t* state = XXH3_createState();
  ~Sum() { XXH3_freeState(state); }
};

Writer::Writer(Out out) : out_(std::move(out)), sum_(std::make_unique<Sum>()) { XXH3_64bits_reset(sum_->state); }
Writer::~Writer() = default;

void Writer::bytes(std::span<const std::byte> data) {
  XXH3_64bits_update(sum_->state, data.data(), data.size());
  out_(data);
}
void Writer::u32(std::uint32_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
void Writer::u64(std::uint64_t value) { bytes(std::as_bytes(std::span(&value, 1))); }
void Writer::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }
void Writer::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes(std::as_bytes(std::span(value.data(), value.size())));
}
void Writer::checksum() { u64(XXH3_64bits_digest(sum_->state)); }

struct Reader::Sum {
  XXH3_state_t* state = XXH3_createState();
  ~Sum() { XXH3_freeState(state); }
};

Reader::Reader(In in, std::uint64_t size) : in_(std::move(in)), size_(size), sum_(std::make_unique<Sum>()) {
  XXH3_64bits_reset(sum_->state);
}
Reader::~Reader() = default;

void Reader::damaged(std::string_view why) const {
  throw Error(fmt::format("damaged or not a nodup file: {} (at byte {})", why, at_));
}

void Reader::require(std::uint64_t payload_bytes, std::string_view what) const {
  if (payload_bytes > remaining())
    damaged(fmt::format("{} should take {} bytes, but only {} are left", what, payload_bytes, remaining()));
}

void Reader::bytes(std::span<std::byte> data, std::string_view what) {
  require(data.size(), what);
  std::span<std::byte> rest = data;
  while (!rest.empty()) {
    const std::size_t n = in_(rest);
    if (n == 0) damaged(fmt::format("it ends inside {}", what));
    rest = rest.subspan(n);
  }
  XXH3_64bits_update(sum_->state, data.data(), data.size());
  at_ += data.size();
}
std::uint32_t Reader::u32(std::string_view what) {
  std::uint32_t value;
  bytes(std::as_writable_bytes(std::span(&value, 1)), what);
  return value;
}
std::uint64_t Reader::u64(std::string_view what) {
  std::uint64_t value;
  bytes(std::as_writable_bytes(std::span(&value, 1)), what);
  return value;
}
std::uint64_t Reader::u64(std::string_view what, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t value = u64(what);
  if (value < least || value > most) damaged(fmt::format("{} is {}, not within {} to {}", what, value, least, most));
  return value;
}
double Reader::f64(std::string_view what, double least, double most) {
  const double value = std::bit_cast<double>(u64(what));
  if (!(value >= least && value <= most))
    damaged(fmt::format("{} is {}, not within {} to {}", what, value, least, most));
  return value;
}
std::string Reader::text(std::string_view what, std::size_t longest) {
  const std::uint32_t length = u32(what);
  if (length > longest) damaged(fmt::format("{} is {} bytes long, more than {}", what, length, longest));
  require(length, what);
  std::string value(length, '\0');
  bytes(std::as_writable_bytes(std::span(value.data(), value.size())), what);
  return value;
}
void Reader::checksum() {
  const std::uint64_t expected = XXH3_64bits_digest(sum_->state);
  if (u64("checksum") != expected) damaged("the checksum does not fit the content");
  if (remaining() != 0) damaged(fmt::format("{} bytes follow the end", remaining()));
}

namespace {

const Kind& known_kind(const Reader& in, std::string_view name) {
  for (const Kind& kind : filter_kinds())
    if (kind.name == name) return kind;
  in.damaged(fmt::format("a filter of kind `{}`, unknown to this version", name));
}

}  // namespace

void save_stage(Writer& out, const AnyFilter& filter) {
  out.text(filter.kind());
  filter.save(out);
}

AnyFilter load_stage(Reader& in) {
  const Kind& kind = known_kind(in, in.text("filter kind", kLongestName));
  if (!kind.stage) in.damaged(fmt::format("a stage of kind `{}`, which cannot be one", kind.name));
  return kind.load(in);
}

void save_frame(Writer& out, const Frame& frame) {
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.u32(kFormatVersion);
  out.u32(0);  // reserved
  out.u64(frame.seed);
  if (frame.notes.size() > kMostNotes)
    throw Error(fmt::format("{} notes are more than a file holds ({})", frame.notes.size(), kMostNotes));
  out.u32(static_cast<std::uint32_t>(frame.notes.size()));
  for (const auto& [name, value] : frame.notes) {
    if (name.size() > kLongestName || value.size() > kLongestNote)
      throw Error(fmt::format("the note `{}` is too long for a file", name.substr(0, kLongestName)));
    out.text(name);
    out.text(value);
  }
  out.text(frame.kind);
}

Frame load_frame(Reader& in) {
  std::array<char, kMagic.size()> magic;
  in.bytes(std::as_writable_bytes(std::span(magic)), "the first bytes");
  if (magic != kMagic) in.damaged("the first bytes are not those of a nodup file");
  if (const std::uint32_t version = in.u32("format version"); version != kFormatVersion)
    in.damaged(fmt::format("format version {}, this program reads version {}", version, kFormatVersion));
  if (in.u32("reserved field") != 0) in.damaged("a reserved field is in use: written by a newer version");
  Frame frame;
  frame.seed = in.u64("seed");
  const std::uint32_t count = in.u32("number of notes");
  if (count > kMostNotes) in.damaged(fmt::format("{} notes, more than {}", count, kMostNotes));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = in.text("name of a note", kLongestName);
    frame.notes[std::move(name)] = in.text("note", kLongestNote);
  }
  frame.kind = in.text("filter kind", kLongestName);
  return frame;
}

SavedFilter load_framed(Reader& in, Frame frame) {
  if (frame.kind == kAttributeSet)
    throw Error("it holds a set of rows with attributes, not a filter: `nodup set` and `nodup match` use those");
  SavedFilter saved{known_kind(in, frame.kind).load(in), frame.seed, std::move(frame.notes)};
  in.checksum();
  return saved;
}

void save(Writer& out, const AnyFilter& filter, std::uint64_t seed, const Notes& notes) {
  save_frame(out, {seed, notes, std::string(filter.kind())});
  filter.save(out);
  out.checksum();
}
SavedFilter load(Reader& in) {
  Frame frame = load_frame(in);
  return load_framed(in, std::move(frame));
}

void save_file(const std::string& path, const AnyFilter& filter, std::uint64_t seed, const Notes& notes) {
  save_file(path, [&](Writer& out) { save(out, filter, seed, notes); });
}

void save_file(const std::string& name, const std::function<void(Writer&)>& content) {
  const std::string path = behind_links(name);
  const std::string temporary = path + ".saving";
  try {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    // An existing file hands its permissions on.
    struct stat existing {};
    if (::stat(path.c_str(), &existing) == 0) (void)::fchmod(file.fd(), existing.st_mode & 07777);
    // Small values are gathered; large payloads pass through.
    std::string gathered;
    const auto flush = [&] {
      write_all(file.fd(), std::as_bytes(std::span(gathered)), temporary);
      gathered.clear();
    };
    Writer out([&](std::span<const std::byte> data) {
      if (data.size() < 4096) {
        gathered.append(reinterpret_cast<const char*>(data.data()), data.size());
        if (gathered.size() < (1 << 16)) return;
        flush();
      } else {
        flush();
        write_all(file.fd(), data, temporary);
      }
    });
    content(out);
    flush();
    sync(file.fd(), temporary);
    file.close();
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw Error(fmt::format("cannot rename {} to {}: {}", temporary, path, system_reason()));
    const std::string folder = folder_of(path);
    sync(File(folder, O_RDONLY | O_DIRECTORY).fd(), folder);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

bool is_saved_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size == 0) return true;
  const File file(path, O_RDONLY);
  std::array<char, kMagic.size()> first{};
  return ::read(file.fd(), first.data(), first.size()) == static_cast<ssize_t>(first.size()) && first == kMagic;
}

SavedFilter load_file(const std::string& path) {
  std::optional<SavedFilter> saved;
  load_file(path, [&](Reader& in) { saved = load(in); });
  return std::move(*saved);
}

void load_file(const std::string& path, const std::function<void(Reader&)>& content) {
  const File file(path, O_RDONLY);
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) throw Error(fmt::format("cannot read {}: {}", path, system_reason()));
  if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{} is not a regular file", path));
  // Reads ahead for the small values; large payloads go straight to their place.
  std::array<std::byte, 1 << 16> ahead;
  std::span<std::byte> unread;
  const auto read_some = [&](std::span<std::byte> room) {
    for (;;) {
      const ssize_t n = ::read(file.fd(), room.data(), std::min<std::size_t>(room.size(), std::size_t{1} << 30));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) throw Error(fmt::format("cannot read {}: {}", path, system_reason()));
    }
  };
  Reader in(
      [&](std::span<std::byte> room) -> std::size_t {
        if (unread.empty()) {
          if (room.size() >= ahead.size()) return read_some(room);
          unread = std::span(ahead).first(read_some(ahead));
        }
        const std::size_t n = std::min(room.size(), unread.size());
        std::memcpy(room.data(), unread.data(), n);
        unread = unread.subspan(n);
        return n;
      },
      static_cast<std::uint64_t>(status.st_size));
  try {
    content(in);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace nodup
