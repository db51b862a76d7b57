// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nodup {

// Random numbers that can be looked at before they are used: number i is a function of i alone (splitmix64, Steele,
// Lea & Flood 2014). So a filter that forgets at random can prefetch what its next draws will touch, and saves only
// how many it has used; the same stream gets the same answers, in whatever batches it comes.
class Draws {
 public:
  explicit Draws(std::uint64_t used = 0) : used_(used) {}

  std::uint64_t next() noexcept { return at(used_++); }
  std::uint64_t peek(std::uint64_t ahead) const noexcept { return at(used_ + ahead); }  // peek(0) is what next() gives
  std::uint64_t used() const noexcept { return used_; }

 private:
  static std::uint64_t at(std::uint64_t i) noexcept {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  std::uint64_t used_;
};

}  // namespace nodup
