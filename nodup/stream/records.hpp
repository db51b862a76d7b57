// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace nodup {

// How bytes are cut into records and records into columns.
struct RecordFormat {
  char separator = '\n';  // ends a record; '\0' for find -print0 and the like
  char delimiter = 0;     // between columns; 0: records have no columns
  bool quoted = false;    // RFC 4180: a column may stand in "quotes", with "" for a quote, and hold separators
  bool header = false;    // the first record of each input names the columns
};

// What an input may begin with; no part of its first record.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A carriage return before the newline belongs to no column.
inline std::string_view without_carriage_return(std::string_view row, const RecordFormat& format) {
  if (format.separator == '\n' && row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

// Finds record ends in a block that arrives piece by piece.
//
// A quote opens a quoted column only at the column's first byte, so a stray quote (5" disk) inside a plain column
// is just a byte. Inside, "" stands for a quote and any other quote closes.
class RecordScanner {
 public:
  explicit RecordScanner(const RecordFormat& format) : format_(format) {}

  // Appends to `ends` the places in [from, size) of the separators that end records. The bytes before `from` of the
  // open record must still stand before it; call with growing `from` as bytes arrive.
  void scan(const char* data, std::uint64_t from, std::uint64_t size, std::vector<std::uint64_t>& ends);
  // After the last byte of an input: is its last record a row whose quotes never close?
  bool inside_quotes() const { return inside_ && quote_at_ == kNone; }
  void start_input() {
    inside_ = false;
    quote_at_ = kNone;
    first_record_ = true;
  }
  // The bytes before `offset` were taken away: what stood at `offset` now stands at 0.
  void shift(std::uint64_t offset) {
    if (quote_at_ != kNone) quote_at_ -= offset;
  }

 private:
  void scan_quoted(const char* data, std::uint64_t from, std::uint64_t size, std::vector<std::uint64_t>& ends);

  RecordFormat format_;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  bool first_record_ = true;        // of the input: a byte order mark may stand before its first column
  bool inside_ = false;             // within a quoted column
  std::uint64_t quote_at_ = kNone;  // the last quote met inside: it closes, unless another one follows at once
};

}  // namespace nodup
