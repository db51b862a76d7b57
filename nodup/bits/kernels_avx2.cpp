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

template <unsigned kWords, bool kWide, unsigned kWindows>
struct Avx2Slots {
  explicit Avx2Slots(unsigned count) : windows(count) {}

  [[gnu::always_inline]] static constexpr unsigned words(const SlotLine&) { return kWords; }

  [[gnu::always_inline]] bool holds(const SlotLine& shape, const std::uint64_t* queue, std::uint64_t value) const {
    const auto* bytes = reinterpret_cast<const char*>(queue);
    const auto sixteen = [&](std::uint64_t at) __attribute__((always_inline)) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
    };
    const auto everywhere = [](std::uint64_t number) __attribute__((always_inline)) {
      return kWide ? _mm256_set1_epi64x(static_cast<long long>(number)) : _mm256_set1_epi32(static_cast<int>(number));
    };
    const __m256i wanted = everywhere(value), mask = everywhere(shape.max_value());
    const SlotLine::Window* const all = shape.windows();
    __m256i found = _mm256_setzero_si256();
    for (unsigned i = 0; i < (kWindows == 0 ? windows : kWindows); ++i) {
      const __m256i both =
          _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(all[i].offsets[0])), sixteen(all[i].offsets[1]), 1);
      const __m256i lanes = _mm256_shuffle_epi8(both, *reinterpret_cast<const __m256i*>(all[i].bytes.data()));
      const __m256i shifts = *reinterpret_cast<const __m256i*>(all[i].shifts.data());
      const __m256i slots =
          _mm256_and_si256(kWide ? _mm256_srlv_epi64(lanes, shifts) : _mm256_srlv_epi32(lanes, shifts), mask);
      found = _mm256_or_si256(found, kWide ? _mm256_cmpeq_epi64(slots, wanted) : _mm256_cmpeq_epi32(slots, wanted));
    }
    return _mm256_testz_si256(found, found) == 0;
  }

  // What leaves a word goes to the next; what leaves the highest of four words goes to the lowest.
  [[gnu::always_inline]] static __m256i to_next(__m256i leaves) {
    return _mm256_permute4x64_epi64(leaves, _MM_SHUFFLE(2, 1, 0, 3));
  }
  [[gnu::always_inline]] void push_if(const SlotLine& shape, bool really, std::uint64_t* queue,
                                      std::uint64_t value) const {
    if constexpr (kWords == 2) return shape.push_in<2>(really, queue, value);
    const std::uint64_t if_really = std::uint64_t{0} - really, width = shape.width() & if_really;
    const __m128i shift = _mm_cvtsi64_si128(static_cast<long long>(width));
    const __m128i rest = _mm_cvtsi64_si128(static_cast<long long>(64 - width));  // 64 shifts everything out
    auto* const at = reinterpret_cast<__m256i*>(queue);
    const auto* const used = reinterpret_cast<const __m256i*>(shape.used());
    __m256i entering = _mm256_castsi128_si256(_mm_cvtsi64_si128(static_cast<long long>(value & if_really)));
    for (unsigned i = 0; i < kWords / 4; ++i) {
      const __m256i words = _mm256_load_si256(at + i), carried = to_next(_mm256_srl_epi64(words, rest));
      const __m256i moved =
          _mm256_or_si256(_mm256_sll_epi64(words, shift), _mm256_blend_epi32(carried, entering, 0x03));
      _mm256_store_si256(at + i, _mm256_and_si256(moved, _mm256_loadu_si256(used + i)));
      entering = carried;
    }
  }

  unsigned windows;
};

// Eight slots of a line at a time: from which 16 bytes they come into lanes of four bytes. They begin with a byte, so
// all windows have their slots at the same bits of the lanes.
template <unsigned kWidth>
struct FixedWindows {
  static constexpr unsigned kSlots = AgedLineShape::kSlotBits / kWidth;
  static constexpr unsigned kCount = (std::min(kSlots, LineAges::kBits) + 7) / 8;
  // Eight slots lie within 16 bytes wherever they begin.
  static constexpr bool kOneLoad = kWidth <= 14 || kWidth == 16;
  struct Window {
    alignas(32) std::uint8_t bytes[32];
    unsigned offsets[2];
  };
  static constexpr std::array<Window, kCount> make() {
    std::array<Window, kCount> all{};
    for (unsigned i = 0; i < 8 * kCount; ++i) {
      Window& window = all[i / 8];
      const unsigned lane = i % 8, bit = i * kWidth, half = kOneLoad ? 0 : lane / 4;
      // Never past the end.
      if (lane == 4 * half) window.offsets[half] = std::min(bit / 8, AgedLayout::kBytes - 16);
      const unsigned begin = bit / 8 - window.offsets[half];
      for (unsigned byte = 0; byte < 4; ++byte)
        window.bytes[4 * lane + byte] = static_cast<std::uint8_t>(begin + byte < 16 ? begin + byte : 0x80);
    }
    return all;
  }
  static constexpr std::array<Window, kCount> kWindows = make();

