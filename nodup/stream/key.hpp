// SPDX-License-Identifier: Apache-2.0
//
// What makes two events the same. A Key takes the key out of every record of a batch and hashes it; and the time of the
// event, if that is asked for.
//
// Keys of one field or more are framed before hashing, so that ("ab","c") never equals ("a","bc") and a missing
// field differs from an empty one:
//
//   for each field:  tag u8 | length u64 (little-endian) | bytes
//
// A key that is the record itself (`line`) is hashed as it stands, as is a single field that is compared by text. Saved
// states depend on this framing and on the tag values: they never change.
//
// Sets and joins compare records of different kinds. Their keys are compared by text: every value but a compound has
// the tag of text, `line` is framed as one field of text, and null is no value.
#pragma once

#include <cstdint>
#include <cstring>
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
  // By text (KeyContext::by_text) all values are texts, and a single one is hashed as it stands, like a line.
  explicit KeyFrame(bool by_text = false) : by_text_(by_text) {}

  void clear() { used_ = fields_ = 0; }
  void add(FieldTag tag, std::string_view value) {
    const std::uint64_t length = value.size();
    const std::size_t needed = used_ + kHead + value.size();
    if (needed > buffer_.size()) buffer_.resize(2 * needed);
    char* const at = buffer_.data() + used_;
    *at = static_cast<char>(by_text_ ? FieldTag::text : tag);
    std::memcpy(at + 1, &length, sizeof length);
    copy_value(at + kHead, value);
    used_ = needed;
    ++fields_;
  }
  Digest hash(const Hasher& hasher) const {
    const std::string_view bytes(buffer_.data(), used_);
    return hasher(by_text_ && fields_ == 1 ? bytes.substr(kHead) : bytes);
  }
  // The digest of each field as if it were a key of its own.
  void hash_fields(const Hasher& hasher, Digest* digests) const;

 private:
  static constexpr std::size_t kHead = 1 + sizeof(std::uint64_t);  // tag and length

  // Most values are short, and calling memcpy takes longer than copying them.
  static void copy_value(char* to, std::string_view value) {
    const std::size_t size = value.size();
    // Two parts that may overlap.
    const auto copy_ends = [&]<std::size_t kPart>() {
      std::memcpy(to, value.data(), kPart);
      std::memcpy(to + size - kPart, value.data() + size - kPart, kPart);
    };
    if (size > 32)
      std::memcpy(to, value.data(), size);
    else if (size >= 16)
      copy_ends.template operator()<16>();
    else if (size >= 8)
      copy_ends.template operator()<8>();
    else if (size >= 4)
      copy_ends.template operator()<4>();
    else
      for (std::size_t i = 0; i < size; ++i) to[i] = value[i];
  }

  bool by_text_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::size_t fields_ = 0;
};

// One per thread: extract() may keep a parser and buffers.
class Key {
 public:
  virtual ~Key() = default;
  // For the records from batch.header on: fills batch.digests, batch.fields and batch.ticks if they are asked for, and
  // batch.bad.
  virtual void extract(Batch& batch, const Hasher& hasher) = 0;
};

// What a key may need to know before the first record.
struct KeyContext {
  RecordFormat format;
  std::optional<std::string> header;  // the header row, if the format has one and there is any input
  std::string time = {};              // where the time of an event stands, as typed ("json:ts"); empty: not asked for
  // Values are compared by their text, so that keys of different kinds of records meet: the JSON number 17, the JSON
  // string "17", the column 17 and the line 17 are one. A record with null in its key is a bad one, as it is with a
  // field that is missing. Never for the filter of a stream: its saved states know values by kind.
  bool by_text = false;
  bool each_field = false;  // also digests of every field alone (Batch::fields)
};

// For Keys: makes room for the digests of a batch, and for those of so many fields of each record (0: not asked for).
// Not cleared first: a reused batch keeps what it has, and only new places are zeroed before they are written.
void make_places(Batch& batch, std::size_t fields);

// What a Key is to take from a record, each without the name of its kind ("user,ad.id", "ts"); empty: not asked for.
// The time never changes the key. One that takes only the time leaves batch.digests alone.
struct Wanted {
  std::string_view key;
  std::string_view time;
};

// Two walks over the records, for a time that one walk cannot find along with the key. If a record has neither, the
// reason is the key's.
std::unique_ptr<Key> key_and_time(std::unique_ptr<Key> key, std::unique_ptr<Key> time);

}  // namespace nodup
