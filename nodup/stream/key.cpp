// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/key.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace nodup {
namespace {

class KeyAndTime final : public Key {
 public:
  KeyAndTime(std::unique_ptr<Key> key, std::unique_ptr<Key> time) : key_(std::move(key)), time_(std::move(time)) {}

  void extract(Batch& batch, const Hasher& hasher) override {
    key_->extract(batch, hasher);
    std::swap(batch.bad, without_key_);
    time_->extract(batch, hasher);
    if (without_key_.empty()) return;
    std::swap(batch.bad, without_time_);
    batch.bad.clear();
    // Of records in both lists it takes those of the first.
    std::set_union(std::move_iterator(without_key_.begin()), std::move_iterator(without_key_.end()),
                   std::move_iterator(without_time_.begin()), std::move_iterator(without_time_.end()),
                   std::back_inserter(batch.bad),
                   [](const BadRecord& a, const BadRecord& b) { return a.index < b.index; });
  }

 private:
  std::unique_ptr<Key> key_, time_;
  std::vector<BadRecord> without_key_, without_time_;
};

}  // namespace

void KeyFrame::hash_fields(const Hasher& hasher, Digest* digests) const {
  for (std::size_t at = 0; at < used_; ++digests) {
    std::uint64_t length;
    std::memcpy(&length, buffer_.data() + at + 1, sizeof length);
    const std::string_view field(buffer_.data() + at, kHead + length);
    *digests = hasher(by_text_ ? field.substr(kHead) : field);
    at += field.size();
  }
}

void make_places(Batch& batch, std::size_t fields) {
  batch.digests.resize(batch.size());
  batch.fields_per_record = fields;
  if (fields > 0) batch.fields.resize(batch.size() * fields);
}

std::unique_ptr<Key> key_and_time(std::unique_ptr<Key> key, std::unique_ptr<Key> time) {
  return std::make_unique<KeyAndTime>(std::move(key), std::move(time));
}

}  // namespace nodup
