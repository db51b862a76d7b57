// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nodup/hash/digest.hpp"
#include "nodup/memory/upcoming.hpp"
#include "nodup/stream/records.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup {

// A block of bytes that can grow to hold a record of any length. Growing keeps the content; memory that was
// never written costs nothing. kPadding readable bytes follow the capacity, so that parsers may read past the end of
// any record without a copy.
class ByteBuffer {
 public:
  static constexpr std::size_t kPadding = 64;

  explicit ByteBuffer(std::size_t capacity = 0) {
    if (capacity > 0) reserve(capacity);
  }
  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  void resize(std::size_t size) { size_ = size; }  // at most the capacity; new bytes are what they are
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    // realloc moves large blocks by changing page tables, not by copying them.
    void* moved = std::realloc(data_.get(), capacity + kPadding);
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<char*>(moved));
    capacity_ = capacity;
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// What a filter answers for each record of a batch. Growing forgets the content.
class Answers {
 public:
  bool* room_for(std::size_t records) {
    if (records > room_) {
      room_ = 2 * records;
      answers_ = std::make_unique_for_overwrite<bool[]>(room_);
    }
    return answers_.get();
  }
  const bool* data() const { return answers_.get(); }

 private:
  std::unique_ptr<bool[]> answers_;
  std::size_t room_ = 0;
};

// A record that has no key or no time, with the reason in words ("no field user", "broken JSON: ...").
struct BadRecord {
  std::size_t index;  // in its batch
  std::string reason;
};

// A block of whole records on its way through the pipeline: filled by the reader, then by a key, then judged.
struct Batch {
  // By the reader. Record i lies before ends[i], the place of its separator; the very last record of an input may
  // lack the separator, then ends.back() == bytes.size().
  ByteBuffer bytes;
  std::vector<std::uint64_t> ends;
  std::size_t header = 0;           // 1: record 0 is a header row, which has no key
  bool first_header = false;        // the header row of the first input: the one that passes
  std::size_t input = 0;            // index of the input it came from
  std::uint64_t first_record = 1;   // number of record 0 in its input, counted from 1
  bool unterminated_quote = false;  // the last record is a CSV row whose quotes never close
  Upcoming upcoming;

  // By Key::extract: digests[i] for every record i, and ticks[i] if the key was asked for the time of events; those of
  // the header row and of the records in `bad` (ascending) mean nothing.
  std::vector<Digest> digests;
  std::vector<Tick> ticks;  // nanoseconds since 1970
  std::vector<BadRecord> bad;
  // If the key was asked for each field (KeyContext::each_field): the digests of the fields of a record, each alone,
  // record after record.
  std::size_t fields_per_record = 0;
  std::vector<Digest> fields;

  // By whoever asks a filter before the batch has its turn in input order, after keep_keyed: one for each digest.
  Answers answers;

  std::size_t size() const { return ends.size(); }
  std::uint64_t begin(std::size_t i) const { return i == 0 ? 0 : ends[i - 1] + 1; }
  std::string_view record(std::size_t i) const {
    const std::uint64_t from = begin(i);
    return {bytes.data() + from, static_cast<std::size_t>(ends[i] - from)};
  }
  // The same without the byte order mark that an input may begin with: what columns and JSON are read from.
  std::string_view row(std::size_t i) const {
    std::string_view text = record(i);
    if (i == 0 && first_record == 1 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return text;
  }
};

// Leaves the digests, those of fields, and the times if records have their own, of the records with a key, in their
// order: what a filter shall see. The records themselves stay.
void keep_keyed(Batch& batch, bool timed = false);
// After keep_keyed: leaves the records before the first bad one.
void cut_at_bad(Batch& batch);

}  // namespace nodup
