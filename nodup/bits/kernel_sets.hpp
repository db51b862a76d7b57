// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nodup/bits/kernels.hpp"

namespace nodup {

extern const Kernels kPortableKernels;

// Kernels::hash_records for any records, one after the other.
void hash_one_by_one(const Hasher& hasher, const char* bytes, const std::uint64_t* ends, std::size_t from,
                     std::size_t to, Upcoming& upcoming, Digest* digests);

#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;  // needs AVX2, BMI, LZCNT and POPCNT (Haswell, 2013, and later)

// The AVX2 set with what AVX-512 does better. Only for processors that have all of that and AVX-512 F, BW
// and DQ.
Kernels with_avx512(const Kernels& avx2);
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

}  // namespace nodup
