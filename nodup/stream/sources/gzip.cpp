// SPDX-License-Identifier: Apache-2.0
//
// gzip, one member or many behind one another. Zeros behind the last member (the padding of tapes) are no
// data; any other bytes there are an error, since they may be what is left of a damaged member.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

constexpr std::size_t kPackedBytes = 256 << 10;
constexpr std::size_t kMostAtOnce = 1 << 30;  // zlib counts in 32 bits

class GzipSource final : public Source {
 public:
  explicit GzipSource(std::unique_ptr<Source> packed) : packed_(std::move(packed)), buffer_(kPackedBytes) {
    // 15: the largest window; 16 more: expect gzip, check its sums.
    if (::inflateInit2(&zlib_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { ::inflateEnd(&zlib_); }

  std::size_t read(std::span<char> room) override {
    if (room.empty()) return 0;
    room = room.first(std::min(room.size(), kMostAtOnce));
    while (true) {
      if (place_ != Place::inside) {
        if (zlib_.avail_in == 0 && !refill()) return 0;
        if (!start_member()) continue;
      }
      // Even without new input: the last call may have stopped for want of room.
      if (const std::size_t count = inflate_some(room); count > 0) return count;
      if (place_ != Place::inside || zlib_.avail_in > 0) continue;
      if (!refill()) {
        if (packed_->stopped()) return 0;
        throw Error(fmt::format("{} ended early, {} bytes unpacked: the gzip file is cut off", name(), unpacked_));
      }
    }
  }

  const std::string& name() const override { return packed_->name(); }
  std::uint64_t bytes_taken() const override { return packed_->bytes_taken(); }
  std::optional<std::uint64_t> bytes_total() const override { return packed_->bytes_total(); }
  bool stopped() const override { return packed_->stopped(); }

 private:
  enum class Place { inside, between, in_padding };

  bool refill() {
    const std::size_t count = packed_->read(buffer_);
    zlib_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    zlib_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  // Behind a member, with input at hand: true if another one begins here.
  bool start_member() {
    while (zlib_.avail_in > 0 && *zlib_.next_in == 0) {
      place_ = Place::in_padding;
      ++zlib_.next_in;
      --zlib_.avail_in;
    }
    if (zlib_.avail_in == 0) return false;
    if (place_ == Place::in_padding || *zlib_.next_in != 0x1f) {
      throw Error(
          fmt::format("{} has bytes behind its gzip data that are none ({} bytes unpacked)", name(), unpacked_));
    }
    ::inflateReset(&zlib_);
    place_ = Place::inside;
    return true;
  }

  std::size_t inflate_some(std::span<char> room) {
    zlib_.next_out = reinterpret_cast<Bytef*>(room.data());
    zlib_.avail_out = static_cast<uInt>(room.size());
    const int answer = ::inflate(&zlib_, Z_NO_FLUSH);
    const std::size_t count = room.size() - zlib_.avail_out;
    unpacked_ += count;
    switch (answer) {
      case Z_OK:
      case Z_BUF_ERROR:  // no progress without more input
        return count;
      case Z_STREAM_END:
        place_ = Place::between;
        return count;
      case Z_MEM_ERROR:
        throw std::bad_alloc();
      default:
        throw Error(fmt::format("{} is damaged: {} ({} bytes unpacked)", name(),
                                zlib_.msg == nullptr ? "not gzip" : zlib_.msg, unpacked_));
    }
  }

  std::unique_ptr<Source> packed_;
  std::vector<char> buffer_;
  z_stream zlib_{};
  Place place_ = Place::inside;
  std::uint64_t unpacked_ = 0;
};

}  // namespace

std::unique_ptr<Source> unpack_gzip(std::unique_ptr<Source> packed) {
  return std::make_unique<GzipSource>(std::move(packed));
}

}  // namespace nodup
