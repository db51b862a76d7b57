// SPDX-License-Identifier: Apache-2.0
//
// Rows as text: all that stands in one record, for commands that put the parts of two records together. A Key takes
// the few fields that it is asked for and passes over the rest; here every member and every column counts, because what
// is written again must be sound.
//
// One reader serves record after record and keeps its buffers: one per thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/stream/keys/row_cutter.hpp"
#include "nodup/stream/records.hpp"

namespace nodup {

class JsonTokens;

// The members of a JSON object, as they stand: put together again, they keep their bytes.
class JsonMembers {
 public:
  struct Member {
    std::string_view name;       // what it means: without quotes and escapes
    std::string_view name_raw;   // as it stands, with its quotes
    std::string_view value_raw;  // as it stands: a string with its quotes, an object with its brackets
  };

  JsonMembers();
  ~JsonMembers();
  JsonMembers(JsonMembers&&) noexcept;
  JsonMembers& operator=(JsonMembers&&) noexcept;

  // False if the record is not one whole, sound JSON object; reason() then says why. All of it is checked, nested
  // values too. The record has no byte order mark, ByteBuffer::kPadding readable bytes behind it, and must outlive the
  // members. Names may come twice: the first is the one that keys take.
  bool read(std::string_view record);

  // In the record's order, until the next read().
  std::span<const Member> members() const { return members_; }
  const std::string& reason() const { return reason_; }  // "broken JSON: a colon is missing"

 private:
  bool broken(std::string_view how);
  bool take_name(std::string_view& raw);
  bool unescape(Member& member);
  bool pass_value();
  bool pass_name();
  bool check_scalar(std::string_view text);
  bool check_escapes(std::string_view raw, std::string_view otherwise);

  std::unique_ptr<JsonTokens> tokens_;
  std::vector<Member> members_;
  bool escapes_ = false;   // the record has a backslash somewhere
  std::string open_;       // what closes the brackets that are open inside a member's value
  std::string unescaped_;  // names, as far as they have escapes
  std::string scratch_;
  std::string reason_;
};

// The columns of a row, without their quotes.
class CsvColumns {
 public:
  explicit CsvColumns(const RecordFormat& format) : cutter_(format) {}

  // False if quotes never close. The record has no byte order mark and must outlive the columns.
  bool read(std::string_view record);

  // Until the next read(). There is always one at least: an empty row has one empty column.
  std::span<const std::string_view> columns() const { return columns_; }

 private:
  RowCutter cutter_;
  std::vector<std::string_view> columns_;
};

// Appends `text` as a JSON string, quoted and escaped. JSON is UTF-8: bytes that are not become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
bool is_utf8(std::string_view text);

// Appends `text` as a column, in quotes if it needs them. False, and nothing appended, where the format has no quotes
// and the text holds what ends a column or a row.
[[nodiscard]] bool append_csv_field(std::string& out, std::string_view text, const RecordFormat& format);

}  // namespace nodup
