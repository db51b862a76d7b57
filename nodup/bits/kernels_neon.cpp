// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)

#include <arm_neon.h>

#include "nodup/bits/kernel_loops.hpp"
#include "nodup/bits/kernel_sets.hpp"

namespace nodup {

namespace {

// The four quarters of a line's mask.
struct Mask {
  uint64x2_t part[4];
};

[[gnu::always_inline]] inline bool any(uint64x2_t bits) { return vmaxvq_u32(vreinterpretq_u32_u64(bits)) != 0; }

[[gnu::always_inline]] inline bool insert_mask(std::uint64_t* line, const Mask& mask) {
  uint64x2_t missing = vdupq_n_u64(0);
  for (int i = 0; i < 4; ++i) {
    const uint64x2_t old = vld1q_u64(line + 2 * i);
    missing = vorrq_u64(missing, vbicq_u64(mask.part[i], old));
    vst1q_u64(line + 2 * i, vorrq_u64(old, mask.part[i]));
  }
  return any(missing);
}

[[gnu::always_inline]] inline bool contains_mask(const std::uint64_t* line, const Mask& mask) {
  uint64x2_t missing = vdupq_n_u64(0);
  for (int i = 0; i < 4; ++i) missing = vorrq_u64(missing, vbicq_u64(mask.part[i], vld1q_u64(line + 2 * i)));
  return !any(missing);
}

struct NeonLine8 {
  [[gnu::always_inline]] static Mask mask(std::uint64_t word) {
    // A negative left shift is a right shift.
    static constexpr std::int64_t kShifts[8] = {0, -6, -12, -18, -24, -30, -36, -42};
    const uint64x2_t w = vdupq_n_u64(word), one = vdupq_n_u64(1), places = vdupq_n_u64(63);
    Mask m;
    for (int i = 0; i < 4; ++i) {
      const uint64x2_t place = vandq_u64(vshlq_u64(w, vld1q_s64(kShifts + 2 * i)), places);
      m.part[i] = vshlq_u64(one, vreinterpretq_s64_u64(place));
    }
    return m;
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

struct NeonLine16 {
  [[gnu::always_inline]] static Mask mask(std::uint64_t word) {
    Mask m;
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t half = vdupq_n_u32(static_cast<std::uint32_t>(i < 2 ? word : word >> 32));
      const uint32x4_t place = vshrq_n_u32(vmulq_u32(half, vld1q_u32(kLaneFactors + 4 * (i % 2))), 27);
      m.part[i] = vreinterpretq_u64_u32(vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(place)));
    }
    return m;
  }
  [[gnu::always_inline]] static bool insert(std::uint64_t* line, std::uint64_t word) {
    return insert_mask(line, mask(word));
  }
  [[gnu::always_inline]] static bool contains(const std::uint64_t* line, std::uint64_t word) {
    return contains_mask(line, mask(word));
  }
};

template <unsigned kWords, bool kWide, unsigned kWindows>
struct NeonSlots {
  explicit NeonSlots(unsigned count) : windows(count) {}

  [[gnu::always_inline]] static constexpr unsigned words(const SlotLine&) { return kWords; }

  [[gnu::always_inline]] bool holds(const SlotLine& shape, const std::uint64_t* queue, std::uint64_t value) const {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(queue);
    uint64x2_t found = vdupq_n_u64(0);
    for (unsigned i = 0; i < 2 * (kWindows == 0 ? windows : kWindows); ++i) {
      const SlotLine::Window& window = shape.windows()[i / 2];
      const unsigned half = i % 2;
      const uint8x16_t lanes =
          vqtbl1q_u8(vld1q_u8(bytes + window.offsets[half]), vld1q_u8(window.bytes.data() + 16 * half));
      // A negative left shift is a right shift.
      if constexpr (kWide) {
        const int64x2_t shifts = vnegq_s64(vreinterpretq_s64_u64(vld1q_u64(window.wide_shifts.data() + 2 * half)));
        const uint64x2_t slots =
            vandq_u64(vshlq_u64(vreinterpretq_u64_u8(lanes), shifts), vdupq_n_u64(shape.max_value()));
        found = vorrq_u64(found, vceqq_u64(slots, vdupq_n_u64(value)));
      } else {
        const int32x4_t shifts = vnegq_s32(vreinterpretq_s32_u32(vld1q_u32(window.shifts.data() + 4 * half)));
        const uint32x4_t slots = vandq_u32(vshlq_u32(vreinterpretq_u32_u8(lanes), shifts),
                                           vdupq_n_u32(static_cast<std::uint32_t>(shape.max_value())));
        found =
            vorrq_u64(found, vreinterpretq_u64_u32(vceqq_u32(slots, vdupq_n_u32(static_cast<std::uint32_t>(value)))));
      }
    }
    return any(found);
  }
  [[gnu::always_inline]] void push_if(const SlotLine& shape, bool really, std::uint64_t* queue,
                                      std::uint64_t value) const {
    shape.push_in<kWords>(really, queue, value);
  }

