// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/join/row_joiner.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/stream/keys/paths.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/quoted.hpp"
#include "nodup/text/units.hpp"

namespace nodup {

namespace {

constexpr std::string_view kLineName = "line";
constexpr std::string_view kPrefix = "right.";

// The carriage return at the end of a row of columns, or nothing.
std::string_view row_end(std::string_view row, const JoinSide& side) {
  const bool has_return = side.kind == RowKind::columns && side.format.separator == '\n' && row.ends_with('\r');
  return row.substr(row.size() - (has_return ? 1 : 0));
}

std::string_view without_end(std::string_view row, const JoinSide& side) {
  return row.substr(0, row.size() - row_end(row, side).size());
}

std::vector<std::string> header_names(const JoinSide& side) {
  if (side.header.empty()) return {};
  CsvColumns columns(side.format);
  if (!columns.read(side.header)) return {};  // the key has said so already
  return {columns.columns().begin(), columns.columns().end()};
}

// Which column a field of a key means, from 0: `2` is a number, everything else a name, in which a backslash makes the
// next byte a part of the name.
std::optional<std::size_t> column_of(const std::string& field, const std::vector<std::string>& names) {
  if (field.find_first_not_of("0123456789") == std::string::npos) return read_count(field) - 1;
  std::string name;
  for (std::size_t i = 0; i < field.size(); ++i) name += field[field[i] == '\\' ? ++i : i];
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

void refuse_equal_names(const std::vector<std::string>& names, const JoinSide& side) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw Error(fmt::format("{}: two columns are called {}, and a JSON object needs different names: rename one",
                              side.name, quoted(name)));
}

}  // namespace

JoinSide join_side(std::string_view key, const RecordFormat& format, const std::optional<std::string>& header,
                   std::string name) {
  JoinSide side{.format = format, .name = std::move(name), .header = header.value_or("")};
  if (side.header.starts_with(kByteOrderMark)) side.header.erase(0, kByteOrderMark.size());
  const std::vector<std::string> fields = key_fields(key);
  if (key.starts_with("json:")) {
    side.kind = RowKind::json;
    for (const std::string& field : fields) {
      const PathTree path = parse_paths(field, "--on");
      const PathNode& top = path.root.children.front();
      if (top.children.empty() && !top.by_index_only) side.key_members.push_back(top.name);
    }
  } else if (key.starts_with("col:")) {
    side.kind = RowKind::columns;
    const std::vector<std::string> names = header_names(side);
    for (const std::string& field : fields)
      if (const auto column = column_of(field, names)) side.key_columns.push_back(*column);
  }
  return side;
}

JoinShape::Output JoinShape::output() const {
  if (left_only || right.kind == RowKind::line) return Output::left_rows;
  if (left.kind == RowKind::json || right.kind == RowKind::json) return Output::objects;
  return Output::columns;
}

RowJoiner::RowJoiner(const JoinShape& shape)
    : shape_(shape),
      output_(shape.output()),
      left_header_(header_names(shape.left)),
      right_header_(header_names(shape.right)),
      left_columns_(shape.left.format),
      right_columns_(shape.right.format) {
  if (output_ != JoinShape::Output::objects) return;
  refuse_equal_names(left_header_, shape.left);
  refuse_equal_names(right_header_, shape.right);
}

bool RowJoiner::write_header(std::string_view left, std::string& out) const {
  const bool right_has = output_ == JoinShape::Output::columns && !shape_.right.header.empty();
  const bool of_lines = shape_.left.kind == RowKind::line && right_has;
  if (output_ == JoinShape::Output::objects || (shape_.left.kind != RowKind::columns && !of_lines)) return false;
  out.append(of_lines ? kLineName : without_end(left, shape_.left));
  if (right_has) (out += shape_.right.format.delimiter).append(shape_.right.header);
  out.append(row_end(left, shape_.left));
  return true;
}

bool RowJoiner::write_alone(std::string_view left, std::string& out) {
  if (output_ == JoinShape::Output::left_rows ||
      (output_ == JoinShape::Output::objects && shape_.left.kind == RowKind::json)) {
    out.append(left);
    return true;
  }
  if (!take_left(left)) {
    if (output_ == JoinShape::Output::objects) {
      append_json_string(out.append("{\"line\":"), left);
      out += '}';
    } else {
      out.append(left);
    }
    return false;
  }
  out.append(begin_);
  // The delimiter before the first column of the right is there already.
  if (output_ == JoinShape::Output::columns) {
    if (shape_.right_columns == 0)
      out.pop_back();
    else
      out.append(shape_.right_columns - 1, shape_.right.format.delimiter);
  }
  out.append(end_);
  return true;
}

bool RowJoiner::take_left(std::string_view left) {
  row_ = left;
  switch (output_) {
    case JoinShape::Output::left_rows:
      return true;
    case JoinShape::Output::columns:
      return make_columns(left);
    case JoinShape::Output::objects:
      return make_object(left);
  }
  return false;
}

bool RowJoiner::make_columns(std::string_view left) {
  begin_.clear();
  const RecordFormat& format = shape_.right.format;
  if (shape_.left.kind == RowKind::columns) {
    begin_.append(without_end(left, shape_.left));
  } else if (!append_csv_field(begin_, left, format)) {
    reason_ = "the line holds the delimiter, and without --csv there are no quotes to put it in";
    return false;
  }
  begin_ += format.delimiter;
  end_ = row_end(left, shape_.left);
  return true;
}

bool RowJoiner::make_object(std::string_view left) {
  begin_.clear();
  left_names_.clear();
  if (shape_.left.kind == RowKind::json) {
    if (!left_members_.read(left)) {
      reason_ = left_members_.reason();
      return false;
    }
    for (const JsonMembers::Member& member : left_members_.members()) left_names_.push_back(member.name);
    // A sound object: behind its last bracket only blanks stand.
    const std::size_t close = left.rfind('}');
    const char* last = left.data() + left.find('{') + 1;
    if (!left_members_.members().empty()) {
      const std::string_view value = left_members_.members().back().value_raw;
      last = value.data() + value.size();
    }
    begin_.append(left.substr(0, static_cast<std::size_t>(last - left.data())));
    end_ = left.substr(close);
    return true;
  }
  if (!can_be_json(left)) return false;
  const auto add = [&](std::string_view name, std::string_view value) {
    begin_ += left_names_.empty() ? '{' : ',';
    append_json_string(begin_, name);
    begin_ += ':';
    append_json_string(begin_, value);
    left_names_.push_back(name);
  };
  if (shape_.left.kind == RowKind::line) {
    add(kLineName, left);
  } else if (left_columns_.read(left)) {
    const auto columns = left_columns_.columns();
    for (std::size_t i = 0; i < columns.size(); ++i) add(name_of(left_header_, i), columns[i]);
  } else {
    reason_ = "quotes never close";
    return false;
  }
  end_ = "}";
  return true;
}

void RowJoiner::write_joined(std::string_view right, std::string& out) {
  switch (output_) {
    case JoinShape::Output::left_rows:
      out.append(row_);
      return;
    case JoinShape::Output::columns:
      out.append(begin_).append(without_end(right, shape_.right)).append(end_);
      return;
    case JoinShape::Output::objects:
      out.append(begin_);
      add_object(right, out);
      out.append(end_);
      return;
  }
}

void RowJoiner::add_object(std::string_view right, std::string& out) {
  right_names_.clear();
  made_names_.clear();
  if (!check_right(right)) throw Error(fmt::format("{}: {}", shape_.right.name, reason_));  // was checked when kept
  if (shape_.right.kind == RowKind::json) {
    for (const JsonMembers::Member& member : right_members_.members()) {
      if (std::ranges::find(shape_.right.key_members, member.name) != shape_.right.key_members.end()) continue;
      add_name(member.name, member.name_raw, out);
      out.append(member.value_raw);
    }
    return;
  }
  const auto columns = right_columns_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::find(shape_.right.key_columns, i) != shape_.right.key_columns.end()) continue;
    add_name(name_of(right_header_, i), {}, out);
    append_json_string(out, columns[i]);
  }
}

