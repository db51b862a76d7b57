// SPDX-License-Identifier: Apache-2.0
#include "nodup/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "nodup/error.hpp"
#include "nodup/text/quoted.hpp"

namespace nodup {
namespace {

using Wide = unsigned __int128;

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kCounts[] = {{"", 1},
                            {"k", 1'000},
                            {"K", 1'000},
                            {"M", 1'000'000},
                            {"G", 1'000'000'000},
                            {"B", 1'000'000'000},
                            {"T", 1'000'000'000'000}};

// Compared in lower case.
constexpr Unit kBytes[] = {{"", 1},
                           {"b", 1},
                           {"k", 1ull << 10},
                           {"kb", 1ull << 10},
                           {"kib", 1ull << 10},
                           {"m", 1ull << 20},
                           {"mb", 1ull << 20},
                           {"mib", 1ull << 20},
                           {"g", 1ull << 30},
                           {"gb", 1ull << 30},
                           {"gib", 1ull << 30},
                           {"t", 1ull << 40},
                           {"tb", 1ull << 40},
                           {"tib", 1ull << 40}};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr Unit kDurations[] = {{"", kSecond},          {"ns", 1},
                               {"us", 1'000},          {"ms", 1'000'000},
                               {"s", kSecond},         {"m", 60 * kSecond},
                               {"min", 60 * kSecond},  {"h", 3600 * kSecond},
                               {"d", 86400 * kSecond}, {"w", 7 * 86400 * kSecond}};

struct Complaint {
  std::string_view what, example;
  [[noreturn]] void wrong(std::string_view text) const {
    throw Error(fmt::format("{} is not a {}: write e.g. {}", quoted(text), what, example));
  }
  [[noreturn]] void large(std::string_view text) const {
    throw Error(fmt::format("{} is too large for a {}: write e.g. {}", quoted(text), what, example));
  }
};

constexpr Complaint kCount{"count", "10M or 1e9"};
constexpr Complaint kSize{"size in bytes", "512M or 1.5G"};
constexpr Complaint kDuration{"duration", "90s, 5m or 24h"};
constexpr Complaint kRate{"rate", "50k/s or 1M/h"};
constexpr Complaint kProbability{"probability", "1e-6, 0.1% or 1/1000"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number without its unit: plain digits, and the same as mantissa * 10^exponent.
struct Number {
  std::string plain;  // for from_chars
  std::string digits;
  std::int64_t exponent = 0;
};

// Takes a number off the front of `text`; nothing if there is none. An underscore may stand between two
// digits.
std::optional<Number> take_number(std::string_view& text) {
  Number n;
  std::size_t i = 0;
  const auto take_digits = [&](bool fraction) {
    bool any = false;
    for (; i < text.size(); ++i) {
      if (is_digit(text[i])) {
        n.plain += text[i];
        n.digits += text[i];
        n.exponent -= fraction;
        any = true;
      } else if (text[i] != '_' || !any || i + 1 == text.size() || !is_digit(text[i + 1])) {
        break;
      }
    }
    return any;
  };
  if (!take_digits(false)) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    n.plain += text[i++];
    if (!take_digits(true)) return std::nullopt;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    const bool negative = j < text.size() && text[j] == '-';
    if (j < text.size() && (text[j] == '-' || text[j] == '+')) ++j;
    if (j == text.size() || !is_digit(text[j])) return std::nullopt;
    std::int64_t power = 0;
    // Held at a bound far outside every type, so that a long exponent is too large and not undefined.
    for (; j < text.size() && is_digit(text[j]); ++j) power = std::min<std::int64_t>(power * 10 + text[j] - '0', 99999);
    n.plain += fmt::format("e{}{}", negative ? "-" : "", power);
    n.exponent += negative ? -power : power;
    i = j;
  }
  text.remove_prefix(i);
  // Zeros at either end say nothing; without them long spellings of short numbers stay exact.
  while (n.digits.size() > 1 && n.digits.back() == '0') n.digits.pop_back(), ++n.exponent;
  n.digits.erase(0, std::min(n.digits.find_first_not_of('0'), n.digits.size() - 1));
  return n;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name, bool any_case = false) {
  // A space before a unit is welcome, a space before nothing is left over.
  if (name.size() > 1 && name.front() == ' ') name.remove_prefix(1);
  std::string wanted(name);
  if (any_case)
    for (char& c : wanted) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Unit& unit : units)
    if (unit.name == wanted) return &unit;
  return nullptr;
}

// number * factor in whole numbers, exactly: a double would already lose 2^53 + 1.
std::uint64_t whole(const Number& number, std::uint64_t factor, bool round_down, std::uint64_t most,
                    std::string_view text, const Complaint& complaint) {
  // 22 digits times the largest factor (a week in ns, 2^50) stay below 2^124. More digits than that are
  // either too large or finer than any unit.
  constexpr std::size_t kDigits = 22;
  if (number.digits == "0") return 0;
  if (number.digits.size() > kDigits) {
    if (number.exponent >= 0) complaint.large(text);
    complaint.wrong(text);
  }
  Wide value = 0;
  for (const char c : number.digits) value = value * 10 + static_cast<unsigned>(c - '0');
  value *= factor;
  bool fraction = false;
  for (std::int64_t e = number.exponent; e < 0 && value > 0; ++e) {
    fraction = fraction || value % 10 != 0;
    value /= 10;
  }
  if (fraction && !round_down) complaint.wrong(text);
  for (std::int64_t e = number.exponent; e > 0; --e) {
    if (value > kLargest) complaint.large(text);
    value *= 10;
  }
  if (value > most) complaint.large(text);
  return static_cast<std::uint64_t>(value);
}

std::uint64_t read_whole(std::string_view text, std::span<const Unit> units, bool any_case, bool round_down,
                         std::uint64_t most, const Complaint& complaint) {
  std::string_view rest = text;
  const std::optional<Number> number = take_number(rest);
  const Unit* unit = number ? find_unit(units, rest, any_case) : nullptr;
  if (unit == nullptr) complaint.wrong(text);
  return whole(*number, unit->factor, round_down, most, text, complaint);
}

double to_double(const Number& number, std::string_view text, const Complaint& complaint) {
  double value = 0;
  const char* end = number.plain.data() + number.plain.size();
  const auto [at, error] = std::from_chars(number.plain.data(), end, value);
  if (error == std::errc::result_out_of_range && number.exponent > 0) complaint.large(text);
  if (error != std::errc() || at != end || !std::isfinite(value)) complaint.wrong(text);
  return value;
}

// A number with a unit of counting, as a double.
double read_scaled(std::string_view part, std::string_view text, const Complaint& complaint) {
  const std::optional<Number> number = take_number(part);
  const Unit* unit = number ? find_unit(kCounts, part) : nullptr;
  if (unit == nullptr) complaint.wrong(text);
  const double value = to_double(*number, text, complaint) * static_cast<double>(unit->factor);
  if (!std::isfinite(value)) complaint.large(text);
  return value;
}

// 1.5, 12.3, 123: one digit after the point at most.
std::string trimmed(double value) {
  std::string out = value < 99.95 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

// The largest unit of which there is at least one AFTER rounding: 999 960 is 1 M, not 1000 k.
std::string scaled(double value, double base, std::span<const std::string_view> units) {
  std::size_t i = 0;
  while (i + 1 < units.size() && value >= base - 0.5) value /= base, ++i;
  return units[i].empty() ? trimmed(value) : trimmed(value) + " " + std::string(units[i]);
}

}  // namespace

std::uint64_t read_count(std::string_view text) { return read_whole(text, kCounts, false, false, kLargest, kCount); }

std::uint64_t read_bytes(std::string_view text) { return read_whole(text, kBytes, true, true, kLargest, kSize); }

std::chrono::nanoseconds read_duration(std::string_view text) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(read_whole(text, kDurations, false, true, most, kDuration)));
}

double read_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  const double count = read_scaled(text.substr(0, slash), text, kRate);
  if (slash == std::string_view::npos) return count;
  const std::string_view per = text.substr(slash + 1);
  const Unit* unit = per.empty() || per.front() == ' ' ? nullptr : find_unit(kDurations, per);
  if (unit == nullptr) kRate.wrong(text);
  const double rate = count * (static_cast<double>(kSecond) / static_cast<double>(unit->factor));
  if (!std::isfinite(rate)) kRate.large(text);
  return rate;
}

double read_probability(std::string_view text) {
  double value = 0;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const double out_of = read_scaled(text.substr(slash + 1), text, kProbability);
    if (out_of == 0) kProbability.wrong(text);
    value = read_scaled(text.substr(0, slash), text, kProbability) / out_of;
  } else {
    std::string_view rest = text;
    const std::optional<Number> number = take_number(rest);
    if (!number || !(rest.empty() || rest == "%" || rest == " %")) kProbability.wrong(text);
    value = to_double(*number, text, kProbability) / (rest.empty() ? 1.0 : 100.0);
  }
  if (!(value >= 0 && value <= 1)) kProbability.wrong(text);
  return value;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes), 1024, units);
}

