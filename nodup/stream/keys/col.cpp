// SPDX-License-Identifier: Apache-2.0
//
// The key `col`: columns of a row, by number from 1 or by their names in the header.
//
// Quoted columns are compared by what they mean (keys/row_cutter.hpp): "a" and a are one key.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "nodup/error.hpp"
#include "nodup/stream/keys/row_cutter.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/time.hpp"

namespace nodup {
namespace {

constexpr std::size_t kNamesListed = 40;  // in a message about a name that is not there

struct Column {
  std::string option;        // where it was typed, for messages: "--key col:2,email"
  std::string typed;         // itself as it was typed, escapes and all: "email"
  std::string name;          // empty: given by number
  std::uint64_t number = 0;  // 0: not known yet
};

[[noreturn]] void fail(const Column& column, const std::string& reason) {
  throw Error(fmt::format("{}: {}", column.option, reason));
}

// Header names come from the input: they must not steer the terminal of whoever reads the message.
std::string printable(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return copy;
}

Column parse_column(Column column, const std::string& text, bool escaped) {
  if (text.empty()) fail(column, "a column is empty; columns look like 2,email");
  const std::size_t digits_from = text[0] == '-' ? 1 : 0;
  const bool is_number =
      !escaped && text.size() > digits_from && text.find_first_not_of("0123456789", digits_from) == std::string::npos;
  if (!is_number) {
    column.name = text;
    return column;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), column.number);
  if (error != std::errc() || end != text.data() + text.size() || column.number == 0) {
    fail(column,
         fmt::format("{} is no column: they are numbered from 1 (write \\{} for a column of that name)", text, text));
  }
  return column;
}

// Columns are separated by commas; a backslash makes the next byte part of a name.
std::vector<Column> parse_columns(std::string_view specification, std::string_view flag) {
  Column blank{fmt::format("{} col:{}", flag, specification), "", "", 0};
  std::size_t from = 0;
  std::vector<Column> columns;
  std::string text;
  bool escaped = false;
  for (std::size_t i = 0; i <= specification.size(); ++i) {
    if (i == specification.size() || specification[i] == ',') {
      blank.typed = specification.substr(from, i - from);
      columns.push_back(parse_column(blank, text, escaped));
      from = i + 1;
      text.clear();
      escaped = false;
    } else if (specification[i] == '\\') {
      if (++i == specification.size()) {
        fail(blank, "a backslash at the end stands for nothing; write \\\\ for a backslash");
      }
      text += specification[i];
      escaped = true;
    } else {
      text += specification[i];
    }
  }
  return columns;
}

class ColKey final : public Key {
 public:
  ColKey(const Wanted& wanted, const KeyContext& context) : cutter_(context.format), frame_(context.by_text) {
    if (!wanted.key.empty()) columns_ = parse_columns(wanted.key, "--key");
    key_columns_ = columns_.size();
    each_field_ = context.each_field;
    has_time_ = !wanted.time.empty();
    if (has_time_) {
      const std::vector<Column> time = parse_columns(wanted.time, "--time");
      if (time.size() > 1) fail(time[0], "a time is one column");
      columns_.push_back(time[0]);
    }
    if (context.format.delimiter == 0) {
      throw Error(fmt::format("{} needs to know the columns: add --csv, --tsv or --delimiter", columns_[0].option));
    }
    const auto named = std::find_if(columns_.begin(), columns_.end(), [](const Column& c) { return !c.name.empty(); });
    has_names_ = named != columns_.end();
    if (has_names_ && !context.format.header) {
      fail(*named, fmt::format("there is no header to find {} in; give the column's number, or add --header",
                               printable(named->name)));
    }
    // Without a header row there is no input at all, and nothing will be asked of this key.
    if (context.header) {
      const std::vector<std::uint64_t> numbers = find_names(*context.header);
      for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].number = numbers[i];
    }
    for (const Column& column : columns_) wanted_.push_back(column.number);
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    values_.resize(wanted_.size());
    for (const Column& column : columns_) {
      const auto place = std::lower_bound(wanted_.begin(), wanted_.end(), column.number);
      key_places_.push_back(static_cast<std::size_t>(place - wanted_.begin()));
    }
    if (has_time_) {
      time_place_ = key_places_.back();
      key_places_.pop_back();
    }
  }

  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    if (has_key()) make_places(batch, each_field_ ? key_columns_ : 0);
    if (has_time_) batch.ticks.resize(batch.size());
    if (has_names_ && batch.size() > 0 && wanted_[0] == 0) fail(columns_[0], "rows came before the header was known");
    if (has_names_ && batch.header > 0) check_header(batch);
    const std::size_t count = batch.size();
    Upcoming upcoming = batch.upcoming;
    for (std::size_t i = batch.header; i < count; ++i) {
      upcoming.ask();
      std::string reason;
      const bool unclosed = batch.unterminated_quote && i + 1 == count;
      Tick tick = 0;
      if (!unclosed && cut(batch.row(i), reason) && read_tick(tick, reason)) {
        if (has_key()) batch.digests[i] = hash(hasher);
        if (each_field_) frame_.hash_fields(hasher, batch.fields.data() + i * key_columns_);
      } else {
        if (has_key()) batch.digests[i] = {};
        batch.bad.push_back({i, unclosed ? "quotes never close" : std::move(reason)});
      }
      if (has_time_) batch.ticks[i] = tick;
    }
  }

 private:
  bool has_key() const { return key_columns_ > 0; }

  // The numbers of all columns, as this header has them.
  std::vector<std::uint64_t> find_names(std::string_view header) {
    if (header.starts_with(kByteOrderMark)) header.remove_prefix(kByteOrderMark.size());
    std::vector<std::string> names;
    if (has_names_) {
      for (cutter_.start(header); cutter_.more();) names.emplace_back(cutter_.next());
    }
    std::vector<std::uint64_t> numbers;
    for (const Column& column : columns_) {
      if (column.name.empty()) {
        numbers.push_back(column.number);
        continue;
      }
      const auto found = std::find(names.begin(), names.end(), column.name);
      if (found == names.end())
        fail(column, fmt::format("the header has no {}; it has {}", printable(column.name), list(names)));
      if (std::find(found + 1, names.end(), column.name) != names.end()) {
        fail(column, fmt::format("the header has {} more than once; give the column's number", printable(column.name)));
      }
      numbers.push_back(static_cast<std::uint64_t>(found - names.begin()) + 1);
    }
    return numbers;
  }

  static std::string list(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamesListed); ++i) {
      text.append(text.empty() ? "" : ", ").append(printable(names[i]));
    }
    if (names.size() > kNamesListed) text += fmt::format(" and {} more", names.size() - kNamesListed);
    return text;
  }

  // Later inputs have headers of their own. Were their columns in another order, their rows would be compared
  // by the wrong ones and dropped unnoticed; other threads have rows of the same input, so it is too late to
  // follow.
  void check_header(const Batch& batch) {
    const std::vector<std::uint64_t> numbers = find_names(batch.record(0));
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (numbers[i] == columns_[i].number) continue;
      fail(
          columns_[i],
          fmt::format("{} is column {} in input {} but column {} in the first; run inputs with different columns apart",
                      printable(columns_[i].name), numbers[i], batch.input + 1, columns_[i].number));
    }
  }

  bool cut(std::string_view row, std::string& reason) {
    cutter_.start(row);
    std::uint64_t number = 1;
    for (std::size_t i = 0; i < wanted_.size(); ++i, ++number) {
      for (; number < wanted_[i] && cutter_.more(); ++number) cutter_.skip();
      if (!cutter_.more()) {
        reason = cutter_.broken() ? "quotes never close"
                                  : fmt::format("no column {} (the row has {})", missing(number - 1), number - 1);
        return false;
      }
      values_[i] = cutter_.next();
    }
    if (cutter_.broken()) {
      reason = "quotes never close";
      return false;
    }
    return true;
  }

  // Of the columns that a row of so many lacks, the first of the key's, or the time's.
  std::uint64_t missing(std::uint64_t has) const {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < key_columns_; ++i) {
      const std::uint64_t number = columns_[i].number;
      if (number > has && (first == 0 || number < first)) first = number;
    }
    return first != 0 ? first : columns_.back().number;
  }

  Digest hash(const Hasher& hasher) {
    frame_.clear();
    for (const std::size_t place : key_places_) frame_.add(FieldTag::text, values_[place]);
    return frame_.hash(hasher);
  }

  bool read_tick(Tick& tick, std::string& reason) const {
    if (!has_time_) return true;
    const std::string_view value = values_[time_place_];
    if (read_time(value, tick)) return true;
    tick = 0;
    const Column& column = columns_.back();
    reason = fmt::format("column {}: {}", column.name.empty() ? std::to_string(column.number) : printable(column.name),
                         no_time(value));
    return false;
  }

  RowCutter cutter_;
  std::vector<Column> columns_;  // in the order asked: those of the key, then that of the time
  std::size_t key_columns_ = 0;  // how many of them are the key's
  bool each_field_ = false;
  bool has_time_ = false;
  std::vector<std::uint64_t> wanted_;     // their numbers, ascending, each once
  std::vector<std::size_t> key_places_;   // of the key's columns in wanted_
  std::size_t time_place_ = 0;            // of the time's
  std::vector<std::string_view> values_;  // of wanted_, in the row at hand
  bool has_names_ = false;
  KeyFrame frame_;
};

}  // namespace

std::unique_ptr<Key> make_col_key(const Wanted& wanted, const KeyContext& context) {
  return std::make_unique<ColKey>(wanted, context);
}

std::vector<std::string> col_key_fields(std::string_view columns) {
  std::vector<std::string> fields;
  for (Column& column : parse_columns(columns, "--key")) fields.push_back(std::move(column.typed));
  return fields;
}

}  // namespace nodup
