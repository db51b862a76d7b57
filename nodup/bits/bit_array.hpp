// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// `bits` zeroed bits, any number of them. One thread at a time.
class BitArray {
 public:
  BitArray() = default;
  explicit BitArray(std::uint64_t bits, PagePolicy policy = PagePolicy::huge)
      : pages_((bits + 63) / 64 * 8, policy), bits_(bits) {}

  std::uint64_t size() const { return bits_; }
  std::uint64_t words() const { return pages_.bytes() / 8; }
  std::uint64_t bytes() const { return pages_.bytes(); }
  std::uint64_t* data() noexcept { return pages_.as<std::uint64_t>(); }
  const std::uint64_t* data() const noexcept { return pages_.as<std::uint64_t>(); }
  Pages& pages() noexcept { return pages_; }
  const Pages& pages() const noexcept { return pages_; }

  bool test(std::uint64_t i) const noexcept { return (data()[i / 64] >> (i % 64)) & 1; }
  void set(std::uint64_t i) noexcept { data()[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::uint64_t i) noexcept { data()[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  // The old value. No branch on it: half the answers are surprises and each would cost a pipeline flush.
  bool test_and_set(std::uint64_t i) noexcept {
    std::uint64_t& word = data()[i / 64];
    const std::uint64_t old = word;
    word = old | std::uint64_t{1} << (i % 64);
    return (old >> (i % 64)) & 1;
  }
  bool test_and_reset(std::uint64_t i) noexcept {
    std::uint64_t& word = data()[i / 64];
    const std::uint64_t old = word;
    word = old & ~(std::uint64_t{1} << (i % 64));
    return (old >> (i % 64)) & 1;
  }
  void prefetch(std::uint64_t i) const noexcept { nodup::prefetch(data() + i / 64); }

  std::uint64_t count() const noexcept {
    std::uint64_t ones = 0;
    for (std::uint64_t i = 0; i < words(); ++i) ones += static_cast<std::uint64_t>(std::popcount(data()[i]));
    return ones;
  }
  // Of the bits [first, last).
  std::uint64_t count(std::uint64_t first, std::uint64_t last) const noexcept {
    std::uint64_t ones = 0;
    for (; first < last && first % 64 != 0; ++first) ones += test(first);
    for (; first + 64 <= last; first += 64) ones += static_cast<std::uint64_t>(std::popcount(data()[first / 64]));
    for (; first < last; ++first) ones += test(first);
    return ones;
  }
  void merge(const BitArray& other) noexcept {  // same size
    for (std::uint64_t i = 0; i < words(); ++i) data()[i] |= other.data()[i];
  }

 private:
  Pages pages_;
  std::uint64_t bits_ = 0;
};

}  // namespace nodup
