// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nodup/hash/digest.hpp"

// Inlined, because a call per record costs as much as hashing a short one.
#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace nodup {

// Bytes -> Digest by XXH3-128 under a seed. Equal seeds give equal digests on every machine and in every
// version: saved filters depend on it (tests/hash_test.cpp holds known answers).
//
// XXH3 is not keyed against an attacker who can see answers; it only keeps one saved filter's collisions
// from being another's.
class Hasher {
 public:
  explicit Hasher(std::uint64_t seed) : seed_(seed) { XXH3_generateSecret_fromSeed(secret_, seed); }

  [[gnu::always_inline]] std::uint64_t seed() const { return seed_; }
  // What XXH3 mixes keys of 17 to 128 bytes with, the seed included.
  [[gnu::always_inline]] const std::uint64_t* secret() const { return secret_; }

  Digest operator()(std::string_view bytes) const noexcept {
    // Without a seed XXH3 adds nothing to its secret, and the expanded secret is its own: the same digests as those of
    // XXH3_128bits, a fifteenth faster, since the secret is read where it is used instead of being spelled out in the
    // code. With a seed, XXH3_128bits_withSeed would expand the secret anew for every key above 240 bytes.
    const XXH128_hash_t h =
        seed_ == 0 ? XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret_, sizeof secret_)
                   : XXH3_128bits_withSecretandSeed(bytes.data(), bytes.size(), secret_, sizeof secret_, seed_);
    return {h.low64, h.high64};
  }

 private:
  std::uint64_t seed_;
  // No std::array: kernels read it, and functions of a template could be shared with code for other processors.
  alignas(64) std::uint64_t secret_[XXH_SECRET_DEFAULT_SIZE / sizeof(std::uint64_t)];
};

}  // namespace nodup
