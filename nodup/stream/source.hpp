// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace nodup {

// Where bytes come from.
class Source {
 public:
  virtual ~Source() = default;
  // Up to room.size() bytes, as soon as there are any; 0 at the end. Throws Error naming the source.
  virtual std::size_t read(std::span<char> room) = 0;
  // For messages.
  virtual const std::string& name() const = 0;
  // Bytes taken from the outside so far (packed bytes, where the input is packed), for progress.
  virtual std::uint64_t bytes_taken() const = 0;
  // All the bytes there are to take, where that is known.
  virtual std::optional<std::uint64_t> bytes_total() const = 0;
  // The last read() gave nothing because a stop was asked for, not because the input has ended.
  virtual bool stopped() const { return false; }
  // Where the `bytes` lie that come after the next `skipped` ones, if they are in memory already; else nullptr. Only
  // for prefetching: they may be gone at any time.
  virtual const char* upcoming(std::uint64_t skipped, std::size_t bytes) {
    (void)skipped, (void)bytes;
    return nullptr;
  }
};

}  // namespace nodup