std::string human_count(std::uint64_t count) {
  static constexpr std::array<std::string_view, 5> units = {"", "k", "M", "G", "T"};
  return scaled(static_cast<double>(count), 1000, units);
}

std::string human_seconds(double seconds) {
  if (!(seconds >= 0)) return "unknown";
  if (std::isinf(seconds)) return "forever";
  if (seconds < 59.95) {
    if (seconds == 0) return "0 s";
    static constexpr std::array<std::string_view, 4> units = {"ns", "us", "ms", "s"};
    return scaled(seconds * 1e9, 1000, units);
  }
  if (seconds >= 365.25 * 86400) return trimmed(seconds / (365.25 * 86400)) + " years";
  const auto parts = [](std::uint64_t whole_units, std::uint64_t per, std::string_view large, std::string_view small) {
    std::string out = fmt::format("{} {}", whole_units / per, large);
    if (whole_units % per != 0) out += fmt::format(" {} {}", whole_units % per, small);
    return out;
  };
  const auto rounded = [&](double unit) { return static_cast<std::uint64_t>(std::llround(seconds / unit)); };
  if (rounded(1) < 3600) return parts(rounded(1), 60, "min", "s");
  if (rounded(60) < 1440) return parts(rounded(60), 60, "h", "min");
  return parts(rounded(3600), 24, "d", "h");
}

std::string duration_text(std::uint64_t nanoseconds) {
  // One day is 24h, as people write it.
  if (nanoseconds > 86400 * kSecond && nanoseconds % (86400 * kSecond) == 0)
    return fmt::format("{}d", nanoseconds / (86400 * kSecond));
  for (const std::string_view name : {"h", "m", "s", "ms", "us"})
    if (const std::uint64_t unit = find_unit(kDurations, name)->factor; nanoseconds >= unit && nanoseconds % unit == 0)
      return fmt::format("{}{}", nanoseconds / unit, name);
  return nanoseconds == 0 ? "0s" : fmt::format("{}ns", nanoseconds);
}

}  // namespace nodup
