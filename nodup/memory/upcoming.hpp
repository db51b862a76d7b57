// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nodup/memory/prefetch.hpp"

namespace nodup {

// The bytes of a later batch, where they lie in memory already. Whoever works on the records of this batch asks for
// some of them with each record: work and memory then take the same time, not one after the other.
class Upcoming {
 public:
  Upcoming() = default;
  // The `bytes` at `at`, or nothing if that is nullptr, in as many equal portions as this batch has records. Less than
  // a cache line at their end is left out.
  Upcoming(const char* at, std::size_t bytes, std::size_t records)
      : at_(at),
        end_(at == nullptr ? nullptr : at + bytes),
        lines_(at == nullptr || records == 0 ? 0 : (bytes / kLine + records) / records) {}

  // To be called along with the work on so many records: asks for their portions.
  [[gnu::always_inline]] void ask(std::size_t records = 1) {
    const std::size_t left = static_cast<std::size_t>(end_ - at_) / kLine, wanted = lines_ * records;
    const std::size_t lines = wanted < left ? wanted : left;
    for (std::size_t i = 0; i < lines; ++i) prefetch_to_second_level(at_ + kLine * i);
    at_ += kLine * lines;
  }

 private:
  static constexpr std::size_t kLine = 64;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t lines_ = 0;
};

}  // namespace nodup
