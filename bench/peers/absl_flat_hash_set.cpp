// SPDX-License-Identifier: Apache-2.0
#include <absl/container/flat_hash_set.h>

#include "bench/peers/peers.hpp"
#include "bench/peers/set_table.hpp"

namespace nodup::bench {

Contender absl_flat_hash_set() {
  using Set = absl::flat_hash_set<Digest, DigestHash>;
  // A control byte beside every slot. Lines: the control bytes, the slot.
  return set_contender<Set>("absl::flat_hash_set", 2,
                            [](const Set& set) -> std::uint64_t { return set.capacity() * (sizeof(Digest) + 1); });
}

}  // namespace nodup::bench
