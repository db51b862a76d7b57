// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nodup/bits/kernels.hpp"

namespace nodup {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;  // needs AVX2, BMI1 and POPCNT (Haswell, 2013, and later)
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

}  // namespace nodup
