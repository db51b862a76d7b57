// SPDX-License-Identifier: Apache-2.0
//
// zstd, one frame or many behind one another, frames without data among them. The library's limit on the
// window (128 MiB) stays: a frame header of a few bytes must not make us take gigabytes.
#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

class ZstdSource final : public Source {
 public:
  explicit ZstdSource(std::unique_ptr<Source> packed)
      : packed_(std::move(packed)), buffer_(ZSTD_DStreamInSize()), zstd_(ZSTD_createDStream()) {
    if (zstd_ == nullptr) throw std::bad_alloc();
  }

  std::size_t read(std::span<char> room) override {
    if (room.empty()) return 0;
    while (true) {
      // Without input the library is asked only for what it holds back; behind a frame the question itself
      // would count as the beginning of another.
      if (input_.pos < input_.size || holds_back_) {
        if (const std::size_t count = unpack_some(room); count > 0) return count;
        continue;
      }
      const std::size_t count = packed_->read(buffer_);
      if (count > 0) {
        input_ = {buffer_.data(), count, 0};
        continue;
      }
      if (inside_ && !packed_->stopped()) {
        throw Error(fmt::format("{} ended early, {} bytes unpacked: the zstd file is cut off", name(), unpacked_));
      }
      return 0;
    }
  }

  const std::string& name() const override { return packed_->name(); }
  std::uint64_t bytes_taken() const override { return packed_->bytes_taken(); }
  std::optional<std::uint64_t> bytes_total() const override { return packed_->bytes_total(); }
  bool stopped() const override { return packed_->stopped(); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  std::size_t unpack_some(std::span<char> room) {
    ZSTD_outBuffer output{room.data(), room.size(), 0};
    const std::size_t answer = ZSTD_decompressStream(zstd_.get(), &output, &input_);
    unpacked_ += output.pos;
    if (ZSTD_isError(answer)) fail(answer);
    inside_ = answer != 0;
    holds_back_ = inside_ && output.pos == output.size;
    return output.pos;
  }

  [[noreturn]] void fail(std::size_t answer) const {
    switch (ZSTD_getErrorCode(answer)) {
      case ZSTD_error_memory_allocation:
        throw std::bad_alloc();
      case ZSTD_error_frameParameter_windowTooLarge:
        throw Error(fmt::format("{0} needs a window above 128 MiB (zstd --long); unpack it by: zstd -dc --long=31 {0}",
                                name()));
      default:
        throw Error(fmt::format("{} is damaged: {} ({} bytes unpacked)", name(), ZSTD_getErrorName(answer), unpacked_));
    }
  }

  std::unique_ptr<Source> packed_;
  std::vector<char> buffer_;
  std::unique_ptr<ZSTD_DStream, Free> zstd_;
  ZSTD_inBuffer input_{};
  bool inside_ = true;       // a frame has begun and not ended
  bool holds_back_ = false;  // the room was too small for all that is unpacked
  std::uint64_t unpacked_ = 0;
};

}  // namespace

std::unique_ptr<Source> unpack_zstd(std::unique_ptr<Source> packed) {
  return std::make_unique<ZstdSource>(std::move(packed));
}

}  // namespace nodup
