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

std::unique_ptr<Key> key_and_time(std::unique_ptr<Key> key, std::unique_ptr<Key> time) {
  return std::make_unique<KeyAndTime>(std::move(key), std::move(time));
}

}  // namespace nodup
