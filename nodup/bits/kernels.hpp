// SPDX-License-Identifier: Apache-2.0
//
// The few loops worth writing for each machine. A set of kernels is chosen once, by asking the processor; all sets
// give the same answers to the bit (tests/kernels_test.cpp compares them), so a test or a benchmark can force any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "nodup/bits/age_ring.hpp"
#include "nodup/bits/aged_line.hpp"
#include "nodup/bits/line.hpp"
#include "nodup/bits/queue_table.hpp"
#include "nodup/hash/digest.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/memory/upcoming.hpp"

namespace nodup {

// find_* may write this many positions past the last one found: SIMD stores a few at once.
inline constexpr std::size_t kFindSlack = 8;

struct Kernels {
  std::string_view name;

  // Digests of the records from..to-1 of a block of bytes, as the hasher gives them. Record i lies between ends[i - 1],
  // which is a separator, and ends[i]; record 0 begins with the block. Asks for something upcoming with each of them.
  void (*hash_records)(const Hasher& hasher, const char* bytes, const std::uint64_t* ends, std::size_t from,
                       std::size_t to, Upcoming& upcoming, Digest* digests);

  // Test-and-set of `count` keys in order in a table of lines, with memory asked for ahead; is_new[i] as for one
  // key after the other. Returns how many were new.
  using Insert = std::uint64_t (*)(std::uint64_t* table, std::uint64_t lines, const Digest* keys, std::size_t count,
                                   bool* is_new);
  using Contains = void (*)(const std::uint64_t* table, std::uint64_t lines, const Digest* keys, std::size_t count,
                            bool* seen);
  Insert insert[2][2];  // [lines per key - 1][bits per line == 16]
  Contains contains[2][2];

  // Slices of lines in an age-partitioned filter (bits/age_ring.hpp): insert_ages and find_age.
  using InsertAges = void (*)(const AgeRing& ring, const AgeStretch& stretch, AgeBatch& batch, std::size_t end);
  using FindAge = std::uint64_t (*)(const AgeRing& ring, std::uint64_t reach, Digest key);
  InsertAges insert_ages[2];  // [bits per line == 16]
  FindAge find_age[2];

  // Queues of fingerprints (bits/queue_table.hpp): insert_into_queues.
  void (*insert_queues)(QueueBatch& batch, const Digest* keys, std::size_t count, bool* is_new);

  // Lines of fingerprints in the order of their age (bits/aged_line.hpp): insert_into_aged_lines, and the slots of a
  // line that hold a value.
  std::size_t (*insert_aged_lines)(const AgedLineShape& shape, const AgedLineTable& table, const AgedMoment& moment,
                                   AgedBatch& batch, const Digest* keys, std::size_t from, std::size_t end,
                                   bool* is_new);
  std::uint64_t (*find_in_aged_line)(const AgedLineShape& shape, const std::uint64_t* line, std::uint64_t value);

  // Writes base + i for every data[i] that equals the byte (or one of two bytes), ascending; returns how many. `out`
  // has room for size + kFindSlack.
  std::size_t (*find_byte)(const char* data, std::size_t size, char byte, std::uint64_t base, std::uint64_t* out);
  std::size_t (*find_either)(const char* data, std::size_t size, char a, char b, std::uint64_t base,
                             std::uint64_t* out);
};

// All sets this machine can run, best first; the last is `portable`.
std::span<const Kernels* const> available_kernels();

// The set in use: the best one, unless another was forced.
const Kernels& kernels();

// For tests and benchmarks. Throws Error naming the available ones. Not to be called while filters work.
void force_kernels(std::string_view name);

}  // namespace nodup
