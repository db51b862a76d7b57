// SPDX-License-Identifier: Apache-2.0
//
// Every kernel set this machine can run gives what the portable one gives, to the bit.
#include "nodup/bits/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "nodup/error.hpp"

namespace nodup {
namespace {

struct alignas(64) AlignedLine {
  std::uint64_t words[kLineWords] = {};
};
using Table = std::vector<AlignedLine>;

std::uint64_t* words(Table& table) { return table.data()->words; }

const Kernels& portable() { return *available_kernels().back(); }

// Keys with repeats, some of them in the same batch and next to each other.
std::vector<Digest> keys_with_repeats(std::mt19937_64& random, std::size_t count) {
  std::vector<Digest> keys;
  while (keys.size() < count) {
    const std::uint64_t choice = random() % 4;
    if (choice == 0 && !keys.empty())
      keys.push_back(keys[random() % keys.size()]);
    else if (choice == 1 && !keys.empty())
      keys.push_back(keys.back());
    else
      keys.push_back({random(), random()});
  }
  return keys;
}

void insert_and_compare(const Kernels& set, unsigned per_key, unsigned wide, std::uint64_t lines, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Table expected(lines), actual(lines);
  for (const std::size_t count : {0u, 1u, 7u, 15u, 16u, 17u, 33u, 1000u}) {
    const std::vector<Digest> keys = keys_with_repeats(random, count);
    const auto want = std::make_unique<bool[]>(count + 1), got = std::make_unique<bool[]>(count + 1);
    const auto place = [&] {
      return std::string(set.name) + " lines per key " + std::to_string(per_key + 1) + " wide " + std::to_string(wide) +
             " lines " + std::to_string(lines) + " keys " + std::to_string(count);
    };
    const std::uint64_t want_new =
        portable().insert[per_key][wide](words(expected), lines, keys.data(), count, want.get());
    const std::uint64_t got_new = set.insert[per_key][wide](words(actual), lines, keys.data(), count, got.get());
    ASSERT_EQ(got_new, want_new) << place();
    ASSERT_EQ(static_cast<std::uint64_t>(std::count(want.get(), want.get() + count, true)), want_new) << place();
    ASSERT_TRUE(std::equal(got.get(), got.get() + count, want.get())) << place();
    ASSERT_EQ(std::memcmp(actual.data(), expected.data(), lines * sizeof(AlignedLine)), 0) << place();

    // Half of them known, half most likely not.
    std::vector<Digest> asked = keys;
    for (std::size_t i = 0; i < count; i += 2) asked[i] = {random(), random()};
    portable().contains[per_key][wide](words(expected), lines, asked.data(), count, want.get());
    set.contains[per_key][wide](words(actual), lines, asked.data(), count, got.get());
    ASSERT_TRUE(std::equal(got.get(), got.get() + count, want.get())) << place();
    for (std::size_t i = 1; i < count; i += 2) ASSERT_TRUE(want[i]) << "the portable set forgot a key: " << place();
  }
}

// Records of `least` to `most` bytes, with separators between them, in memory that ends with them.
void hash_and_compare(const Kernels& set, std::uint64_t seed, std::size_t least, std::size_t most,
                      std::mt19937_64& random) {
  const Hasher hasher(seed);
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 16u, 17u, 100u}) {
    std::vector<std::uint64_t> ends;
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      size += least + random() % (most - least + 1);
      ends.push_back(size++);
    }
    const std::size_t used = count == 0 ? 0 : ends.back();
    const auto bytes = std::make_unique<char[]>(used);
    for (std::size_t i = 0; i < used; ++i) bytes[i] = static_cast<char>(random());
    for (const std::size_t from : {0u, 1u, 3u}) {
      if (from > count) continue;
      const Digest untouched{1, 2};
      std::vector<Digest> digests(count + 1, untouched);
      Upcoming upcoming(bytes.get(), used, count);
      set.hash_records(hasher, bytes.get(), ends.data(), from, count, upcoming, digests.data());
      for (std::size_t i = 0; i <= count; ++i) {
        const std::uint64_t begin = i == 0 ? 0 : ends[i - 1] + 1;
        const Digest want =
            i < from || i == count ? untouched : hasher(std::string_view(bytes.get() + begin, ends[i] - begin));
        ASSERT_EQ(digests[i], want) << set.name << " seed " << seed << " record " << i << " of " << count << " from "
                                    << from << ", " << least << " to " << most << " bytes";
      }
    }
  }
}