  unsigned windows;
};

template <unsigned kWidth>
struct NeonAgedSlots {
  explicit NeonAgedSlots(const AgedLineShape& shape)
      : windows(shape.windows()), halves(2 * shape.window_count()), wide(kWidth == 0 && shape.wide_lanes()) {}

  [[gnu::always_inline]] std::uint64_t find(const AgedLayout& layout, const std::uint64_t* line,
                                            std::uint64_t value) const {
    static constexpr std::uint32_t kBit[4] = {1, 2, 4, 8};
    static constexpr std::uint64_t kWideBit[2] = {1, 2};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(line + kSlotsWord);
    std::uint64_t found = 0;
    for (unsigned i = 0; i < halves; ++i) {
      const SlotLine::Window& window = windows[i / 2];
      const unsigned half = i % 2;
      const uint8x16_t lanes =
          vqtbl1q_u8(vld1q_u8(bytes + window.offsets[half]), vld1q_u8(window.bytes.data() + 16 * half));
      // A negative left shift is a right shift.
      if (wide) {
        const int64x2_t shifts = vnegq_s64(vreinterpretq_s64_u64(vld1q_u64(window.wide_shifts.data() + 2 * half)));
        const uint64x2_t here =
            vandq_u64(vshlq_u64(vreinterpretq_u64_u8(lanes), shifts), vdupq_n_u64(layout.max_value));
        found |= vaddvq_u64(vandq_u64(vceqq_u64(here, vdupq_n_u64(value)), vld1q_u64(kWideBit))) << (2 * i);
      } else {
        const int32x4_t shifts = vnegq_s32(vreinterpretq_s32_u32(vld1q_u32(window.shifts.data() + 4 * half)));
        const uint32x4_t here = vandq_u32(vshlq_u32(vreinterpretq_u32_u8(lanes), shifts),
                                          vdupq_n_u32(static_cast<std::uint32_t>(layout.max_value)));
        const uint32x4_t equal = vceqq_u32(here, vdupq_n_u32(static_cast<std::uint32_t>(value)));
        found |= static_cast<std::uint64_t>(vaddvq_u32(vandq_u32(equal, vld1q_u32(kBit)))) << (4 * i);
      }
    }
    return found & LineAges::below(layout.slots);
  }

  const SlotLine::Window* windows;
  unsigned halves;
  bool wide;
};

// Four vectors of 0x00/0xFF bytes to 64 bits: keep one bit of each byte, then add neighbours three times.
[[gnu::always_inline]] inline std::uint64_t to_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  static constexpr std::uint8_t kBit[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bit = vld1q_u8(kBit);
  const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
  const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
  uint8x16_t sum = vpaddq_u8(ab, cd);
  sum = vpaddq_u8(sum, sum);
  return vgetq_lane_u64(vreinterpretq_u64_u8(sum), 0);
}

[[gnu::always_inline]] inline uint8x16_t load(const char* at) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(at));
}

std::size_t find_byte(const char* data, std::size_t size, char byte, std::uint64_t base, std::uint64_t* out) {
  const uint8x16_t wanted = vdupq_n_u8(static_cast<std::uint8_t>(byte));
  return find_by_mask(data, size, base, out, [&](const char* at) {
    return to_bits(vceqq_u8(load(at), wanted), vceqq_u8(load(at + 16), wanted), vceqq_u8(load(at + 32), wanted),
                   vceqq_u8(load(at + 48), wanted));
  });
}

std::size_t find_either(const char* data, std::size_t size, char a, char b, std::uint64_t base, std::uint64_t* out) {
  const uint8x16_t first = vdupq_n_u8(static_cast<std::uint8_t>(a));
  const uint8x16_t second = vdupq_n_u8(static_cast<std::uint8_t>(b));
  const auto match = [&](const char* at) {
    const uint8x16_t bytes = load(at);
    return vorrq_u8(vceqq_u8(bytes, first), vceqq_u8(bytes, second));
  };
  return find_by_mask(data, size, base, out, [&](const char* at) {
    return to_bits(match(at), match(at + 16), match(at + 32), match(at + 48));
  });
}

constexpr Kernels make() {
  Kernels k = line_kernels<NeonLine8, NeonLine16>("neon");
  k.insert_queues = insert_queues<NeonSlots>;
  k.insert_aged_lines = insert_aged_lines<NeonAgedSlots>;
  k.find_in_aged_line = find_in_aged_line<NeonAgedSlots>;
  k.find_byte = find_byte;
  k.find_either = find_either;
  return k;
}

}  // namespace

constinit const Kernels kNeonKernels = make();

}  // namespace nodup

#endif
