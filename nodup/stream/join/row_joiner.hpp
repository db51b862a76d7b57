// SPDX-License-Identifier: Apache-2.0
//
// Two rows made one.
//
//   columns and columns    the left row, the delimiter, the right row, as they stand; a left row without a match gets
//                          as many empty columns as the right side has
//   JSON on either side    an object: the left's members as they stand, then the right's without those of its key that
//                          stand at the top. A name that is there already gets `right.` before it, until it is new. A
//                          row of columns becomes an object of strings, named by the header or "1", "2", ...; a plain
//                          line one with the member "line".
//   right of plain lines   the left row: the right one says nothing more
//
// A line on the left of columns is a row of one column. With \n between records a carriage return at the end of a row
// of columns belongs to no column: a joined row ends as the left one does.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/stream/records.hpp"
#include "nodup/stream/row_text.hpp"

namespace nodup {

enum class RowKind { line, columns, json };

// How the rows of one side look.
struct JoinSide {
  RowKind kind = RowKind::line;
  RecordFormat format = {};
  std::string name = {};    // for messages
  std::string header = {};  // without byte order mark and carriage return; or empty
  // What of the key stands at the top of a row: names of members, columns counted from 0.
  std::vector<std::string> key_members = {};
  std::vector<std::size_t> key_columns = {};
};
// For a key as typed ("json:user", "col:2,email", "line") that make_key() has accepted.
JoinSide join_side(std::string_view key, const RecordFormat& format, const std::optional<std::string>& header,
                   std::string name);

struct JoinShape {
  enum class Output { left_rows, columns, objects };

  JoinSide left, right;
  bool left_only = false;         // nothing of the right is written: semi, anti
  std::size_t right_columns = 0;  // as many as its header has, or its first row

  Output output() const;
};

// One per thread. Writes rows without their separator.
class RowJoiner {
 public:
  // Throws Error when columns cannot be told apart by their names and must be.
  explicit RowJoiner(const JoinShape& shape);

  // The header row, if the output has one; `left` is that of the left side as it stands.
  bool write_header(std::string_view left, std::string& out) const;
  // A left row without a match. False, and reason() says why, if it cannot be written as others are: then it is
  // written as it stands, or, among objects, as the member "line" of one.
  bool write_alone(std::string_view left, std::string& out);
  // A left row that has matches, for write_joined. False, and reason() says why, if it cannot be joined.
  bool take_left(std::string_view left);
  void write_joined(std::string_view right, std::string& out);
  // Can this row be the right one? Otherwise reason() says why.
  bool check_right(std::string_view right);

  const std::string& reason() const { return reason_; }

 private:
  bool make_object(std::string_view left);
  bool can_be_json(std::string_view row);
  bool make_columns(std::string_view left);
  void add_object(std::string_view right, std::string& out);
  std::string_view name_of(const std::vector<std::string>& header, std::size_t column);
  void add_name(std::string_view name, std::string_view raw, std::string& out);
  bool is_taken(std::string_view name) const;

  const JoinShape& shape_;
  JoinShape::Output output_;
  std::vector<std::string> left_header_, right_header_;  // names of columns

  // The left row at hand: what stands before the right row and behind it.
  std::string begin_;
  std::string end_;
  std::string_view row_;
  std::vector<std::string_view> left_names_;
  std::vector<std::string_view> right_names_;  // written into the object at hand
  std::deque<std::string> made_names_;         // what they point to, if it stands nowhere else

  JsonMembers left_members_, right_members_;
  CsvColumns left_columns_, right_columns_;
  std::deque<std::string> numbers_;  // "1", "2", ...
  std::string reason_;
};

}  // namespace nodup
