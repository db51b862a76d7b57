// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.hpp"

#include <algorithm>

#include "nodup/hash/positions.hpp"
#include "nodup/memory/prefetch.hpp"

// The widest registers the machine has, chosen when the program starts: the limit is the machine's, not the
// compiler's baseline.
#if defined(__x86_64__)
#define NODUP_BENCH_WIDEST [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define NODUP_BENCH_WIDEST
#endif

namespace nodup::bench {

namespace {
typedef std::uint64_t Line __attribute__((vector_size(64), may_alias));
}

NODUP_BENCH_WIDEST
void touch_lines(void* table, std::uint64_t lines, std::span<const Digest> keys, Asking asking) {
  auto* const line = static_cast<Line*>(table);
  const Digest* const key = keys.data();
  const std::uint64_t count = keys.size(), warm = std::min(asking.keys_ahead, count);
  const auto ask = [&](std::uint64_t i) __attribute__((always_inline)) {
    const Line* const asked = line + fastrange(key[i].lo, lines);
    asking.to_second_level ? prefetch_to_second_level(asked) : prefetch(asked);
  };
  for (std::uint64_t i = 0; i < warm; ++i) ask(i);
  std::uint64_t i = 0;
  for (; i + warm < count; ++i) {
    ask(i + warm);
    line[fastrange(key[i].lo, lines)] ^= 1;
  }
  for (; i < count; ++i) line[fastrange(key[i].lo, lines)] ^= 1;
}

}  // namespace nodup::bench
