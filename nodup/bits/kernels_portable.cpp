// SPDX-License-Identifier: Apache-2.0
#include "nodup/bits/kernel_loops.hpp"
#include "nodup/bits/kernel_sets.hpp"

namespace nodup {

namespace {

void insert_queues(QueueBatch& batch, const Digest* keys, std::size_t count, bool* is_new) {
  insert_into_queues<kLinesAhead>(PortableSlots(), batch, keys, count, is_new);
}

std::size_t insert_aged_lines(const AgedLineShape& shape, const AgedLineTable& table, const AgedMoment& moment,
                              AgedBatch& batch, const Digest* keys, std::size_t from, std::size_t end, bool* is_new) {
  return insert_into_aged_lines<kAgedKeysAhead>(PortableAgedSlots(), shape.layout(), table, moment, batch, keys, from,
                                                end, is_new);
}
std::uint64_t find_in_aged_line(const AgedLineShape& shape, const std::uint64_t* line, std::uint64_t value) {
  return PortableAgedSlots().find(shape.layout(), line, value);
}

// The C library's memchr is SIMD already.
std::size_t find_byte(const char* data, std::size_t size, char byte, std::uint64_t base, std::uint64_t* out) {
  std::uint64_t* const begin = out;
  const char* at = data;
  const char* const end = data + size;
  while (at < end && (at = static_cast<const char*>(std::memchr(at, byte, static_cast<std::size_t>(end - at)))))
    *out++ = base + static_cast<std::uint64_t>(at++ - data);
  return static_cast<std::size_t>(out - begin);
}

std::size_t find_either(const char* data, std::size_t size, char a, char b, std::uint64_t base, std::uint64_t* out) {
  std::uint64_t* const begin = out;
  for (std::size_t i = 0; i < size; ++i) {
    *out = base + i;
    out += data[i] == a || data[i] == b;
  }
  return static_cast<std::size_t>(out - begin);
}

constexpr Kernels make() {
  Kernels k = line_kernels<PortableLine8, PortableLine16>("portable");
  k.insert_queues = insert_queues;
  k.insert_aged_lines = insert_aged_lines;
  k.find_in_aged_line = find_in_aged_line;
  k.find_byte = find_byte;
  k.find_either = find_either;
  return k;
}

}  // namespace

constinit const Kernels kPortableKernels = make();

[[gnu::flatten]] void hash_one_by_one(const Hasher& hasher, const char* bytes, const std::uint64_t* ends,
                                      std::size_t from, std::size_t to, Upcoming& upcoming, Digest* digests) {
  Upcoming asked = upcoming;
  std::uint64_t begin = from == 0 ? 0 : ends[from - 1] + 1;
  for (std::size_t i = from; i < to; ++i) {
    asked.ask();
    digests[i] = hasher({bytes + begin, static_cast<std::size_t>(ends[i] - begin)});
    begin = ends[i] + 1;
  }
  upcoming = asked;
}

}  // namespace nodup
