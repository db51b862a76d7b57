// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/keys/json_text.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

namespace nodup {
namespace {

bool take_digits(const char*& p, const char* end) {
  const char* const from = p;
  while (p < end && *p >= '0' && *p <= '9') ++p;
  return p > from;
}

// The four digits behind \u.
bool take_unit(const char*& p, const char* end, std::uint32_t& unit) {
  if (end - p < 4) return false;
  const auto [stop, error] = std::from_chars(p, p + 4, unit, 16);
  if (error != std::errc() || stop != p + 4) return false;
  p = stop;
  return true;
}

void append_utf8(std::uint32_t point, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto put_rest = [&](unsigned shift) { put(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put_rest(0);
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put_rest(6);
    put_rest(0);
  } else {
    put(0xf0 | (point >> 18));
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

bool take_point(const char*& p, const char* end, std::string& out) {
  std::uint32_t point = 0;
  if (!take_unit(p, end, point)) return false;
  if (point >= 0xd800 && point < 0xe000) {
    std::uint32_t low = 0;
    if (point >= 0xdc00 || end - p < 2 || p[0] != '\\' || p[1] != 'u') return false;
    p += 2;
    if (!take_unit(p, end, low) || low < 0xdc00 || low >= 0xe000) return false;
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(point, out);
  return true;
}

// What a backslash and `c` stand for; 0 for none.
char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

}  // namespace

bool is_json_number(std::string_view text) {
  const char* p = text.data();
  const char* const end = p + text.size();
  if (p < end && *p == '-') ++p;
  if (p < end && *p == '0') {
    ++p;
  } else if (!take_digits(p, end)) {
    return false;
  }
  if (p < end && *p == '.' && !take_digits(++p, end)) return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p < end && (*p == '+' || *p == '-')) ++p;
    if (!take_digits(p, end)) return false;
  }
  return p == end;
}

bool append_unescaped(std::string_view inside, std::string& out) {
  const char* p = inside.data();
  const char* const end = p + inside.size();
  while (p < end) {
    const void* const found = std::memchr(p, '\\', static_cast<std::size_t>(end - p));
    const char* const backslash = found == nullptr ? end : static_cast<const char*>(found);
    out.append(p, backslash);
    if (backslash == end) return true;
    if (end - backslash < 2) return false;
    p = backslash + 2;
    if (const char c = simple_escape(backslash[1]); c != 0) {
      out += c;
    } else if (backslash[1] != 'u' || !take_point(p, end, out)) {
      return false;
    }
  }
  return true;
}

}  // namespace nodup
