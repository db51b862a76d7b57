// SPDX-License-Identifier: Apache-2.0
//
// The key `line`: the record itself, byte for byte. A trailing carriage return counts, as does every blank.
//
// Compared by text it is what a row of one column would be, so that a list of names meets the names in CSV and JSON:
// the byte order mark of an input and a carriage return before the newline are no part of it.
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
      hash_records(batch, hasher);
    }
    if (each_field_) batch.fields = batch.digests;
  }

 private:
  [[gnu::flatten]] static void hash_records(Batch& batch, const Hasher& hasher) {
    const char* const bytes = batch.bytes.data();
    const std::uint64_t* const ends = batch.ends.data();
    Digest* const digests = batch.digests.data();
    const std::size_t count = batch.size();
    Upcoming upcoming = batch.upcoming;
    std::uint64_t from = batch.begin(batch.header);
    for (std::size_t i = batch.header; i < count; ++i) {
      upcoming.ask();
      digests[i] = hasher({bytes + from, static_cast<std::size_t>(ends[i] - from)});
      from = ends[i] + 1;
    }
  }
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
