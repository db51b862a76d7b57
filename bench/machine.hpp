// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks share: keys, and the name of the machine.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "nodup/hash/digest.hpp"

namespace nodup::bench {

// Unlike keys are unlike numbers: splitmix64, twice.
inline Digest digest_of(std::uint64_t number) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  };
  const std::uint64_t lo = mix(number * 0x9E3779B97F4A7C15u + 1);
  return {lo, mix(lo + number)};
}

// What `lscpu` calls the processor, on all architectures.
inline std::string machine() {
  std::string text;
  if (FILE* out = ::popen("LC_ALL=C lscpu 2>/dev/null", "r")) {
    char part[256];
    while (std::fgets(part, sizeof part, out) != nullptr) text += part;
    ::pclose(out);
  }
  const auto at = text.find("Model name:");
  if (at == std::string::npos) return "unknown processor";
  const auto begin = text.find_first_not_of(' ', at + 11);
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace nodup::bench
