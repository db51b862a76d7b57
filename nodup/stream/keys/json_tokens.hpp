// SPDX-License-Identifier: Apache-2.0
//
// The tokens of JSON records: brackets, commas, colons, the first bytes of strings and scalars. simdjson finds them at
// several GB/s and checks UTF-8, control characters in strings, and that quotes close; what the tokens say together is
// for the walks over them, keys/json.cpp and row_text.cpp.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "nodup/error.hpp"
#include "nodup/stream/batch.hpp"

namespace nodup {

// simdjson reads, but never judges by, bytes behind a record.
static_assert(simdjson::SIMDJSON_PADDING <= ByteBuffer::kPadding);

// How a token changes the number of open brackets.
inline constexpr auto kJsonNesting = [] {
  std::array<std::int8_t, 256> nesting{};
  nesting['{'] = nesting['['] = 1;
  nesting['}'] = nesting[']'] = -1;
  return nesting;
}();

// Tokens that are no scalars.
inline constexpr auto kJsonMarks = [] {
  std::array<bool, 256> marks{};
  for (const unsigned char mark : {'{', '}', '[', ']', ':', ','}) marks[mark] = true;
  return marks;
}();

// What is wrong with a record, in words.
inline std::string broken_json(std::string_view how) { return fmt::format("broken JSON: {}", how); }

// The places of the tokens of a block of records, or of one record, and a walk over those of the record at hand.
class JsonTokens {
 public:
  // Null, or what is wrong with the bytes. They must stay where they are, with simdjson's padding behind them.
  const char* index(std::string_view bytes) {
    grow(bytes.size());
    const auto error = parser_->stage1(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                       simdjson::stage1_mode::regular);
    if (error) return simdjson::error_message(error);
    bytes_ = bytes.data();
    at_ = parser_->structural_indexes.get();
    end_ = at_ + parser_->n_structural_indexes;
    return nullptr;
  }
  // The one record, as the one at hand. False, and the reason in words, if it has no tokens or its bytes are wrong.
  bool index_record(std::string_view record, std::string& reason) {
    if (record.size() > simdjson::SIMDJSON_MAXSIZE_BYTES) {
      reason = "longer than 4 GiB, more than the JSON parser can take";
      return false;
    }
    const char* const wrong = record.empty() ? "the record is empty" : index(record);
    if (wrong != nullptr) {
      reason = broken_json(wrong);
      return false;
    }
    begin_record(0, record.size());
    return true;
  }
  // The record at hand is [from, limit) of the indexed bytes; records come in ascending order.
  void begin_record(std::size_t from, std::size_t limit) {
    while (*at_ < from) ++at_;
    limit_ = limit;
  }

  // For a walk of one's own: the token at hand, the bytes it points into, the end of the record.
  const std::uint32_t* at() const { return at_; }
  void go_to(const std::uint32_t* at) { at_ = at; }
  const char* bytes() const { return bytes_; }
  std::size_t end() const { return limit_; }

  // simdjson ends its list with the number of bytes, so there is always a place to look at.
  bool done() const { return *at_ >= limit_; }
  // The first byte of the token at hand; at the end one that begins none.
  char peek() const { return done() ? ' ' : bytes_[*at_]; }
  char next() { return done() ? ' ' : bytes_[*at_++]; }
  const char* place() const { return bytes_ + std::min<std::size_t>(*at_, limit_); }
  const char* limit() const { return bytes_ + limit_; }
  void pass() { ++at_; }

  // The whole of the scalar at hand. Tokens reach to the next one, but for the blanks between.
  std::string_view next_scalar() {
    const char* const from = bytes_ + *at_++;
    return without_blanks_behind({from, static_cast<std::size_t>(place() - from)});
  }

  // Passes a value; false when there is none or it never ends.
  bool skip_value() {
    const char c = next();
    if (c == '{' || c == '[') return skip_to_close();
    return c != '}' && c != ']' && c != ',' && c != ':' && c != ' ';
  }
  // The token behind the bracket that closes the one before `at`, or nullptr.
  const std::uint32_t* behind_close(const std::uint32_t* at) const {
    std::int64_t open = 1;
    while (open > 0 && *at < limit_) open += kJsonNesting[static_cast<unsigned char>(bytes_[*at++])];
    return open == 0 ? at : nullptr;
  }
  // The same for the bracket that the record begins with. Records mostly have as many tokens as the one before; if this
  // one ends so, with a }, it is enough that no other bracket is among the bytes in between.
  const std::uint32_t* behind_last(const std::uint32_t* at) {
    if (usual_rest_ < end_ - at) {
      const std::uint32_t* const last = at + usual_rest_;
      const bool ends_here = *last < limit_ && last[1] >= limit_ && bytes_[*last] == '}';
      if (ends_here && !holds_bracket(bytes_ + *at, bytes_ + *last)) return last + 1;
    }
    const std::uint32_t* const behind = behind_close(at);
    if (behind != nullptr) usual_rest_ = behind - at - 1;
    return behind;
  }
  // Passes all up to the bracket that closes the one just passed.
  bool skip_to_close() {
    const std::uint32_t* const behind = behind_close(at_);
    if (behind != nullptr) at_ = behind;
    return behind != nullptr;
  }

  static std::string_view without_blanks_behind(std::string_view text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n' || text.back() == '\r')) {
      text.remove_suffix(1);
    }
    return text;
  }

 private:
  // Sixteen bytes at a time; of fewer it says yes.
  static bool holds_bracket(const char* from, const char* to) {
    using Bytes [[gnu::vector_size(16)]] = unsigned char;
    if (to - from < 16) return true;
    Bytes any{};
    const auto look = [&](const char* at) {
      Bytes bytes;
      std::memcpy(&bytes, at, sizeof bytes);
      bytes |= 0x20;  // makes { of [ and } of ]
      any |= reinterpret_cast<Bytes>(bytes == '{') | reinterpret_cast<Bytes>(bytes == '}');
    };
    for (; to - from > 16; from += 16) look(from);
    look(to - 16);
    std::uint64_t halves[2];
    std::memcpy(halves, &any, sizeof halves);
    return (halves[0] | halves[1]) != 0;
  }

  void grow(std::size_t size) {
    if (parser_ != nullptr && size <= parser_->capacity()) return;
    const std::size_t room =
        std::min<std::size_t>(std::bit_ceil(std::max(size, kFirstCapacity)), simdjson::SIMDJSON_MAXSIZE_BYTES);
    const auto error = parser_ != nullptr ? parser_->allocate(room, kUnusedDepth)
                                          : simdjson::get_active_implementation()->create_dom_parser_implementation(
                                                room, kUnusedDepth, parser_);
    if (error) throw Error(fmt::format("no memory for parsing a JSON record of {} bytes", size));
  }

  static constexpr std::size_t kFirstCapacity = 64 << 10;
  static constexpr std::size_t kUnusedDepth = 1;  // of simdjson's own second stage, which never runs

  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser_;
  const char* bytes_ = nullptr;
  const std::uint32_t* at_ = nullptr;
  const std::uint32_t* end_ = nullptr;  // of the list
  std::size_t limit_ = 0;
  std::ptrdiff_t usual_rest_ = 0;  // a guess for behind_last(): tokens up to the last one, as it was in another record
};

}  // namespace nodup
