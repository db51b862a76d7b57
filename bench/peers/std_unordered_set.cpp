// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "bench/peers/peers.hpp"
#include "bench/peers/set_table.hpp"

namespace nodup::bench {

Contender std_unordered_set() {
  using Set = std::unordered_set<Digest, DigestHash>;
  // A node holds the key, its link and (for hashes that are not "fast") nothing else; the allocator adds 8 and rounds
  // to 16. Lines: the bucket, the node before, the node.
  return set_contender<Set>("std::unordered_set", 3, [](const Set& set) -> std::uint64_t {
    return set.bucket_count() * sizeof(void*) + set.size() * 48;
  });
}

}  // namespace nodup::bench
