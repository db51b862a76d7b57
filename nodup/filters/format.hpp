// SPDX-License-Identifier: Apache-2.0
//
// Saved filters. docs/format.md draws the bytes; everything is little-endian.
//
//   magic 8 | version u32 | reserved u32 | seed u64 | notes | kind text | filter's own bytes | checksum u64
//
// The frame (all but the own bytes) also carries what is no filter: sets/saved.hpp.
//
// The checksum is XXH3-64 over all bytes before it. Loading validates everything or throws Error: unknown or
// damaged bytes never become a filter (one that "matches everything" would silently drop every event).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nodup/filters/filter.hpp"

namespace nodup {

inline constexpr std::uint32_t kFormatVersion = 1;
// The one kind that is no filter (sets/attribute_set.hpp).
inline constexpr std::string_view kAttributeSet = "multidim";

// Puts values into a byte stream and sums them up.
class Writer {
 public:
  using Out = std::function<void(std::span<const std::byte>)>;
  explicit Writer(Out out);
  ~Writer();

  void bytes(std::span<const std::byte> data);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void f64(double value);
  void text(std::string_view value);  // u32 length, bytes
  void checksum();                    // of everything so far; the end

 private:
  struct Sum;
  Out out_;
  std::unique_ptr<Sum> sum_;
};

// Takes values from a byte stream of known length. Every function throws Error, naming the place, when the
// bytes end early or a value is outside what its caller can accept. `what` names the value in the message.
class Reader {
 public:
  using In = std::function<std::size_t(std::span<std::byte>)>;  // fills what it can; 0 = end
  Reader(In in, std::uint64_t size);
  ~Reader();

  std::uint64_t remaining() const { return size_ - at_; }
  void bytes(std::span<std::byte> data, std::string_view what);
  std::uint32_t u32(std::string_view what);
  std::uint64_t u64(std::string_view what);
  std::uint64_t u64(std::string_view what, std::uint64_t least, std::uint64_t most);
  double f64(std::string_view what, double least, double most);
  std::string text(std::string_view what, std::size_t longest);
  void checksum();
  // Before memory is taken for a payload: are that many bytes there at all?
  void require(std::uint64_t payload_bytes, std::string_view what) const;
  [[noreturn]] void damaged(std::string_view why) const;

 private:
  struct Sum;
  In in_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::unique_ptr<Sum> sum_;
};

// Notes are free: the command keeps the key specification and its counters there.
using Notes = std::map<std::string, std::string>;

// A filter with what is needed to go on with it.
struct SavedFilter {
  AnyFilter filter;
  std::uint64_t seed = 0;
  Notes notes;
};

// What stands before the own bytes.
struct Frame {
  std::uint64_t seed = 0;
  Notes notes;
  std::string kind;
};

// A stage inside another filter: kind and content without a frame of its own. Only kinds that may be stages are loaded,
// so that hostile bytes cannot nest without end.
void save_stage(Writer& out, const AnyFilter& filter);
AnyFilter load_stage(Reader& in);

void save(Writer& out, const AnyFilter& filter, std::uint64_t seed, const Notes& notes);
SavedFilter load(Reader& in);

// The parts these are made of: the own bytes and then checksum() are the caller's.
void save_frame(Writer& out, const Frame& frame);
Frame load_frame(Reader& in);
SavedFilter load_framed(Reader& in, Frame frame);  // the filter of the frame, and the checksum

// Files: written beside the target under a temporary name, synced, renamed over it, folder synced. So the
// target holds either all of the old or all of the new content. A failure throws and leaves nothing behind.
void save_file(const std::string& path, const AnyFilter& filter, std::uint64_t seed, const Notes& notes);
SavedFilter load_file(const std::string& path);
// A regular file that begins as saved ones do, or is empty: what may be replaced by another without a loss of anything
// that is not nodup's.
bool is_saved_file(const std::string& path);
// The same for whatever `content` writes or reads. An Error of the reader is told with the path.
void save_file(const std::string& path, const std::function<void(Writer&)>& content);
void load_file(const std::string& path, const std::function<void(Reader&)>& content);

}  // namespace nodup
