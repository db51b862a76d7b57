// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "nodup/stream/records.hpp"

namespace nodup {

// Takes one column after the other from a row. As in stream/records.hpp, a quote opens only at a column's first byte,
// and
// "" inside quotes is one quote; text between a closing quote and the delimiter belongs to the column as it stands.
class RowCutter {
 public:
  explicit RowCutter(const RecordFormat& format) : format_(format) {}

  // The row must outlive the columns; their views end with the next start().
  void start(std::string_view row) {
    row = without_carriage_return(row, format_);
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

}  // namespace nodup
