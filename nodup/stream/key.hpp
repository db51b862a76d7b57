// SPDX-License-Identifier: Apache-2.0
//
// What makes two events the same. A Key takes the key out of every record of a batch and hashes it.
//
// Keys of one field or more are framed before hashing, so that ("ab","c") never equals ("a","bc") and a missing
// field differs from an empty one:
//
//   for each field:  tag u8 | length u64 (little-endian) | bytes
//
// A key that is the record itself (`line`) is hashed as it stands. Saved states depend on this framing and on the tag
// values: they never change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nodup/hash/hasher.hpp"
#include "nodup/stream/batch.hpp"
#include "nodup/stream/records.hpp"

namespace nodup {

enum class FieldTag : std::uint8_t {
  missing = 0,  // no bytes
  text = 1,     // a string, unescaped: "\u00e9" and "é" are one; a column of a CSV file
  number = 2,   // by its text: 1 and 1.0 are two
  literal = 3,  // true, false, null
  compound = 4  // an object or array, by its text
};

// Builds the framed bytes of one key after the other in one buffer.
class KeyFrame {
 public:
  void clear() { bytes_.clear(); }
  void add(FieldTag tag, std::string_view value) {
    const std::uint64_t length = value.size();
    char head[9];
    head[0] = static_cast<char>(tag);
    __builtin_memcpy(head + 1, &length, sizeof length);
    bytes_.append(head, sizeof head).append(value);
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// One per thread: extract() may keep a parser and buffers.
class Key {
 public:
  virtual ~Key() = default;
  // Fills batch.digests and batch.bad for the records from batch.header on.
  virtual void extract(Batch& batch, const Hasher& hasher) = 0;
};

// What a key may need to know before the first record.
struct KeyContext {
  RecordFormat format;
  std::optional<std::string> header;  // the header row, if the format has one and there is any input
};

}  // namespace nodup
