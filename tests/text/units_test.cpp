// SPDX-License-Identifier: Apache-2.0
#include "nodup/text/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "nodup/error.hpp"

namespace nodup {
namespace {

using namespace std::chrono_literals;

template <class Read>
std::string complaint(Read&& read, std::string_view text) {
  try {
    (void)read(text);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

// With underscores between its digits in the places where `mask` has bits.
std::string spelled(std::uint64_t value, std::uint64_t mask) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (mask >> i) % 2 == 1) out += '_';
    out += digits[i];
  }
  return out;
}

TEST(ReadCount, Examples) {
  EXPECT_EQ(read_count("0"), 0u);
  EXPECT_EQ(read_count("10M"), 10'000'000u);
  EXPECT_EQ(read_count("10 M"), 10'000'000u);
  EXPECT_EQ(read_count("1e9"), 1'000'000'000u);
  EXPECT_EQ(read_count("1E+9"), 1'000'000'000u);
  EXPECT_EQ(read_count("1_000_000"), 1'000'000u);
  EXPECT_EQ(read_count("2.5k"), 2'500u);
  EXPECT_EQ(read_count("2.50K"), 2'500u);
  EXPECT_EQ(read_count("3B"), 3'000'000'000u);
  EXPECT_EQ(read_count("3G"), 3'000'000'000u);
  EXPECT_EQ(read_count("1.5T"), 1'500'000'000'000u);
  EXPECT_EQ(read_count("1500e-2"), 15u);
  EXPECT_EQ(read_count("0e99999999999999999999"), 0u);
  EXPECT_EQ(read_count("1.0000000000000000000000000000000000000"), 1u);
  EXPECT_EQ(read_count("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(read_count("0000000000000000000000000000000000000007"), 7u);
}

TEST(ReadCount, RefusesWithAnExample) {
  EXPECT_EQ(complaint(read_count, "10Q"), "`10Q` is not a count: write e.g. 10M or 1e9");
  EXPECT_EQ(complaint(read_count, "1e20"), "`1e20` is too large for a count: write e.g. 10M or 1e9");
  EXPECT_EQ(complaint(read_count, "a\x1b[2J\n"), "`a?[2J?` is not a count: write e.g. 10M or 1e9");
  for (const std::string_view text :
       {"",     " ",    "-1",    "+1",  " 1",         "1 ",   "1  k",  "1kk",
        "10m",  "1k ",  "nan",   "inf", "1.5",        "1.",   ".5",    "1e",
        "1e+",  "e9",   "_1",    "1_",  "1__0",       "1_.5", "1._5",  "1,000",
        "0x10", "1e-1", "2.5e0", "1/2", "10 million", "M",    "1.2.3", "0.33333333333333333333333333k"})
    EXPECT_NE(complaint(read_count, text).find("is not a count"), std::string::npos) << text;
  for (const std::string_view text : {"18446744073709551616", "99999999999999999999999999", "1e99999999999999999999",
                                      "18446744.1T", "123456789012345678901234567890T"})
    EXPECT_NE(complaint(read_count, text).find("too large"), std::string::npos) << text;
  EXPECT_NE(complaint(read_count, std::string_view("1\0", 2)).find("is not a count"), std::string::npos);
  EXPECT_LT(complaint(read_count, std::string(100'000, 'x')).size(), 120u);
}

RC_GTEST_PROP(ReadCount, EveryNumberInEverySpelling, (std::uint64_t value, std::uint64_t mask)) {
  RC_ASSERT(read_count(std::to_string(value)) == value);
  RC_ASSERT(read_count(spelled(value, mask)) == value);
  RC_ASSERT(read_count(std::to_string(value) + "000e-3") == value);
}

RC_GTEST_PROP(ReadCount, UnitsMultiplyExactly, ()) {
  const auto value = *rc::gen::inRange<std::uint64_t>(0, 18'000'000);
  RC_ASSERT(read_count(std::to_string(value) + "k") == value * 1000);
  RC_ASSERT(read_count(std::to_string(value) + "M") == value * 1'000'000);
  RC_ASSERT(read_count(std::to_string(value) + "T") == value * 1'000'000'000'000);
  RC_ASSERT(read_bytes(std::to_string(value % 16'000'000) + "TiB") == (value % 16'000'000) << 40);
}

// Whatever the bytes: a value or an Error, nothing else.
RC_GTEST_PROP(ReadAny, OddBytesAreRefusedOrRead, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::elementOf(std::string("0123456789.eE_+-/% kKMGBTiInsmhdw")), rc::gen::arbitrary<char>()));
  const auto survives = [&](auto&& read) {
    try {
      (void)read(text);
    } catch (const Error&) {
    }
  };
  survives(read_count);
  survives(read_bytes);
  survives(read_duration);
  survives([](std::string_view t) { RC_ASSERT(std::isfinite(read_rate(t))); });
  survives([](std::string_view t) {
    const double p = read_probability(t);
    RC_ASSERT(p >= 0 && p <= 1);
  });
}

TEST(ReadBytes, AllUnitsAreBinary) {
  EXPECT_EQ(read_bytes("4096"), 4096u);
  EXPECT_EQ(read_bytes("7B"), 7u);
  for (const std::string_view text : {"64M", "64m", "64MB", "64mb", "64MiB", "64 MiB", "65536K", "65_536KiB"})
    EXPECT_EQ(read_bytes(text), 64u << 20) << text;
  EXPECT_EQ(read_bytes("1.5G"), 3ull << 29);
  EXPECT_EQ(read_bytes("1.3K"), 1331u);  // 1331.2
  EXPECT_EQ(read_bytes("0.1"), 0u);
  EXPECT_EQ(read_bytes("15.99T"), 17581190928138u);
  for (const std::string_view text : {"", "-1", "1KBs", "1Ki", "1 ", "M", "nan"})
    EXPECT_NE(complaint(read_bytes, text).find("is not a size in bytes"), std::string::npos) << text;
  EXPECT_NE(complaint(read_bytes, "16777216T").find("too large"), std::string::npos);
}

TEST(ReadDuration, Examples) {
  EXPECT_EQ(read_duration("90s"), 90s);
  EXPECT_EQ(read_duration("90"), 90s);
  EXPECT_EQ(read_duration("5m"), 5min);
  EXPECT_EQ(read_duration("5min"), 5min);
  EXPECT_EQ(read_duration("1.5h"), 90min);
  EXPECT_EQ(read_duration("7d"), 168h);
  EXPECT_EQ(read_duration("2w"), 336h);
  EXPECT_EQ(read_duration("250ms"), 250ms);
  EXPECT_EQ(read_duration("3us"), 3us);
  EXPECT_EQ(read_duration("1.7ns"), 1ns);
  for (const std::string_view text : {"", "5M", "5S", "-5s", "5s5", "1h30m", "s", "inf"})
    EXPECT_NE(complaint(read_duration, text).find("is not a duration"), std::string::npos) << text;
  EXPECT_NE(complaint(read_duration, "9223372037s").find("too large"), std::string::npos);
  EXPECT_EQ(read_duration("9223372036s"), 9'223'372'036s);
}

TEST(ReadRate, Examples) {
  EXPECT_DOUBLE_EQ(read_rate("50k/s"), 50'000);
  EXPECT_DOUBLE_EQ(read_rate("50k"), 50'000);
  EXPECT_DOUBLE_EQ(read_rate("3.6M/h"), 1000);
  EXPECT_DOUBLE_EQ(read_rate("0.5/min"), 0.5 / 60);
  EXPECT_DOUBLE_EQ(read_rate("86400/d"), 1);
  EXPECT_DOUBLE_EQ(read_rate("2/ms"), 2000);
  for (const std::string_view text : {"", "/s", "5/", "5/x", "5/2s", "-5/s", "5/s/s", "5//s", "nan/s", "5/ s", "5Q/s"})
    EXPECT_NE(complaint(read_rate, text).find("is not a rate"), std::string::npos) << text;
  for (const std::string_view text : {"1e308T", "1e308/ns", "1e400"})
    EXPECT_NE(complaint(read_rate, text).find("too large"), std::string::npos) << text;
}

TEST(ReadProbability, Examples) {
  EXPECT_DOUBLE_EQ(read_probability("1e-6"), 1e-6);
  EXPECT_DOUBLE_EQ(read_probability("0.1%"), 0.001);
  EXPECT_DOUBLE_EQ(read_probability("0.1 %"), 0.001);
  EXPECT_DOUBLE_EQ(read_probability("1/1000"), 0.001);
  EXPECT_DOUBLE_EQ(read_probability("3/1M"), 3e-6);
  EXPECT_EQ(read_probability("0"), 0);
  EXPECT_EQ(read_probability("1"), 1);
  EXPECT_EQ(read_probability("100%"), 1);
  for (const std::string_view text : {"", "-0.1", "1.1", "101%", "2/1", "1/0", "0/0", "1/", "/2", "%", "5%%", "nan",
                                      "inf", "1e-400", "1e400", "1k", "1/2%", "0.5x"})
    EXPECT_NE(complaint(read_probability, text).find("probability: write e.g. 1e-6"), std::string::npos) << text;
}

TEST(HumanBytes, Examples) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(100 << 10), "100 KiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(HumanCount, Examples) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1 k");
  EXPECT_EQ(human_count(12'345'678), "12.3 M");
  EXPECT_EQ(human_count(99'960), "100 k");
  EXPECT_EQ(human_count(999'400), "999 k");
  EXPECT_EQ(human_count(999'960), "1 M");
  EXPECT_EQ(human_count(2'000'000'000), "2 G");
}

TEST(HumanSeconds, Examples) {
  EXPECT_EQ(human_seconds(0), "0 s");
  EXPECT_EQ(human_seconds(2.5e-7), "250 ns");
  EXPECT_EQ(human_seconds(0.0000015), "1.5 us");
  EXPECT_EQ(human_seconds(0.25), "250 ms");
  EXPECT_EQ(human_seconds(0.9999), "1 s");
  EXPECT_EQ(human_seconds(59.94), "59.9 s");
  EXPECT_EQ(human_seconds(59.96), "1 min");
  EXPECT_EQ(human_seconds(125), "2 min 5 s");
  EXPECT_EQ(human_seconds(3599.7), "1 h");
  EXPECT_EQ(human_seconds(12'000), "3 h 20 min");
  EXPECT_EQ(human_seconds(86'399), "1 d");
  EXPECT_EQ(human_seconds(4 * 86'400 + 6 * 3600), "4 d 6 h");
  EXPECT_EQ(human_seconds(365.25 * 86'400 * 2.5), "2.5 years");
  EXPECT_EQ(human_seconds(-1), "unknown");
  EXPECT_EQ(human_seconds(std::nan("")), "unknown");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "forever");
}

TEST(DurationText, Examples) {
  constexpr std::uint64_t s = 1'000'000'000;
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(1), "1ns");
  EXPECT_EQ(duration_text(1'500), "1500ns");
  EXPECT_EQ(duration_text(250'000'000), "250ms");
  EXPECT_EQ(duration_text(90 * s), "90s");
  EXPECT_EQ(duration_text(120 * s), "2m");
  EXPECT_EQ(duration_text(3600 * s), "1h");
  EXPECT_EQ(duration_text(86'400 * s), "24h");
  EXPECT_EQ(duration_text(36 * 3600 * s), "36h");
  EXPECT_EQ(duration_text(7 * 86'400 * s), "7d");
}

RC_GTEST_PROP(DurationText, IsExact, (std::uint64_t any)) {
  const std::uint64_t value = any >> *rc::gen::inRange(1, 64);
  RC_ASSERT(static_cast<std::uint64_t>(read_duration(duration_text(value)).count()) == value);
}

// What is printed can be read again, and says the same but for the digits left out: half of the last one
// shown, which is 0.05 of at least 1 or 0.5 of at least 100.
RC_GTEST_PROP(HumanNumbers, CanBeReadAgain, (std::uint64_t any)) {
  const std::uint64_t value = any >> *rc::gen::inRange(16, 64);
  const auto close = [&](std::uint64_t again) {
    return std::abs(static_cast<double>(again) - static_cast<double>(value)) <= 0.0501 * static_cast<double>(value);
  };
  RC_ASSERT(close(read_count(human_count(value))));
  RC_ASSERT(close(read_bytes(human_bytes(value))));
}

}  // namespace
}  // namespace nodup
