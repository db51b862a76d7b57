// SPDX-License-Identifier: Apache-2.0
//
// A table of queues of fingerprints (bits/slot_line.hpp), in 64-byte lines: where a key belongs, and the loop over a
// batch of keys, which the kernels compile for each machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nodup/bits/line.hpp"
#include "nodup/bits/slot_line.hpp"
#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

// Above 0. Takes the high bits of `hi`; the queue is chosen by all of its bits, the line by `lo`.
[[gnu::always_inline]] inline std::uint64_t fingerprint(const SlotLine& shape, Digest d) noexcept {
  return 1 + fastrange(d.hi, shape.max_value());
}
// Where the key's queue begins in its line, in words.
[[gnu::always_inline]] inline std::uint64_t queue_at(unsigned words, Digest d) noexcept {
  return words == kLineWords ? 0 : remix(d.hi) >> 61 & (kLineWords - words);
}

// One batch, of fewer than 2^32 keys. The first lines have queues of one shape, the others of another.
struct QueueBatch {
  std::uint64_t* table;
  std::uint64_t lines, first_lines;
  std::array<const SlotLine*, 2> shapes;
  // What the batch adds to each part: keys judged new; slots that were empty.
  std::array<std::uint64_t, 2> passed = {}, filled = {};
};

// `slots` compares and pushes with the vectors of the machine.
template <std::size_t kAhead, class Slots>
[[gnu::always_inline]] inline void insert_into_queues(const Slots& slots, QueueBatch& batch, const Digest* keys,
                                                      std::size_t count, bool* is_new) noexcept {
  std::uint64_t* const table = batch.table;
  const std::uint64_t lines = batch.lines, first_lines = batch.first_lines;
  std::uint64_t counts[2] = {};  // two in one: keys judged new, and in the upper half slots filled
  // Inlined by force: a call per key, with the vectors saved around it, costs as much as the rest.
  visit_prefetched<kAhead>(
      count,
      [&](std::size_t i)
          __attribute__((always_inline)) { prefetch(table + fastrange(keys[i].lo, lines) * kLineWords); },
      [&](std::size_t i) __attribute__((always_inline)) {
        const Digest d = keys[i];
        const std::uint64_t place = fastrange(d.lo, lines);
        const std::size_t part = place >= first_lines;
        const SlotLine& shape = *batch.shapes[part];
        const unsigned words = slots.words(shape);
        std::uint64_t* const queue = table + place * kLineWords + queue_at(words, d);
        const std::uint64_t value = fingerprint(shape, d);
        const bool missing = !slots.holds(shape, queue, value);
        const std::uint64_t judged_new = missing, room = !shape.full(queue, words);
        counts[part] += judged_new | (judged_new & room) << 32;
        slots.push_if(shape, missing, queue, value);
        is_new[i] = missing;
      });
  for (unsigned part = 0; part < 2; ++part) {
    batch.passed[part] += counts[part] & UINT32_MAX;
    batch.filled[part] += counts[part] >> 32;
  }
}

}  // namespace nodup