TEST(Kernels, HashRecordsAsTheHasherDoes) {
  std::mt19937_64 random(21);
  constexpr std::pair<std::size_t, std::size_t> kSizes[] = {{0, 0},    {17, 32},  {33, 64},  {30, 66},   {65, 96},
                                                            {65, 128}, {90, 100}, {97, 128}, {120, 131}, {0, 300}};
  for (const Kernels* set : available_kernels())
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xFEDCBA9876543210}}) {
      for (const auto& [least, most] : kSizes) hash_and_compare(*set, seed, least, most, random);
      for (std::size_t size = 0; size <= 260; ++size) hash_and_compare(*set, seed, size, size, random);
    }
}

TEST(Kernels, LinesEqualPortable) {
  std::uint64_t seed = 1;
  for (const Kernels* set : available_kernels())
    for (unsigned per_key = 0; per_key < 2; ++per_key)
      for (unsigned wide = 0; wide < 2; ++wide)
        for (const std::uint64_t lines : {1, 2, 3, 17, 64, 1000})
          insert_and_compare(*set, per_key, wide, lines, ++seed);
}

// Queues of every width and length, mixed with those that are one bit narrower, or of another length. `portable` is
// compared with a queue of numbers by tests/filters/automatic_test.cpp.
TEST(Kernels, QueuesEqualPortable) {
  std::mt19937_64 random(3);
  constexpr std::uint64_t kLines = 5, kFirstLines = 2;
  for (unsigned width = 8; width <= SlotLine::kWidest; ++width) {
    for (const unsigned words : {1u, 2u, 4u, 8u}) {
      const bool wide = width > SlotLine::kWidestInFourBytes;
      const SlotLine narrower(width - 1, words, wide), shape(width, words), other(width, 8 / words);
      for (const SlotLine* first : {&narrower, &other}) {
        const std::vector<Digest> keys = keys_with_repeats(random, 1500);
        const auto run = [&](const Kernels& set, Table& table, bool* is_new) {
          QueueBatch batch{
              .table = table.data()->words, .lines = kLines, .first_lines = kFirstLines, .shapes = {first, &shape}};
          for (std::size_t at = 0; at < keys.size(); at += 500)
            set.insert_queues(batch, keys.data() + at, 500, is_new + at);
          return std::pair(batch.passed, batch.filled);
        };
        Table expected(kLines);
        const auto want = std::make_unique<bool[]>(keys.size()), got = std::make_unique<bool[]>(keys.size());
        const auto want_counts = run(portable(), expected, want.get());
        ASSERT_GT(want_counts.first[0], want_counts.second[0]) << "queues were to overflow";
        for (const Kernels* set : available_kernels()) {
          Table actual(kLines);
          const auto counts = run(*set, actual, got.get());
          ASSERT_EQ(counts, want_counts) << set->name << ' ' << width << ' ' << words;
          ASSERT_TRUE(std::equal(got.get(), got.get() + keys.size(), want.get())) << set->name << ' ' << width;
          ASSERT_EQ(std::memcmp(actual.data(), expected.data(), kLines * sizeof(AlignedLine)), 0)
              << set->name << ' ' << width << ' ' << words;
        }
      }
    }
  }
}

// One key sets as many bits as its shape says: a set that sets none or too many would still equal itself.
TEST(Kernels, AKeySetsTheBitsOfItsShape) {
  std::mt19937_64 random(3);
  for (const Kernels* set : available_kernels())
    for (unsigned per_key = 0; per_key < 2; ++per_key)
      for (unsigned wide = 0; wide < 2; ++wide)
        for (int round = 0; round < 50; ++round) {
          constexpr std::uint64_t kLines = 4096;
          Table table(kLines);
          const Digest key{random(), random()};
          bool is_new = false;
          ASSERT_EQ(set->insert[per_key][wide](words(table), kLines, &key, 1, &is_new), 1u);
          std::uint64_t bits = 0, lines = 0;
          for (const AlignedLine& line : table) {
            std::uint64_t here = 0;
            for (const std::uint64_t word : line.words) here += static_cast<std::uint64_t>(std::popcount(word));
            bits += here;
            lines += here > 0;
          }
          const std::uint64_t bits_per_line = wide ? 16 : 8;
          // Both lines may be the same one, rarely.
          ASSERT_LE(lines, per_key + 1);
          if (lines == per_key + 1) {
            ASSERT_EQ(bits, lines * bits_per_line) << set->name;
          }
        }
}

