// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace nodup {

// Starts loading the cache line at p, soon to be written. The empty assembler statement makes it an effect: to g++ 12 a
// function that only prefetches in a loop does nothing, and its calls are dropped.
[[gnu::always_inline]] inline void prefetch(const void* p) noexcept {
  __builtin_prefetch(p, 1, 3);
  asm volatile("");
}

// Starts loading the cache line at p into the second level. That has room for more lines, and more of them can be under
// way at once, but whoever uses one waits for the step into the first level: it pays where there is little to do with
// each line and the table is larger than the cache (docs/benchmarks.md).
[[gnu::always_inline]] inline void prefetch_to_second_level(const void* p) noexcept {
  __builtin_prefetch(p, 0, 2);
  asm volatile("");
}

// How many keys ahead of the current one memory is asked for. Measured by bench/ops: 4 is too few, beyond 16 to 32
// nothing is gained; but the kernels for lines, whose keys take 5 ns each, gain up to 48 lines ahead.
inline constexpr std::size_t kPrefetchAhead = 24;

// THE batch loop: visits 0..count-1 in order while the memory of later ones is on its way. Answers are those
// of a plain loop; only the waiting overlaps.
template <std::size_t kAhead = kPrefetchAhead, class Prefetch, class Visit>
[[gnu::always_inline]] inline void visit_prefetched(std::size_t count, Prefetch&& prefetch_one, Visit&& visit_one) {
  const std::size_t warm = count < kAhead ? count : kAhead;
  for (std::size_t i = 0; i < warm; ++i) prefetch_one(i);
  std::size_t i = 0;
  for (; i + warm < count; ++i) {
    prefetch_one(i + warm);
    visit_one(i);
  }
  for (; i < count; ++i) visit_one(i);
}

}  // namespace nodup
