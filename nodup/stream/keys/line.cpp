// SPDX-License-Identifier: Apache-2.0
//
// The key `line`: the record itself, byte for byte. A trailing carriage return counts, as does every blank.
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

class LineKey final : public Key {
 public:
  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    // Not cleared first: a reused batch keeps its digests, and only new places are zeroed before they are
    // written.
    batch.digests.resize(batch.size());
    const char* const bytes = batch.bytes.data();
    const std::uint64_t* const ends = batch.ends.data();
    Digest* const digests = batch.digests.data();
    const std::size_t count = batch.size();
    std::uint64_t from = batch.begin(batch.header);
    for (std::size_t i = batch.header; i < count; ++i) {
      digests[i] = hasher({bytes + from, static_cast<std::size_t>(ends[i] - from)});
      from = ends[i] + 1;
    }
  }
};

}  // namespace

std::unique_ptr<Key> make_line_key(const Wanted&, const KeyContext&) { return std::make_unique<LineKey>(); }

}  // namespace nodup
