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
  std::string name;          // empty: given by number
  std::uint64_t number = 0;  // 0: not known yet
};

// Header names come from the input: they must not steer the terminal of whoever reads the message.
std::string printable(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return copy;
}

class ColKey final : public Key {
 public:
  ColKey(std::string_view specification, const KeyContext& context)
      : specification_(specification), cutter_(context.format) {
    if (context.format.delimiter == 0) {
      throw Error(
          fmt::format("--key col:{} needs to know the columns: add --csv, --tsv or --delimiter", specification));
    }
    parse();
    const auto named = std::find_if(columns_.begin(), columns_.end(), [](const Column& c) { return !c.name.empty(); });
    has_names_ = named != columns_.end();
    if (has_names_ && !context.format.header) {
      fail(fmt::format("there is no header to find {} in; give the column's number, or add --header",
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
      places_.push_back(static_cast<std::size_t>(place - wanted_.begin()));
    }
  }

  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    batch.digests.resize(batch.size());
    if (has_names_ && batch.size() > 0 && wanted_[0] == 0) fail("rows came before the header was known");
    if (has_names_ && batch.header > 0) check_header(batch);
    const std::size_t count = batch.size();
    for (std::size_t i = batch.header; i < count; ++i) {
      std::string reason;
      const bool unclosed = batch.unterminated_quote && i + 1 == count;
      std::string_view row = batch.record(i);
      if (i == 0 && batch.first_record == 1 && row.starts_with(kByteOrderMark))
        row.remove_prefix(kByteOrderMark.size());
      if (!unclosed && build_key(row, reason)) {
        batch.digests[i] = hasher(frame_.bytes());
      } else {
        batch.digests[i] = {};
        batch.bad.push_back({i, unclosed ? "quotes never close" : std::move(reason)});
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(fmt::format("--key col:{}: {}", specification_, reason));
  }

  void parse() {
    std::string text;
    bool escaped = false;
    for (std::size_t i = 0; i <= specification_.size(); ++i) {
      if (i == specification_.size() || specification_[i] == ',') {
        columns_.push_back(parse_column(text, escaped));
        text.clear();
        escaped = false;
      } else if (specification_[i] == '\\') {
        if (++i == specification_.size()) fail("a backslash at the end stands for nothing; write \\\\ for a backslash");
        text += specification_[i];
        escaped = true;
      } else {
        text += specification_[i];
      }
    }
  }

  Column parse_column(const std::string& text, bool escaped) const {
    if (text.empty()) fail("a column is empty; columns look like 2,email");
    const std::size_t digits_from = text[0] == '-' ? 1 : 0;
    const bool is_number =
        !escaped && text.size() > digits_from && text.find_first_not_of("0123456789", digits_from) == std::string::npos;
    if (!is_number) return {text, 0};
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number == 0) {
      fail(fmt::format("{} is no column: they are numbered from 1 (write \\{} for a column of that name)", text, text));
    }
    return {"", number};
  }

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
        fail(fmt::format("the header has no {}; it has {}", printable(column.name), list(names)));
      if (std::find(found + 1, names.end(), column.name) != names.end()) {
        fail(fmt::format("the header has {} more than once; give the column's number", printable(column.name)));
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
          fmt::format("{} is column {} in input {} but column {} in the first; run inputs with different columns apart",
                      printable(columns_[i].name), numbers[i], batch.input + 1, columns_[i].number));
    }
  }

  bool build_key(std::string_view row, std::string& reason) {
    cutter_.start(row);
    std::uint64_t number = 1;
    for (std::size_t i = 0; i < wanted_.size(); ++i, ++number) {
      for (; number < wanted_[i] && cutter_.more(); ++number) cutter_.skip();
      if (!cutter_.more()) {
        reason = cutter_.broken() ? "quotes never close"
                                  : fmt::format("no column {} (the row has {})", wanted_[i], number - 1);
        return false;
      }
      values_[i] = cutter_.next();
    }
    if (cutter_.broken()) {
      reason = "quotes never close";
      return false;
    }
    frame_.clear();
    for (const std::size_t place : places_) frame_.add(FieldTag::text, values_[place]);
    return true;
  }

  std::string specification_;
  RowCutter cutter_;
  std::vector<Column> columns_;           // in the order asked
  std::vector<std::uint64_t> wanted_;     // their numbers, ascending, each once
  std::vector<std::size_t> places_;       // of columns_ in wanted_
  std::vector<std::string_view> values_;  // of wanted_, in the row at hand
  bool has_names_ = false;
  KeyFrame frame_;
};

}  // namespace

std::unique_ptr<Key> make_col_key(std::string_view specification, const KeyContext& context) {
  return std::make_unique<ColKey>(specification, context);
}

}  // namespace nodup
