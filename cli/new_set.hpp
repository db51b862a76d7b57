// SPDX-License-Identifier: Apache-2.0
//
// A set in the making. How large it must be is known only when all keys have been seen: so the digests of the first
// keys are gathered, and the set is made when they end, no larger than it must be. Whoever tells the number saves that;
// and when there are too many to gather, the set is made from a guess, and grows.
//
// A set that is built counts every key once. Where keys can be removed again that must be exact: a key that is left out
// because it looks like others would vanish with them. So there all keys are gathered, whatever their number, and
// those that came before are known by their digests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/key_set.hpp"
#include "nodup/stream/reader.hpp"

namespace nodup::cli {

class NewSet {
 public:
  struct Options {
    std::string key;
    std::string filter;       // its kind, unless
    bool attributes = false;  // it is a set of rows, with a filter for each field of the key
    double error = 0;
    std::optional<std::uint64_t> events;  // distinct keys to expect
    std::uint64_t seed = 0;
    bool for_changes = false;  // every key counts each time it comes; and others will follow later
  };

  explicit NewSet(Options options);

  KeyContext context(const RecordFormat& format, std::optional<std::string> header) const {
    return {.format = format, .header = std::move(header), .by_text = true, .each_field = options_.attributes};
  }
  void take(const Batch& batch, BatchReader& reader);
  KeySet finish();

 private:
  bool erases() const { return options_.attributes || filter_kind(options_.filter).erases; }
  bool gathers_all() const { return !options_.for_changes && erases(); }
  void gather(std::span<const Digest> rows, BatchReader& reader);
  std::uint64_t count_gathered();
  void keep_distinct_rows();
  KeySet make(std::uint64_t keys) const;
  void put_gathered();
  void put(std::span<const Digest> rows);

  Options options_;
  std::size_t width_;  // digests of a row
  std::optional<KeySet> set_;
  std::vector<Digest> gathered_;
  std::size_t distinct_ = 0;  // digests of those, when they were last counted
};

}  // namespace nodup::cli