bool RowJoiner::check_right(std::string_view right) {
  if (output_ != JoinShape::Output::objects) return true;
  if (shape_.right.kind == RowKind::json) {
    if (right_members_.read(right)) return true;
    reason_ = right_members_.reason();
    return false;
  }
  if (right_columns_.read(right)) return can_be_json(right);
  reason_ = "quotes never close";
  return false;
}

bool RowJoiner::can_be_json(std::string_view row) {
  if (is_utf8(row)) return true;
  reason_ = "not UTF-8, so it cannot become JSON";
  return false;
}

// Columns that the header does not name, and all without a header, are called by their numbers.
std::string_view RowJoiner::name_of(const std::vector<std::string>& header, std::size_t column) {
  if (column < header.size()) return header[column];
  while (numbers_.size() <= column) numbers_.push_back(std::to_string(numbers_.size() + 1));
  return numbers_[column];
}

// The name with its colon and the comma before it. `raw` is how it stands in its record, if it does.
void RowJoiner::add_name(std::string_view name, std::string_view raw, std::string& out) {
  if (!left_names_.empty() || !right_names_.empty()) out += ',';
  if (is_taken(name)) {
    std::string made(name);
    do made.insert(0, kPrefix);
    while (is_taken(made));
    name = made_names_.emplace_back(std::move(made));
    raw = {};
  }
  if (raw.empty())
    append_json_string(out, name);
  else
    out.append(raw);
  out += ':';
  right_names_.push_back(name);
}

bool RowJoiner::is_taken(std::string_view name) const {
  const auto in = [&](const std::vector<std::string_view>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return in(left_names_) || in(right_names_);
}

}  // namespace nodup
