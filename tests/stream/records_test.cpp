// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/records.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/oracle.hpp"

namespace nodup {
namespace {

using Ends = std::vector<std::uint64_t>;

struct Cut {
  Ends ends;
  bool inside_quotes = false;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// The rules of RFC 4180, one byte after the other.
Cut naive_rows(const std::string& text, char separator, char delimiter) {
  enum { at_start, plain, quoted, after_quote } state = at_start;
  Cut cut;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (state == quoted) {
      if (c == '"') state = after_quote;
    } else if (state == after_quote && c == '"') {
      state = quoted;
    } else if (c == separator) {
      cut.ends.push_back(i);
      state = at_start;
    } else if (c == delimiter) {
      state = at_start;
    } else if (state == at_start && c == '"') {
      state = quoted;
    } else {
      state = plain;
    }
  }
  cut.inside_quotes = state == quoted;
  return cut;
}

Cut scanned(const std::string& text, const RecordFormat& format, std::size_t step) {
  RecordScanner scanner(format);
  Cut cut;
  for (std::size_t from = 0; from < text.size(); from += step)
    scanner.scan(text.data(), from, std::min(text.size(), from + step), cut.ends);
  cut.inside_quotes = scanner.inside_quotes();
  return cut;
}

TEST(RecordScanner, QuotedRowsEqualAStateMachine) {
  testing::Random random(1);
  const std::string alphabet = "a,\"\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::uint64_t left = random.below(24); left > 0; --left) text += alphabet[random.below(alphabet.size())];
    const RecordFormat format{.delimiter = ',', .quoted = true};
    const Cut expected = naive_rows(text, '\n', ',');
    for (const std::size_t step : {1u, 2u, 3u, 1000u}) {
      const Cut cut = scanned(text, format, step);
      ASSERT_EQ(cut.ends, expected.ends) << step << " bytes at once of " << text;
      ASSERT_EQ(cut.inside_quotes, expected.inside_quotes) << step << " bytes at once of " << text;
    }
  }
}

TEST(RecordScanner, OtherSeparatorsAndDelimiters) {
  testing::Random random(2);
  const std::string alphabet = std::string("a;\"\n") + '\0';
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint64_t left = random.below(24); left > 0; --left) text += alphabet[random.below(alphabet.size())];
    const RecordFormat format{.separator = '\0', .delimiter = ';', .quoted = true};
    ASSERT_EQ(scanned(text, format, 1 + random.below(5)), naive_rows(text, '\0', ';'));
  }
}

// Longer than the pieces that are searched at once.
TEST(RecordScanner, LongRows) {
  testing::Random random(3);
  for (int round = 0; round < 20; ++round) {
    std::string text;
    while (text.size() < 20000) {
      text.append(random.below(3) == 0 ? 4090 + random.below(12) : random.below(40), 'x');
      text += "a,\"\n"[random.below(4)];
    }
    const RecordFormat format{.delimiter = ',', .quoted = true};
    const Cut expected = naive_rows(text, '\n', ',');
    for (const std::size_t step : {1u, 4095u, 4096u, 4097u, 100000u}) ASSERT_EQ(scanned(text, format, step), expected);
    Ends lines;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') lines.push_back(i);
    for (const std::size_t step : {1u, 4097u, 100000u}) ASSERT_EQ(scanned(text, {}, step).ends, lines);
  }
}

// What stood before a record is taken away, as the reader does between batches.
TEST(RecordScanner, ShiftsWithTheBytes) {
  testing::Random random(4);
  const std::string alphabet = "a,\"\n";
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint64_t left = random.below(40); left > 0; --left) text += alphabet[random.below(alphabet.size())];
    const Cut expected = naive_rows(text, '\n', ',');
    RecordScanner scanner({.delimiter = ',', .quoted = true});
    Ends all;
    std::string held;
    std::uint64_t gone = 0;
    for (const char c : text) {
      held += c;
      Ends ends;
      scanner.scan(held.data(), held.size() - 1, held.size(), ends);
      if (ends.empty()) continue;
      all.push_back(gone + ends.back());
      gone += held.size();
      scanner.shift(held.size());
      held.clear();
    }
    ASSERT_EQ(all, expected.ends) << text;
    ASSERT_EQ(scanner.inside_quotes(), expected.inside_quotes) << text;
  }
}

TEST(RecordScanner, StartInputForgetsOpenQuotes) {
  RecordScanner scanner({.delimiter = ',', .quoted = true});
  Ends ends;
  scanner.scan("\"open", 0, 5, ends);
  EXPECT_TRUE(scanner.inside_quotes());
  scanner.start_input();
  EXPECT_FALSE(scanner.inside_quotes());
  scanner.scan("a\n", 0, 2, ends);
  EXPECT_EQ(ends, Ends{1});
}

}  // namespace
}  // namespace nodup
