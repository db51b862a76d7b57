// SPDX-License-Identifier: Apache-2.0
//
// The key `line`: the record itself, byte for byte. A trailing carriage return counts, as does every blank.
//
// Compared by text it is what a row of one column would be, so that a list of names meets the names in CSV and JSON:
// the byte order mark of an input and a carriage return before the newline are no part of it.
#include "nodup/bits/kernels.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup {
namespace {

class LineKey final : public Key {
 public:
  explicit LineKey(const KeyContext& context)
      : format_(context.format), by_text_(context.by_text), each_field_(context.each_field) {}

  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    make_places(batch, each_field_ ? 1 : 0);
    if (by_text_) {
      hash_texts(batch, hasher);
    } else {
      Upcoming upcoming = batch.upcoming;
      kernels().hash_records(hasher, batch.bytes.data(), batch.ends.data(), batch.header, batch.size(), upcoming,
                             batch.digests.data());
    }
    if (each_field_) batch.fields = batch.digests;
  }

 private:
  void hash_texts(Batch& batch, const Hasher& hasher) const {
    for (std::size_t i = batch.header; i < batch.size(); ++i)
      batch.digests[i] = hasher(without_carriage_return(batch.row(i), format_));
  }

  RecordFormat format_;
  bool by_text_, each_field_;
};

}  // namespace

std::unique_ptr<Key> make_line_key(const Wanted&, const KeyContext& context) {
  return std::make_unique<LineKey>(context);
}

std::vector<std::string> line_key_fields(std::string_view) { return {"line"}; }

}  // namespace nodup
