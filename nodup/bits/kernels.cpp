// SPDX-License-Identifier: Apache-2.0
#include "nodup/bits/kernels.hpp"

#include <atomic>
#include <string>
#include <vector>

#include "nodup/bits/kernel_sets.hpp"
#include "nodup/error.hpp"

namespace nodup {

namespace {

// THE list of kernel sets, best first.
std::vector<const Kernels*> detect() {
  std::vector<const Kernels*> sets;
#if defined(__x86_64__)
  // LZCNT cannot be asked for everywhere; whatever has BMI2 has it.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("popcnt")) {
    // VBMI2 is not used, but tells Ice Lake, Zen 4 and later ones from processors that AVX-512 slowed down.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vbmi2")) {
      static const Kernels avx512 = with_avx512(kAvx2Kernels);
      sets.push_back(&avx512);
    }
    sets.push_back(&kAvx2Kernels);
  }
#elif defined(__aarch64__)
  sets.push_back(&kNeonKernels);  // part of every aarch64 processor
#endif
  sets.push_back(&kPortableKernels);
  return sets;
}

std::atomic<const Kernels*> forced = nullptr;

}  // namespace

std::span<const Kernels* const> available_kernels() {
  static const std::vector<const Kernels*> sets = detect();
  return sets;
}

const Kernels& kernels() {
  const Kernels* set = forced.load(std::memory_order_relaxed);
  return set != nullptr ? *set : *available_kernels().front();
}

void force_kernels(std::string_view name) {
  std::string known;
  for (const Kernels* set : available_kernels()) {
    if (set->name == name) {
      forced = set;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(set->name);
  }
  throw Error("no kernels called " + std::string(name) + " on this machine; there are: " + known);
}

}  // namespace nodup
