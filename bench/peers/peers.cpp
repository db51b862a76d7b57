// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peers.hpp"

namespace nodup::bench {

// THE list of peers. Debian packages no fast Bloom filter for C++, so these are exact sets.
std::vector<Contender> peers() {
  return {
#if defined(NODUP_BENCH_ABSL)
    absl_flat_hash_set(),
#endif
        std_unordered_set(),
  };
}

}  // namespace nodup::bench
