// SPDX-License-Identifier: Apache-2.0
#include "nodup/text/time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ctime>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace nodup {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> read(std::string_view text) {
  std::uint64_t time = 0;
  return read_time(text, time) ? std::optional(time) : std::nullopt;
}

TEST(ReadTime, TheUnitShowsInTheSize) {
  EXPECT_EQ(read("0"), 0u);
  EXPECT_EQ(read("1"), kSecond);
  EXPECT_EQ(read("1700000000"), 1'700'000'000 * kSecond);
  EXPECT_EQ(read("1700000000123"), 1'700'000'000'123'000'000u);
  EXPECT_EQ(read("1700000000123456"), 1'700'000'000'123'456'000u);
  EXPECT_EQ(read("1700000000123456789"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("100000000000"), 100'000'000'000'000'000u);     // the first milliseconds
  EXPECT_EQ(read("99999999999999"), std::nullopt);               // the last ones are far in the future
  EXPECT_EQ(read("100000000000000"), 100'000'000'000'000'000u);  // the first microseconds
  EXPECT_EQ(read("99999999999999999"), std::nullopt);
  EXPECT_EQ(read("100000000000000000"), 100'000'000'000'000'000u);  // the first nanoseconds
}

TEST(ReadTime, EndsInTheYear2554) {
  EXPECT_EQ(read("18446744073"), 18'446'744'073 * kSecond);
  EXPECT_EQ(read("18446744073.709551615"), kLast);
  EXPECT_EQ(read("18446744073.709551616"), std::nullopt);
  EXPECT_EQ(read("18446744074"), std::nullopt);
  EXPECT_EQ(read("99999999999"), std::nullopt);
  EXPECT_EQ(read("18446744073709551615"), kLast);
  EXPECT_EQ(read("18446744073709551616"), std::nullopt);
  EXPECT_EQ(read("170000000000000000000000"), std::nullopt);
  EXPECT_EQ(read("2554-07-21T23:34:33.709551615Z"), kLast);
  EXPECT_EQ(read("2554-07-21T23:34:33.709551616Z"), std::nullopt);
  EXPECT_EQ(read("2554-07-21T23:34:34Z"), std::nullopt);
  EXPECT_EQ(read("9999-12-31T23:59:59Z"), std::nullopt);
}

TEST(ReadTime, FractionsAreExactAndCutAtNanoseconds) {
  EXPECT_EQ(read("1700000000.123"), 1'700'000'000'123'000'000u);
  EXPECT_EQ(read("1700000000.123456789"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("1700000000.1234567899999999999999999"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("1700000000123.456789"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("1700000000123456.7899"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("1700000000123456789.9"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("99999999999.999"), std::nullopt);
  EXPECT_EQ(read("0.000000001"), 1u);
  EXPECT_EQ(read("0001700000000"), 1'700'000'000 * kSecond);
}

TEST(ReadTime, ExponentsMoveThePoint) {
  EXPECT_EQ(read("1.7e9"), 1'700'000'000 * kSecond);
  EXPECT_EQ(read("1.700000000123E+09"), 1'700'000'000'123'000'000u);
  EXPECT_EQ(read("1700000000123456789e-9"), 1'700'000'000'123'456'789u);
  EXPECT_EQ(read("1.7e18"), 1'700'000'000 * kSecond);
  EXPECT_EQ(read("17e0"), 17 * kSecond);
  EXPECT_EQ(read("17e-2"), 170'000'000u);
  EXPECT_EQ(read("17e-3"), 17'000'000u);
  EXPECT_EQ(read("1e-40"), 0u);
  EXPECT_EQ(read("1e11"), 100'000'000'000'000'000u);
  for (const char* text : {"1e20", "1e40", "1e41", "1e-41", "1e99999999999", "1e", "e9", "1.e9", ".5e9", "1e+-9",
                           "1e--9", "1e+", "1e9.5", "1e9 ", "-1e9", "1.2.3e4", "1e9e9", "1.7 e9"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

TEST(ReadTime, Rfc3339) {
  constexpr std::uint64_t kTime = 1'794'717'809 * kSecond;
  EXPECT_EQ(read("2026-11-15T04:43:29Z"), kTime);
  EXPECT_EQ(read("2026-11-15t04:43:29z"), kTime);
  EXPECT_EQ(read("2026-11-15 04:43:29Z"), kTime);
  EXPECT_EQ(read("2026-11-15T06:43:29+02:00"), kTime);
  EXPECT_EQ(read("2026-11-15T06:43:29+0200"), kTime);
  EXPECT_EQ(read("2026-11-15 06:43:29+02"), kTime);
  EXPECT_EQ(read("2026-11-14T23:13:29-05:30"), kTime);
  EXPECT_EQ(read("2026-11-14T23:13:29-0530"), kTime);
  EXPECT_EQ(read("2026-11-15T04:43:29-00:00"), kTime);
  EXPECT_EQ(read("2026-11-15T04:43:29.5Z"), kTime + kSecond / 2);
  EXPECT_EQ(read("2026-11-15T04:43:29.123456789Z"), kTime + 123'456'789);
  EXPECT_EQ(read("2026-11-15T06:43:29.1234567899999+02:00"), kTime + 123'456'789);
  EXPECT_EQ(read("1970-01-01T00:00:00Z"), 0u);
  EXPECT_EQ(read("1969-12-31T23:00:00-02:00"), 3600 * kSecond);
  EXPECT_EQ(read("2000-02-29T00:00:00Z"), 951'782'400 * kSecond);
}

TEST(ReadTime, ALeapSecondIsTheNextSecond) {
  EXPECT_EQ(read("2016-12-31T23:59:60Z"), read("2017-01-01T00:00:00Z"));
  EXPECT_EQ(read("2016-12-31T23:59:60.5Z"), read("2017-01-01T00:00:00.5Z"));
  EXPECT_EQ(read("2017-01-01T05:29:60+05:30"), read("2017-01-01T00:00:00Z"));
  EXPECT_EQ(read("2016-12-31T22:59:60Z"), std::nullopt);
  EXPECT_EQ(read("2016-12-31T23:59:61Z"), std::nullopt);
}

TEST(ReadTime, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           " ",
                           "abc",
                           "-1",
                           "+1",
                           "-0",
                           "1.",
                           ".5",
                           "1..2",
                           "1.2.3",
                           "1 ",
                           " 1",
                           "1s",
                           "0x10",
                           "1_000",
                           "1,5",
                           "nan",
                           "inf",
                           "null",

                           "2026-11-15",
                           "2026-11-15T04:43Z",
                           "2026-11-15T04:43:29",
                           "2026-11-15 04:43:29.5",
                           "2026-11-15T04:43:29.Z",
                           "2026-11-15T04:43:29,5Z",
                           "2026-11-15T04:43:29ZZ",
                           "2026-11-15T04:43:29Z ",
                           " 2026-11-15T04:43:29Z",
                           "2026-11-15T04:43:29 Z",
                           "2026-11-15T04:43:29+",
                           "2026-11-15T04:43:29+2:00",
                           "2026-11-15T04:43:29+02:0",
                           "2026-11-15T04:43:29+02:",
                           "2026-11-15T04:43:29+02-00",
                           "2026-11-15T04:43:29+24:00",
                           "2026-11-15T04:43:29+02:60",
                           "2026-11-15T04:43:29*02:00",
                           "2026-11-15T04:43:29+020",
                           "2026-11-15T04:43:29UTC",
                           "2026-11-15X04:43:29Z",
                           "2026/11/15T04:43:29Z",
                           "2026-11/15T04:43:29Z",
                           "2026-11-15T04.43:29Z",
                           "2026-11-15T04:43.29Z",
                           "2026-02-30T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2100-02-29T00:00:00Z",
                           "2026-04-31T00:00:00Z",
                           "2026-00-10T00:00:00Z",
                           "2026-13-10T00:00:00Z",
                           "2026-11-00T00:00:00Z",
                           "2026-11-15T24:00:00Z",
                           "2026-11-15T04:60:00Z",
                           "2026-11-15T4:43:29Z",
                           "202a-11-15T04:43:29Z",
                           "2026-1:-15T04:43:29Z",
                           "2026-11-15T04:43:2/Z",
                           "1969-12-31T23:59:59Z",
                           "1970-01-01T00:00:00+00:01",
                           "0000-01-01T00:00:00Z",
                           "12026-11-15T04:43:29Z",
                           "-2026-11-15T04:43:29Z"}) {
    EXPECT_EQ(read(text), std::nullopt) << text;
  }
}

TEST(ReadTime, TheComplaintShowsWhatToWrite) {
  EXPECT_EQ(no_time("abc"), "`abc` is no time: epoch seconds (or ms, us, ns) or RFC 3339 like 2026-11-15T04:43:29Z");
  EXPECT_EQ(no_time("\x1b[31m"),
            "`?[31m` is no time: epoch seconds (or ms, us, ns) or RFC 3339 like 2026-11-15T04:43:29Z");
  EXPECT_TRUE(no_time("2026-11-15T04:43:29").ends_with("Z, with Z or an offset, from 1970 to 2554"));
}

TEST(HumanTime, HasTheDigitsItTakes) {
  EXPECT_EQ(human_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(human_time(1'794'717'809 * kSecond), "2026-11-15T04:43:29Z");
  EXPECT_EQ(human_time(1'794'717'809 * kSecond + 250'000'000), "2026-11-15T04:43:29.25Z");
  EXPECT_EQ(human_time(1'794'717'809 * kSecond + 1), "2026-11-15T04:43:29.000000001Z");
  EXPECT_EQ(human_time(kLast), "2554-07-21T23:34:33.709551615Z");
}

// gmtime knows the calendar, too.
RC_GTEST_PROP(ReadTime, AgreesWithTheCalendarOfTheLibrary, ()) {
  const auto seconds = *rc::gen::inRange<std::time_t>(0, 18'446'744'073);
  const auto offset = *rc::gen::inRange(-23 * 60 - 59, 23 * 60 + 60);  // minutes
  const std::time_t local = seconds + 60 * offset;
  std::tm parts{};
  RC_PRE(gmtime_r(&local, &parts) != nullptr);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const unsigned minutes = static_cast<unsigned>(std::abs(offset));
  const std::string written = fmt::format("{}{}{:02}:{:02}", text, offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
  RC_ASSERT(read(written) == static_cast<std::uint64_t>(seconds) * kSecond);
}

RC_GTEST_PROP(ReadTime, ReadsWhatPeopleAreShown, (std::uint64_t nanoseconds)) {
  RC_ASSERT(read(human_time(nanoseconds)) == nanoseconds);
}

// However a number is spelled: with a point, with an exponent, with both.
RC_GTEST_PROP(ReadTime, SpellingsOfANumberAreOneTime, ()) {
  const auto digits = std::to_string(*rc::gen::inRange<std::uint64_t>(100'000'000, 18'446'744'073'709'551'615u));
  const auto point = *rc::gen::inRange<std::size_t>(1, digits.size());
  const int exponent = *rc::gen::inRange(-20, 21);
  const auto plain = digits.substr(0, point) + "." + digits.substr(point);
  const std::string padded = std::string(25, '0') + digits + std::string(25, '0');
  const std::size_t moved = 25 + point + static_cast<std::size_t>(exponent + 20) - 20;
  const std::string expanded = padded.substr(0, moved) + "." + padded.substr(moved);
  RC_ASSERT(read(fmt::format("{}e{}", plain, exponent)) == read(expanded));
  RC_ASSERT(read(plain + "e0") == read(plain));
}

// A time is never read from what stands behind the text.
TEST(ReadTime, KeepsToItsText) {
  const std::string text = "2026-11-15T04:43:29.123456789+02:00";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string exact = text.substr(0, size);
    EXPECT_EQ(read(std::string_view(text).substr(0, size)), read(std::string_view(exact.data(), size))) << exact;
  }
}

}  // namespace
}  // namespace nodup
