// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/records.hpp"

#include <algorithm>
#include <array>

#include "nodup/bits/kernels.hpp"

namespace nodup {

namespace {
// Found positions pass through a small array: the most there can be in a piece is known, and it stays in the cache.
constexpr std::uint64_t kPiece = 16384;
using Found = std::array<std::uint64_t, kPiece + kFindSlack>;
}  // namespace

void RecordScanner::scan(const char* data, std::uint64_t from, std::uint64_t size, std::vector<std::uint64_t>& ends) {
  if (format_.quoted) return scan_quoted(data, from, size, ends);
  const auto find = kernels().find_byte;
  Found found;
  for (std::uint64_t at = from; at < size; at += kPiece) {
    const std::size_t n = find(data + at, std::min(kPiece, size - at), format_.separator, at, found.data());
    ends.insert(ends.end(), found.data(), found.data() + n);
  }
}

// Only quotes and separators matter; between them nothing is looked at.
void RecordScanner::scan_quoted(const char* data, std::uint64_t from, std::uint64_t size,
                                std::vector<std::uint64_t>& ends) {
  constexpr char kQuote = '"';
  const auto find = kernels().find_either;
  Found found;
  for (std::uint64_t begin = from; begin < size; begin += kPiece) {
    const std::size_t n =
        find(data + begin, std::min(kPiece, size - begin), format_.separator, kQuote, begin, found.data());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t at = found[i];
      const bool is_quote = data[at] == kQuote;
      if (quote_at_ != kNone) {
        const bool doubled = is_quote && at == quote_at_ + 1;
        quote_at_ = kNone;
        if (doubled) continue;  // "" inside: still inside
        inside_ = false;        // the quote before closed the column
      }
      if (inside_) {
        if (is_quote) quote_at_ = at;
      } else if (!is_quote) {
        ends.push_back(at);
        first_record_ = false;
      } else if (at == 0 || data[at - 1] == format_.delimiter || data[at - 1] == format_.separator ||
                 (first_record_ && at == kByteOrderMark.size() && kByteOrderMark == std::string_view(data, at))) {
        inside_ = true;
      }
    }
  }
}

}  // namespace nodup
