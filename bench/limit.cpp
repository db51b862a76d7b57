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
void touch_lines(void* table, std::uint64_t lines, std::span<const Digest> keys, std::uint64_t ahead) {
  auto* const line = static_cast<Line*>(table);
  const Digest* const key = keys.data();
  const std::uint64_t count = keys.size(), warm = std::min(ahead, count);
  for (std::uint64_t i = 0; i < warm; ++i) prefetch(line + fastrange(key[i].lo, lines));
  std::uint64_t i = 0;
  for (; i + warm < count; ++i) {
    prefetch(line + fastrange(key[i + warm].lo, lines));
    line[fastrange(key[i].lo, lines)] ^= 1;
  }
  for (; i < count; ++i) line[fastrange(key[i].lo, lines)] ^= 1;
}

}  // namespace nodup::bench
