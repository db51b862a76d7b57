// SPDX-License-Identifier: Apache-2.0
//
// The only file compiled with -mavx512*. It must define nothing that another file could share (see kernel_loops.hpp).
#if defined(__x86_64__)

#include <immintrin.h>

#include "nodup/bits/kernel_loops.hpp"
#include "nodup/bits/kernel_sets.hpp"

namespace nodup {

namespace {

// 64 bytes, with the operators that g++ and clang give to vectors; intrinsics only where there is none.
using Words [[gnu::vector_size(64)]] = std::uint64_t;
using HalfWords [[gnu::vector_size(64)]] = std::uint32_t;

[[gnu::always_inline]] inline Words load(const void* at) {
  Words words;
  std::memcpy(&words, at, sizeof words);
  return words;
}
[[gnu::always_inline]] inline void store(Words words, void* at) { std::memcpy(at, &words, sizeof words); }

[[gnu::always_inline]] inline bool any(Words bits) {
  const auto words = reinterpret_cast<__m512i>(bits);
  return _mm512_test_epi64_mask(words, words) != 0;
}

[[gnu::always_inline]] inline bool insert_mask(std::uint64_t* line, Words mask) {
  const Words old = load(line);
  store(old | mask, line);
  return any(mask & ~old);
}
[[gnu::always_inline]] inline bool contains_mask(const std::uint64_t* line, Words mask) {
  return !any(mask & ~load(line));
}

struct Avx512Line8 {
  [[gnu::always_inline]] static Words mask(std::uint64_t word) {
    const Words places = (Words{} + word) >> Words{0, 6, 12, 18, 24, 30, 36, 42};
    return (Words{} + 1) << (places & 63);
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

struct Avx512Line16 {
  [[gnu::always_inline]] static Words mask(std::uint64_t word) {
    const auto both = reinterpret_cast<HalfWords>(Words{} + word);
    const HalfWords halves = __builtin_shufflevector(both, both, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    constexpr const auto& f = kLaneFactors;
    const HalfWords factors = {f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7],
                               f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]};
    return reinterpret_cast<Words>((HalfWords{} + 1) << (halves * factors >> 27));
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

std::size_t find_byte(const char* data, std::size_t size, char byte, std::uint64_t base, std::uint64_t* out) {
  const __m512i wanted = _mm512_set1_epi8(byte);
  return find_by_mask(data, size, base, out,
                      [&](const char* at) { return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), wanted); });
}

// XXH3-128 of eight keys at once, one in each lane. It takes about three fifths of the time of one after the other,
// although AVX-512 cannot multiply 64 bits to 128 and does it by four multiplications of 32.
//
// XXH3 sees a key of 33 to 128 bytes as words from its beginning and as many up to its end: 4 of either up to 64 bytes,
// 8 above. So keys that are alike in this differ only in where their words are. The steps have the library's names;
// tests/kernels_test.cpp compares the digests.
constexpr std::size_t kLanes = 8;

// The products of the lower halves of the words. With a mask, since g++ 12 takes the register behind the form without
// one for uninitialized; the instruction is the same.
[[gnu::always_inline]] inline Words multiply_low(Words a, Words b) {
  return reinterpret_cast<Words>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

// The two halves of the products, joined by exclusive or.
[[gnu::always_inline]] inline Words mul128_fold64(Words a, Words b) {
  const Words a_high = a >> 32, b_high = b >> 32;
  const Words low = multiply_low(a, b), high = multiply_low(a_high, b_high);
  const Words middle = multiply_low(a_high, b) + (low >> 32);
  const Words carried = multiply_low(a, b_high) + (middle & 0xFFFFFFFF);
  return (high + (middle >> 32) + (carried >> 32)) ^ (carried << 32 | (low & 0xFFFFFFFF));
}

// Half of mix32B: `sum` takes in two words multiplied and two others added.
[[gnu::always_inline]] inline Words mix(Words sum, const Words* multiplied, const Words* added,
                                        const std::uint64_t* secret) {
  return (sum + mul128_fold64(multiplied[0] ^ secret[0], multiplied[1] ^ secret[1])) ^ (added[0] + added[1]);
}

[[gnu::always_inline]] inline Words avalanche(Words h) {
  h = (h ^ h >> 37) * 0x165667919E3779F9;
  return h ^ h >> 32;
}

[[gnu::always_inline]] inline Words even_pairs(Words a, Words b) {
  return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
}
[[gnu::always_inline]] inline Words odd_pairs(Words a, Words b) {
  return __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
// From the eight words of each key to the eight keys' words of each place.
[[gnu::always_inline]] inline void transpose(Words* rows) {
  for (std::size_t i = 0; i < 8; i += 2) {
    const Words a = rows[i], b = rows[i + 1];
    rows[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    rows[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Words a = rows[i], b = rows[i + 2], c = rows[i + 4], d = rows[i + 6];
    const Words ab_even = even_pairs(a, b), ab_odd = odd_pairs(a, b);
    const Words cd_even = even_pairs(c, d), cd_odd = odd_pairs(c, d);
    rows[i] = even_pairs(ab_even, cd_even);
    rows[i + 2] = even_pairs(ab_odd, cd_odd);
    rows[i + 4] = odd_pairs(ab_even, cd_even);
    rows[i + 6] = odd_pairs(ab_odd, cd_odd);
  }
}

// Of every key the first kReach words, then the last. Key i lies between separators[i] and ends[i].
template <std::size_t kReach>
[[gnu::always_inline]] inline void load_keys(const char* bytes, const std::uint64_t* separators,
                                             const std::uint64_t* ends, Words (&words)[2 * kReach]) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const char *const begin = bytes + separators[i] + 1, *const end = bytes + ends[i];
    if constexpr (kReach == 8) {
      words[i] = load(begin);
      words[8 + i] = load(end - sizeof(Words));
    } else {
      using HalfVector [[gnu::vector_size(32)]] = std::uint64_t;
      HalfVector first, last;
      std::memcpy(&first, begin, sizeof first);
      std::memcpy(&last, end - sizeof last, sizeof last);
      words[i] = __builtin_shufflevector(first, last, 0, 1, 2, 3, 4, 5, 6, 7);
    }
  }
  for (std::size_t i = 0; i < 2 * kReach; i += 8) transpose(words + i);
}

template <std::size_t kReach>
[[gnu::always_inline]] inline void hash_eight(const Hasher& hasher, const char* bytes, const std::uint64_t* separators,
                                              const std::uint64_t* ends, Words sizes, Digest* digests) {
  constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime4 = 0x85EBCA77C2B2AE63;
  Words words[2 * kReach];
  load_keys<kReach>(bytes, separators, ends, words);

  // From the middle of the keys outwards. The words in the middle count only in keys of more than 96 bytes.
  Words low = sizes * kPrime1, high{};
  for (std::size_t step = kReach / 2; step-- > 0;) {
    const Words *const front = words + 2 * step, *const back = words + 2 * (kReach - 1 - step);
    const std::uint64_t* const secret = hasher.secret() + 4 * step;
    const Words mixed_low = mix(low, front, back, secret), mixed_high = mix(high, back, front, secret + 2);
    const Words counts = step == 3 ? reinterpret_cast<Words>(sizes > 96) : ~Words{};
    low = (mixed_low & counts) | (low & ~counts);
    high = (mixed_high & counts) | (high & ~counts);
  }
  const Words tail = (sizes - hasher.seed()) * kPrime2;
  const Words lo = avalanche(low + high), hi = -avalanche(low * kPrime1 + high * kPrime4 + tail);
  store(__builtin_shufflevector(lo, hi, 0, 8, 1, 9, 2, 10, 3, 11), digests);
  store(__builtin_shufflevector(lo, hi, 4, 12, 5, 13, 6, 14, 7, 15), digests + kLanes / 2);
}

[[gnu::always_inline]] inline bool all_within(Words sizes, std::uint64_t least, std::uint64_t most) {
  return !any(reinterpret_cast<Words>(sizes - least > most - least));
}

void hash_records(const Hasher& hasher, const char* bytes, const std::uint64_t* ends, std::size_t from, std::size_t to,
                  Upcoming& upcoming, Digest* digests) {
  std::size_t hashed = from;
  for (std::size_t i = from == 0 ? 1 : from; i + kLanes <= to; i += kLanes) {  // before record 0 is no separator
    const std::uint64_t *const separators = ends + i - 1, *const own_ends = ends + i;
    const Words sizes = load(own_ends) - load(separators) - 1;
    const bool long_ones = all_within(sizes, 65, 128);
    if (!long_ones && !all_within(sizes, 33, 64)) continue;
    if (hashed < i) hash_one_by_one(hasher, bytes, ends, hashed, i, upcoming, digests);
    upcoming.ask(kLanes);
    if (long_ones)
      hash_eight<8>(hasher, bytes, separators, own_ends, sizes, digests + i);
    else
      hash_eight<4>(hasher, bytes, separators, own_ends, sizes, digests + i);
    hashed = i + kLanes;
  }
  hash_one_by_one(hasher, bytes, ends, hashed, to, upcoming, digests);
}

}  // namespace

Kernels with_avx512(const Kernels& avx2) {
  static constexpr Kernels kLines = line_kernels<Avx512Line8, Avx512Line16>("avx512");
  Kernels k = kLines;
  k.hash_records = hash_records;
  k.insert_queues = avx2.insert_queues;
  k.insert_aged_lines = avx2.insert_aged_lines;
  k.find_in_aged_line = avx2.find_in_aged_line;
  k.find_byte = find_byte;
  k.find_either = avx2.find_either;
  return k;
}

}  // namespace nodup

#endif