  // The number at the bits of the slots.
  [[gnu::always_inline]] static __m256i in_lanes(std::uint64_t number) {
    const __m256i shifts = _mm256_setr_epi32(0, kWidth % 8, 2 * kWidth % 8, 3 * kWidth % 8, 4 * kWidth % 8,
                                             5 * kWidth % 8, 6 * kWidth % 8, 7 * kWidth % 8);
    return _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(number)), shifts);
  }
};

template <unsigned kWidth>
struct Avx2AgedSlots {
  explicit Avx2AgedSlots(const AgedLineShape&) {}

  [[gnu::always_inline]] std::uint64_t find(const AgedLayout& layout, const std::uint64_t* line,
                                            std::uint64_t value) const {
    using Fixed = FixedWindows<kWidth>;
    const auto* bytes = reinterpret_cast<const char*>(line + kSlotsWord);
    const __m256i wanted = Fixed::in_lanes(value), mask = Fixed::in_lanes((1u << kWidth) - 1);
    std::uint64_t found = 0;
    for (unsigned i = 0; i < Fixed::kCount; ++i) {
      const auto& window = Fixed::kWindows[i];
      const auto* const low = reinterpret_cast<const __m128i*>(bytes + window.offsets[0]);
      const auto* const high = reinterpret_cast<const __m128i*>(bytes + window.offsets[1]);
      const __m256i both = Fixed::kOneLoad ? _mm256_broadcastsi128_si256(_mm_loadu_si128(low))
                                           : _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                                                     _mm_loadu_si128(high), 1);
      const __m256i lanes = _mm256_shuffle_epi8(both, *reinterpret_cast<const __m256i*>(window.bytes));
      const __m256i equal = _mm256_cmpeq_epi32(_mm256_and_si256(lanes, mask), wanted);
      const auto slots = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
      found |= std::uint64_t{slots} << (8 * i);
    }
    return found & LineAges::below(layout.slots);
  }
};

template <>
struct Avx2AgedSlots<0> {
  explicit Avx2AgedSlots(const AgedLineShape& shape)
      : windows(shape.windows()), count(shape.window_count()), wide(shape.wide_lanes()) {}

  [[gnu::always_inline]] std::uint64_t find(const AgedLayout& layout, const std::uint64_t* line,
                                            std::uint64_t value) const {
    const auto* bytes = reinterpret_cast<const char*>(line + kSlotsWord);
    const auto everywhere = [&](std::uint64_t number) __attribute__((always_inline)) {
      return wide ? _mm256_set1_epi64x(static_cast<long long>(number)) : _mm256_set1_epi32(static_cast<int>(number));
    };
    const auto sixteen = [&](std::uint64_t at) __attribute__((always_inline)) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
    };
    const __m256i wanted = everywhere(value), mask = everywhere(layout.max_value);
    std::uint64_t found = 0;
    for (unsigned i = 0; i < count; ++i) {
      const SlotLine::Window& window = windows[i];
      const __m256i both =
          _mm256_inserti128_si256(_mm256_castsi128_si256(sixteen(window.offsets[0])), sixteen(window.offsets[1]), 1);
      const __m256i lanes = _mm256_shuffle_epi8(both, *reinterpret_cast<const __m256i*>(window.bytes.data()));
      const __m256i shifts = *reinterpret_cast<const __m256i*>(window.shifts.data());
      const __m256i here =
          _mm256_and_si256(wide ? _mm256_srlv_epi64(lanes, shifts) : _mm256_srlv_epi32(lanes, shifts), mask);
      const int equal = wide ? _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(here, wanted)))
                             : _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(here, wanted)));
      found |= static_cast<std::uint64_t>(static_cast<unsigned>(equal)) << ((wide ? 4 : 8) * i);
    }
    return found & LineAges::below(layout.slots);
  }

  const SlotLine::Window* windows;
  unsigned count;
  bool wide;
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
  k.insert_queues = insert_queues<Avx2Slots>;
  k.insert_aged_lines = insert_aged_lines<Avx2AgedSlots>;
  k.find_in_aged_line = find_in_aged_line<Avx2AgedSlots>;
  k.find_byte = find_byte;
  k.find_either = find_either;
  return k;
}

}  // namespace

constinit const Kernels kAvx2Kernels = make();

}  // namespace nodup

#endif