std::vector<std::uint64_t> naive_find(const char* data, std::size_t size, char a, char b, std::uint64_t base) {
  std::vector<std::uint64_t> found;
  for (std::size_t i = 0; i < size; ++i)
    if (data[i] == a || data[i] == b) found.push_back(base + i);
  return found;
}

TEST(Kernels, FindEqualsALoop) {
  constexpr std::size_t kMost = 300, kAlignments = 64;
  std::mt19937_64 random(9);
  alignas(64) char buffer[kAlignments + kMost + 64];
  std::vector<std::uint64_t> out(kMost + kFindSlack + 1);
  constexpr std::uint64_t kUntouched = 0x5ca1ab1e;
  const char bytes[] = {'\n', '\0', '"', '\xff', '\x80'};
  for (std::size_t size = 0; size <= kMost; ++size) {
    const std::size_t shift = random() % kAlignments;
    for (const std::uint64_t percent : {0u, 1u, 10u, 50u, 90u, 100u}) {
      const char a = bytes[random() % std::size(bytes)];
      const char b = bytes[random() % std::size(bytes)];
      // What stands outside matches everywhere: it must not be found.
      std::fill(std::begin(buffer), std::end(buffer), a);
      char* const data = buffer + shift;
      for (std::size_t i = 0; i < size; ++i)
        data[i] = random() % 100 < percent ? (random() % 2 ? a : b) : static_cast<char>(random());
      const std::uint64_t base = random() % 2 ? random() >> 1 : 0;
      for (const Kernels* set : available_kernels()) {
        for (const bool either : {false, true}) {
          out.assign(out.size(), kUntouched);
          const std::size_t count = either ? set->find_either(data, size, a, b, base, out.data())
                                           : set->find_byte(data, size, a, base, out.data());
          const std::vector<std::uint64_t> expected = naive_find(data, size, a, either ? b : a, base);
          ASSERT_EQ(std::vector<std::uint64_t>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)), expected)
              << set->name << " size " << size << " shift " << shift << " percent " << percent;
          ASSERT_EQ(out[size + kFindSlack], kUntouched) << set->name << " writes past its room, size " << size;
        }
      }
    }
  }
}

TEST(Kernels, FindAtEveryAlignment) {
  std::mt19937_64 random(10);
  alignas(64) char buffer[64 + 200];
  std::vector<std::uint64_t> out(200 + kFindSlack);
  for (std::size_t shift = 0; shift < 64; ++shift)
    for (const std::size_t size : {1u, 31u, 32u, 33u, 63u, 64u, 65u, 127u, 128u, 129u, 200u}) {
      for (char& c : buffer) c = random() % 5 == 0 ? '\n' : random() % 5 == 0 ? '"' : 'x';
      for (const Kernels* set : available_kernels()) {
        std::size_t count = set->find_either(buffer + shift, size, '\n', '"', shift, out.data());
        ASSERT_EQ(std::vector<std::uint64_t>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)),
                  naive_find(buffer + shift, size, '\n', '"', shift));
        count = set->find_byte(buffer + shift, size, '\n', shift, out.data());
        ASSERT_EQ(std::vector<std::uint64_t>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)),
                  naive_find(buffer + shift, size, '\n', '\n', shift));
      }
    }
}

// Restores the choice, whatever happens in between.
struct ForcedKernels {
  explicit ForcedKernels(std::string_view name) : before(kernels().name) { force_kernels(name); }
  ~ForcedKernels() { force_kernels(before); }
  std::string_view before;
};

TEST(Kernels, CanBeForcedByName) {
  for (const Kernels* set : available_kernels()) {
    const ForcedKernels forced(set->name);
    EXPECT_EQ(kernels().name, set->name);
  }
  EXPECT_EQ(portable().name, "portable");
  try {
    force_kernels("abacus");
    FAIL() << "an unknown set was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nodup
