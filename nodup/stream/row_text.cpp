// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/row_text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "nodup/stream/keys/json_text.hpp"
#include "nodup/stream/keys/json_tokens.hpp"

namespace nodup {

JsonMembers::JsonMembers() : tokens_(std::make_unique<JsonTokens>()) {}
JsonMembers::~JsonMembers() = default;
JsonMembers::JsonMembers(JsonMembers&&) noexcept = default;
JsonMembers& JsonMembers::operator=(JsonMembers&&) noexcept = default;

bool JsonMembers::broken(std::string_view how) {
  members_.clear();
  reason_ = broken_json(how);
  return false;
}

bool JsonMembers::read(std::string_view record) {
  members_.clear();
  if (!tokens_->index_record(record, reason_)) return false;
  escapes_ = record.find('\\') != std::string_view::npos;
  unescaped_.clear();
  // All names together are shorter than the record: the views of them stay where they are.
  if (escapes_) unescaped_.reserve(record.size());
  if (tokens_->next() != '{') {
    reason_ = "not a JSON object";
    return false;
  }
  if (tokens_->peek() == '}') {
    tokens_->pass();
  } else {
    for (char c = ','; c != '}';) {
      Member member;
      if (!take_name(member.name_raw) || !unescape(member)) return false;
      const char* const from = tokens_->place();
      if (!pass_value()) return false;
      member.value_raw = JsonTokens::without_blanks_behind({from, static_cast<std::size_t>(tokens_->place() - from)});
      members_.push_back(member);
      c = tokens_->next();
      if (c != ',' && c != '}') return broken("a comma or } is missing");
    }
  }
  return tokens_->done() || broken("something follows the end of the value");
}

// Passes a name and its colon.
bool JsonMembers::take_name(std::string_view& raw) {
  if (tokens_->peek() != '"') return broken("a field has no name");
  raw = tokens_->next_scalar();
  return tokens_->next() == ':' || broken("a colon is missing");
}

bool JsonMembers::unescape(Member& member) {
  member.name = inside_json_quotes(member.name_raw);
  if (!escapes_ || member.name.find('\\') == std::string_view::npos) return true;
  const std::size_t from = unescaped_.size();
  if (!append_unescaped(member.name, unescaped_)) return broken("a name has a wrong escape");
  member.name = std::string_view(unescaped_).substr(from);
  return true;
}

// Passes the value at hand. How deep it is nested is up to the input, so the open brackets are kept in a stack of our
// own and not on that of the machine.
bool JsonMembers::pass_value() {
  open_.clear();
  do {
    const char first = tokens_->peek();
    if (first == '{' || first == '[') {
      tokens_->pass();
      open_ += first == '{' ? '}' : ']';
      if (tokens_->peek() == open_.back()) {
        tokens_->pass();
        open_.pop_back();
      } else {
        if (first == '{' && !pass_name()) return false;
        continue;
      }
    } else if (tokens_->done() || kJsonMarks[static_cast<unsigned char>(first)]) {
      return broken("a value is missing");
    } else if (!check_scalar(tokens_->next_scalar())) {
      return false;
    }
    // Behind a value: the brackets that close here, or a comma and the next one.
    while (!open_.empty()) {
      const char c = tokens_->next();
      if (c == open_.back()) {
        open_.pop_back();
        continue;
      }
      if (c != ',') return broken(fmt::format("a comma or {} is missing", open_.back()));
      if (open_.back() == '}' && !pass_name()) return false;
      break;
    }
  } while (!open_.empty());
  return true;
}

bool JsonMembers::pass_name() {
  std::string_view raw;
  return take_name(raw) && check_escapes(raw, "a name has a wrong escape");
}

bool JsonMembers::check_scalar(std::string_view text) {
  if (text[0] == '"') return check_escapes(text, "a string has a wrong escape");
  return is_json_literal(text) || is_json_number(text) || broken("a value is no string, number, true, false or null");
}

bool JsonMembers::check_escapes(std::string_view raw, std::string_view otherwise) {
  if (!escapes_ || raw.find('\\') == std::string_view::npos) return true;
  scratch_.clear();
  return append_unescaped(inside_json_quotes(raw), scratch_) || broken(otherwise);
}

bool CsvColumns::read(std::string_view record) {
  columns_.clear();
  for (cutter_.start(record); cutter_.more();) columns_.push_back(cutter_.next());
  if (!cutter_.broken()) return true;
  columns_.clear();
  return false;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

namespace {

// How many bytes the character at the front takes; 0: it is none.
std::size_t character_length(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length)
    if (is_utf8(text.substr(0, length))) return length;
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  const bool sound = is_utf8(text);
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (sound || static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else if (const std::size_t length = character_length(text.substr(i)); length > 0) {
      out += text.substr(i, length);
      i += length - 1;
    } else {
      out += "\\ufffd";
    }
  }
  out += '"';
}

bool append_csv_field(std::string& out, std::string_view text, const RecordFormat& format) {
  // A carriage return is lost only at the end of a row, but whether this is the last column is not known here.
  const bool plain = text.find(format.delimiter) == std::string_view::npos &&
                     text.find(format.separator) == std::string_view::npos &&
                     without_carriage_return(text, format).size() == text.size();
  // RFC 4180 wants more in quotes than our own reader does.
  const bool bare = plain && (!format.quoted || text.find_first_of("\"\r\n") == std::string_view::npos);
  if (!bare && !format.quoted) return false;
  if (bare) {
    out += text;
    return true;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
  return true;
}

}  // namespace nodup
