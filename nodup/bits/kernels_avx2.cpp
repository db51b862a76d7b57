// SPDX-License-Identifier: Apache-2.0
//
// The only file compiled with -mavx2. It must define nothing that another file could share (see kernel_loops.hpp).
#if defined(__x86_64__)

#include <immintrin.h>

#include "nodup/bits/kernel_loops.hpp"
#include "nodup/bits/kernel_sets.hpp"

namespace nodup {

namespace {

// The two halves of a line's mask.
struct Mask {
  __m256i low, high;
};

[[gnu::always_inline]] inline bool insert_mask(std::uint64_t* line, Mask mask) {
  auto* at = reinterpret_cast<__m256i*>(line);
  const __m256i low = _mm256_load_si256(at), high = _mm256_load_si256(at + 1);
  const int seen = _mm256_testc_si256(low, mask.low) & _mm256_testc_si256(high, mask.high);
  _mm256_store_si256(at, _mm256_or_si256(low, mask.low));
  _mm256_store_si256(at + 1, _mm256_or_si256(high, mask.high));
  return seen == 0;
}

[[gnu::always_inline]] inline bool contains_mask(const std::uint64_t* line, Mask mask) {
  const auto* at = reinterpret_cast<const __m256i*>(line);
  return (_mm256_testc_si256(_mm256_load_si256(at), mask.low) &
          _mm256_testc_si256(_mm256_load_si256(at + 1), mask.high)) != 0;
}

struct Avx2Line8 {
  [[gnu::always_inline]] static Mask mask(std::uint64_t word) {
    const __m256i w = _mm256_set1_epi64x(static_cast<long long>(word));
    const __m256i places = _mm256_set1_epi64x(63), one = _mm256_set1_epi64x(1);
    const __m256i low = _mm256_and_si256(_mm256_srlv_epi64(w, _mm256_setr_epi64x(0, 6, 12, 18)), places);
    const __m256i high = _mm256_and_si256(_mm256_srlv_epi64(w, _mm256_setr_epi64x(24, 30, 36, 42)), places);
    return {_mm256_sllv_epi64(one, low), _mm256_sllv_epi64(one, high)};
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

struct Avx2Line16 {
  [[gnu::always_inline]] static __m256i half_mask(std::uint64_t half) {
    const __m256i factors = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneFactors));
    const __m256i h = _mm256_set1_epi32(static_cast<int>(half));
    const __m256i places = _mm256_srli_epi32(_mm256_mullo_epi32(h, factors), 27);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), places);
  }
  [[gnu::always_inline]] static Mask mask(std::uint64_t word) { return {half_mask(word), half_mask(word >> 32)}; }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

[[gnu::always_inline]] inline std::uint64_t to_bits(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

std::size_t find_byte(const char* data, std::size_t size, char byte, std::uint64_t base, std::uint64_t* out) {
  const __m256i wanted = _mm256_set1_epi8(byte);
  return find_by_mask(data, size, base, out, [&](const char* at) {
    const auto* p = reinterpret_cast<const __m256i*>(at);
    return to_bits(_mm256_cmpeq_epi8(_mm256_loadu_si256(p), wanted),
                   _mm256_cmpeq_epi8(_mm256_loadu_si256(p + 1), wanted));
  });
}

std::size_t find_either(const char* data, std::size_t size, char a, char b, std::uint64_t base, std::uint64_t* out) {
  const __m256i first = _mm256_set1_epi8(a), second = _mm256_set1_epi8(b);
  const auto match = [&](const __m256i* p) {
    const __m256i bytes = _mm256_loadu_si256(p);
    return _mm256_or_si256(_mm256_cmpeq_epi8(bytes, first), _mm256_cmpeq_epi8(bytes, second));
  };
  return find_by_mask(data, size, base, out, [&](const char* at) {
    const auto* p = reinterpret_cast<const __m256i*>(at);
    return to_bits(match(p), match(p + 1));
  });
}

constexpr Kernels make() {
  Kernels k = line_kernels<Avx2Line8, Avx2Line16>("avx2");
  k.find_byte = find_byte;
  k.find_either = find_either;
  return k;
}

}  // namespace

constinit const Kernels kAvx2Kernels = make();

}  // namespace nodup

#endif
