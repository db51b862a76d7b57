// SPDX-License-Identifier: Apache-2.0
#include "nodup/text/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "nodup/text/quoted.hpp"

namespace nodup {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 10^n
constexpr std::uint64_t kPowers[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, kSecond};

// Eight digits at once, as a word whose lowest byte is the first.
bool are_digits(std::uint64_t word) {
  constexpr std::uint64_t kHigh = 0xf0f0f0f0f0f0f0f0, kZeros = 0x3030303030303030, kSix = 0x0606060606060606;
  return (word & kHigh) == kZeros && ((word + kSix) & kHigh) == kZeros;
}
// Neighbours become pairs, pairs become fours, fours the eight.
std::uint64_t number_of(std::uint64_t word) {
  word = (word & 0x0f0f0f0f0f0f0f0f) * (10 * 256 + 1) >> 8;
  word = (word & 0x00ff00ff00ff00ff) * (100 * 65536 + 1) >> 16;
  return (word & 0x0000ffff0000ffff) * ((std::uint64_t{10000} << 32) + 1) >> 32;
}

// The number of the digits at p, which it passes. More than 19 may not fit.
std::uint64_t take_digits(const char*& p, const char* end) {
  std::uint64_t number = 0, word = 0;
  for (; end - p >= 8; p += 8) {
    std::memcpy(&word, p, sizeof word);
    if (!are_digits(word)) break;
    number = 100'000'000 * number + number_of(word);
  }
  for (; p < end && is_digit(*p); ++p) number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  return number;
}

// The digits behind a point, as a number of 10^-places; finer ones are cut. False if there are none.
bool take_fraction(const char*& p, const char* end, std::size_t places, std::uint64_t& parts) {
  const char* const from = p;
  const char* const last = from + std::min(places, static_cast<std::size_t>(end - from));
  parts = take_digits(p, last) * kPowers[places - static_cast<std::size_t>(p - from)];
  while (p < end && is_digit(*p)) ++p;
  return p > from;
}

// count * 10^places + parts, if it fits.
bool add_up(std::uint64_t count, std::size_t places, std::uint64_t parts, std::uint64_t& time) {
  return !__builtin_mul_overflow(count, kPowers[places], &time) && !__builtin_add_overflow(time, parts, &time);
}

// How many digits a unit of this size has before it is in nanoseconds.
std::size_t places_of(std::uint64_t whole) {
  if (whole < 100'000'000'000) return 9;
  if (whole < 100'000'000'000'000) return 6;
  return whole < 100'000'000'000'000'000 ? 3 : 0;
}

// Digits, with a point and more digits or without.
bool read_decimal(const char* p, const char* end, std::uint64_t& time) {
  const char* const from = p;
  std::uint64_t whole = take_digits(p, end), parts = 0;
  if (p == from) return false;
  if (p - from > 19 && std::from_chars(from, p, whole).ec != std::errc()) return false;
  const std::size_t places = places_of(whole);
  if (p < end && *p == '.' && !take_fraction(++p, end, places, parts)) return false;
  return p == end && add_up(whole, places, parts, time);
}

// 1.7e+9 is 17 with the point behind the tenth digit.
bool read_scientific(std::string_view mantissa, std::string_view power, std::uint64_t& time) {
  constexpr int kFarthest = 40;  // a point beyond it gives no time of ours
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  if (point == 0 || point + 1 == mantissa.size() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  if (power.size() > 1 && power[0] == '+' && is_digit(power[1])) power.remove_prefix(1);
  int exponent = 0;
  const auto [behind, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
  if (error != std::errc() || behind != power.data() + power.size() || std::abs(exponent) > kFarthest) {
    return false;
  }
  const std::string zeros(kFarthest, '0');
  const std::string padded = zeros + digits + zeros;
  const std::size_t moved = point + static_cast<std::size_t>(kFarthest + exponent);
  const std::string plain = padded.substr(0, moved) + "." + padded.substr(moved) + "0";
  return read_decimal(plain.data(), plain.data() + plain.size(), time);
}

bool read_number(std::string_view text, std::uint64_t& time) {
  if (read_decimal(text.data(), text.data() + text.size(), time)) return true;
  const std::size_t e = text.find_first_of("eE");
  return e != std::string_view::npos && read_scientific(text.substr(0, e), text.substr(e + 1), time);
}

// The number of `count` digits at p; `wrong` if they are none.
unsigned digits_at(const char* p, int count, bool& wrong) {
  unsigned number = 0;
  for (int i = 0; i < count; ++i) {
    const unsigned digit = static_cast<unsigned char>(p[i]) - unsigned{'0'};
    wrong |= digit > 9;
    number = 10 * number + digit;
  }
  return number;
}

// Z, +02:00, +0200 or +02, in seconds to take off. False if it is none of them.
bool read_offset(std::string_view text, std::int64_t& offset) {
  offset = 0;
  if (text.size() == 1) return (text[0] | 0x20) == 'z';
  const bool colon = text.size() == 6;
  if (text.size() != 3 && text.size() != 5 && !colon) return false;
  bool wrong = (text[0] != '+' && text[0] != '-') || (colon && text[3] != ':');
  const unsigned hours = digits_at(text.data() + 1, 2, wrong);
  const unsigned minutes = text.size() == 3 ? 0 : digits_at(text.data() + (colon ? 4 : 3), 2, wrong);
  offset = std::int64_t{hours} * 3600 + std::int64_t{minutes} * 60;
  if (text[0] == '-') offset = -offset;
  return !wrong && hours < 24 && minutes < 60;
}

constexpr std::size_t kToSeconds = std::string_view("2026-11-15T04:43:29").size();

bool looks_like_date(std::string_view text) { return text.size() >= kToSeconds && text[4] == '-'; }

bool read_date(std::string_view text, std::uint64_t& time) {
  const char* p = text.data();
  const char* const end = p + text.size();
  bool wrong = p[7] != '-' || ((p[10] | 0x20) != 't' && p[10] != ' ') || p[13] != ':' || p[16] != ':';
  const unsigned year = digits_at(p, 4, wrong);
  const unsigned month = digits_at(p + 5, 2, wrong), day = digits_at(p + 8, 2, wrong);
  const unsigned hour = digits_at(p + 11, 2, wrong), minute = digits_at(p + 14, 2, wrong);
  const unsigned second = digits_at(p + 17, 2, wrong);
  if (wrong || hour > 23 || minute > 59 || second > 60) return false;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return false;

  p += kToSeconds;
  std::uint64_t parts = 0;
  std::int64_t offset = 0;
  if (p < end && *p == '.' && !take_fraction(++p, end, 9, parts)) return false;
  if (!read_offset({p, static_cast<std::size_t>(end - p)}, offset)) return false;
  const std::int64_t seconds = std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400 +
                               hour * 3600 + minute * 60 + second - offset;
  // A leap second ends a day of UTC.
  if (seconds < 0 || (second == 60 && seconds % 86400 != 0)) return false;
  return add_up(static_cast<std::uint64_t>(seconds), 9, parts, time);
}

}  // namespace

bool read_time(std::string_view text, std::uint64_t& time) {
  return looks_like_date(text) ? read_date(text, time) : read_number(text, time);
}

std::string no_time(std::string_view text) {
  return fmt::format("{} is no time: epoch seconds (or ms, us, ns) or RFC 3339 like 2026-11-15T04:43:29Z{}",
                     quoted(text), looks_like_date(text) ? ", with Z or an offset, from 1970 to 2554" : "");
}

std::string human_time(std::uint64_t nanoseconds) {
  const std::uint64_t seconds = nanoseconds / kSecond, of_day = seconds % 86400;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(seconds / 86400)))};
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                 static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day / 3600,
                                 of_day / 60 % 60, of_day % 60);
  if (nanoseconds % kSecond != 0) {
    text += fmt::format(".{:09}", nanoseconds % kSecond);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + "Z";
}

}  // namespace nodup
