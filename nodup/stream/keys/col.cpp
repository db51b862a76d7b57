// SPDX-License-Identifier: Apache-2.0
//
// The key `col`: columns of a row, by number from 1 or by their names in the header.
//
// Quoted columns are compared by what they mean: "a" and a are one key, "" inside quotes is one quote. As in
// stream/records.hpp, a quote opens only at a column's first byte; text between a closing quote and the
// delimiter belongs to the column as it stands. A carriage return before the newline belongs to no column.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "nodup/error.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/time.hpp"

namespace nodup {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kNamesListed = 40;  // in a message about a name that is not there

// Takes one column after the other from a row.
class RowCutter {
 public:
  explicit RowCutter(const RecordFormat& format) : format_(format) {}

  // The row must outlive the columns; their views end with the next start().
  void start(std::string_view row) {
    if (format_.separator == '\n' && row.ends_with('\r')) row.remove_suffix(1);
    at_ = row.data();
    end_ = at_ + row.size();
    more_ = true;
    broken_ = false;
    unquoted_used_ = 0;
  }
  bool more() const { return more_; }
  bool broken() const { return broken_; }  // the quotes of the last column never closed

  void skip() {
    if (opens_quotes()) {
      next();
    } else {
      cut_at(find(format_.delimiter));
    }
  }
  std::string_view next() {
    if (opens_quotes()) return next_quoted();
    const char* const from = at_;
    const char* const to = find(format_.delimiter);
    cut_at(to);
    return {from, static_cast<std::size_t>(to - from)};
  }

 private:
  bool opens_quotes() const { return format_.quoted && at_ < end_ && *at_ == '"'; }
  const char* find(char c) const {
    const void* const found = at_ < end_ ? std::memchr(at_, c, static_cast<std::size_t>(end_ - at_)) : nullptr;
    return found == nullptr ? end_ : static_cast<const char*>(found);
  }
  void cut_at(const char* delimiter) {
    more_ = delimiter < end_;
    at_ = more_ ? delimiter + 1 : end_;
  }

  std::string_view next_quoted() {
    const char* from = ++at_;
    const std::size_t unquoted_from = unquoted_used_;
    bool copied = false;
    const auto copy = [&](const char* to) {
      // All copies of a row together are shorter than the row, so the buffer never moves under a view.
      if (unquoted_used_ == 0) unquoted_.resize(std::max(unquoted_.size(), static_cast<std::size_t>(end_ - from)));
      std::memcpy(unquoted_.data() + unquoted_used_, from, static_cast<std::size_t>(to - from));
      unquoted_used_ += static_cast<std::size_t>(to - from);
      copied = true;
    };
    while (true) {
      const char* const quote = find('"');
      if (quote == end_) {
        broken_ = true;
        cut_at(end_);
        return {};
      }
      at_ = quote + 1;
      if (at_ < end_ && *at_ == '"') {
        copy(at_);
        from = ++at_;
        continue;
      }
      const char* const to = find(format_.delimiter);
      if (!copied && to == at_) {
        cut_at(to);
        return {from, static_cast<std::size_t>(quote - from)};
      }
      copy(quote);
      from = at_;
      copy(to);
      cut_at(to);
      return {unquoted_.data() + unquoted_from, unquoted_used_ - unquoted_from};
    }
  }

  RecordFormat format_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool more_ = false;
  bool broken_ = false;
  std::string unquoted_;
  std::size_t unquoted_used_ = 0;
};

struct Column {
  std::string option;        // where it was typed, for messages: "--key col:2,email"
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
  const Column blank{fmt::format("{} col:{}", flag, specification), "", 0};
  std::vector<Column> columns;
  std::string text;
  bool escaped = false;
  for (std::size_t i = 0; i <= specification.size(); ++i) {
    if (i == specification.size() || specification[i] == ',') {
      columns.push_back(parse_column(blank, text, escaped));
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
  ColKey(const Wanted& wanted, const KeyContext& context) : cutter_(context.format) {
    if (!wanted.key.empty()) columns_ = parse_columns(wanted.key, "--key");
    key_columns_ = columns_.size();
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
    if (has_key()) batch.digests.resize(batch.size());
    if (has_time_) batch.ticks.resize(batch.size());
    if (has_names_ && batch.size() > 0 && wanted_[0] == 0) fail(columns_[0], "rows came before the header was known");
    if (has_names_ && batch.header > 0) check_header(batch);
    const std::size_t count = batch.size();
    for (std::size_t i = batch.header; i < count; ++i) {
      std::string reason;
      const bool unclosed = batch.unterminated_quote && i + 1 == count;
      std::string_view row = batch.record(i);
      if (i == 0 && batch.first_record == 1 && row.starts_with(kByteOrderMark))
        row.remove_prefix(kByteOrderMark.size());
      Tick tick = 0;
      if (!unclosed && cut(row, reason) && read_tick(tick, reason)) {
        if (has_key()) batch.digests[i] = hash(hasher);
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
    return hasher(frame_.bytes());
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

}  // namespace nodup
