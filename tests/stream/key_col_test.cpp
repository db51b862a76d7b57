// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;

KeyContext csv(std::optional<std::string> header = std::nullopt) {
  KeyContext context;
  context.format = {.delimiter = ',', .quoted = true, .header = header.has_value()};
  context.header = std::move(header);
  return context;
}

KeyContext tsv() {
  KeyContext context;
  context.format.delimiter = '\t';
  return context;
}

// The columns' texts, hashed as the key is expected to.
Digest columns(const std::vector<std::string>& texts) {
  std::vector<std::pair<FieldTag, std::string>> fields;
  for (const std::string& text : texts) fields.emplace_back(FieldTag::text, text);
  return framed(fields);
}

Digest one(const KeyContext& context, const std::string& specification, const std::string& row) {
  const Batch batch = extract(*make_key(specification, context), make_batch({row}));
  EXPECT_TRUE(batch.bad.empty()) << row << ": " << batch.bad[0].reason;
  return batch.digests[0];
}

std::string bad(const KeyContext& context, const std::string& specification, const std::string& row) {
  const Batch batch = extract(*make_key(specification, context), make_batch({row}));
  return batch.bad.empty() ? "" : batch.bad[0].reason;
}

TEST(KeyCol, TakesColumnsInTheOrderAsked) {
  EXPECT_EQ(one(csv(), "col:2", "a,b,c"), columns({"b"}));
  EXPECT_EQ(one(csv(), "col:3,1", "a,b,c"), columns({"c", "a"}));
  EXPECT_EQ(one(csv(), "col:1,1", "a,b,c"), columns({"a", "a"}));
  EXPECT_EQ(one(tsv(), "col:2", "a\tb c\td"), columns({"b c"}));
}

TEST(KeyCol, TakesColumnsOfEverySize) {
  for (const std::string& value : values_of_every_size())
    EXPECT_EQ(one(csv(), "col:2,1", "x," + value), columns({value, "x"})) << value;
}

TEST(KeyCol, EmptyColumnsAreText) {
  EXPECT_EQ(one(csv(), "col:2", "a,,c"), columns({""}));
  EXPECT_EQ(one(csv(), "col:3", "a,b,"), columns({""}));
  EXPECT_EQ(one(csv(), "col:1", ""), columns({""}));
  EXPECT_EQ(one(csv(), "col:1", "\"\""), columns({""}));
  EXPECT_EQ(one(csv(), "col:1,2", "\"\",\"\""), columns({"", ""}));
}

TEST(KeyCol, FramingKeepsColumnsApart) {
  EXPECT_NE(one(csv(), "col:1,2", "ab,c"), one(csv(), "col:1,2", "a,bc"));
  EXPECT_NE(one(csv(), "col:1,2", ",a"), one(csv(), "col:1,2", "a,"));
  EXPECT_NE(one(csv(), "col:1", "a"), Hasher(7)("a"));
}

TEST(KeyCol, QuotesAreUnderstood) {
  EXPECT_EQ(one(csv(), "col:1", "\"a\",b"), columns({"a"}));
  EXPECT_EQ(one(csv(), "col:2", "\"a,b\",c"), columns({"c"}));
  EXPECT_EQ(one(csv(), "col:1", "\"a,b\",c"), columns({"a,b"}));
  EXPECT_EQ(one(csv(), "col:1", "\"say \"\"hi\"\"\""), columns({"say \"hi\""}));
  EXPECT_EQ(one(csv(), "col:1,2", "\"\"\"\",\"\"\"x\""), columns({"\"", "\"x"}));
  EXPECT_EQ(one(csv(), "col:2", "5\" disk,b"), columns({"b"}));
  EXPECT_EQ(one(csv(), "col:1", "5\" disk,b"), columns({"5\" disk"}));
  EXPECT_EQ(one(csv(), "col:1", "\"two\nlines\",b"), columns({"two\nlines"}));
}

TEST(KeyCol, TextBehindAClosingQuoteBelongsToTheColumn) {
  EXPECT_EQ(one(csv(), "col:1,2", "\"a\"b,c"), columns({"ab", "c"}));
  EXPECT_EQ(one(csv(), "col:1,2", "\"a\"b\"c,d"), columns({"ab\"c", "d"}));
  EXPECT_EQ(one(csv(), "col:1,2", "\"a\"\"b\" ,d"), columns({"a\"b ", "d"}));
}

TEST(KeyCol, QuotesAreBytesInPlainFormats) { EXPECT_EQ(one(tsv(), "col:1", "\"a\tb\""), columns({"\"a"})); }

TEST(KeyCol, CarriageReturnBelongsToNoColumn) {
  EXPECT_EQ(one(csv(), "col:2", "a,b\r"), columns({"b"}));
  EXPECT_EQ(one(csv(), "col:2", "a,\"b\"\r"), columns({"b"}));
  EXPECT_EQ(one(csv(), "col:2", "a,b\r\r"), columns({"b\r"}));
  EXPECT_EQ(one(csv(), "col:1", "a\r,b"), columns({"a\r"}));
  KeyContext zero = tsv();
  zero.format.separator = '\0';
  EXPECT_EQ(one(zero, "col:1", "a\r"), columns({"a\r"}));
}

TEST(KeyCol, ShortRowsAreBad) {
  EXPECT_EQ(bad(csv(), "col:3", "a,b"), "no column 3 (the row has 2)");
  EXPECT_EQ(bad(csv(), "col:1,4", "a,b"), "no column 4 (the row has 2)");
  EXPECT_EQ(bad(csv(), "col:2", ""), "no column 2 (the row has 1)");
  EXPECT_EQ(bad(csv(), "col:18446744073709551615", "a,b"), "no column 18446744073709551615 (the row has 2)");
  EXPECT_EQ(bad(csv(), "col:2", "\"a"), "quotes never close");
  EXPECT_EQ(bad(csv(), "col:1", "\"a"), "quotes never close");
}

TEST(KeyCol, UnterminatedQuoteSpoilsOnlyTheLastRecord) {
  Batch batch = make_batch({"a,b", "c,\"d\n"}, false);
  batch.unterminated_quote = true;
  batch = extract(*make_key("col:1", csv()), std::move(batch));
  ASSERT_EQ(batch.bad.size(), 1u);
  EXPECT_EQ(batch.bad[0].index, 1u);
  EXPECT_EQ(batch.bad[0].reason, "quotes never close");
  EXPECT_EQ(batch.digests[0], columns({"a"}));
}

TEST(KeyCol, FindsNamesInTheHeader) {
  const KeyContext context = csv("\xef\xbb\xbfid,\"e,mail\",2020,e\\x\r");
  EXPECT_EQ(one(context, "col:id", "a,b,c,d"), columns({"a"}));
  EXPECT_EQ(one(context, "col:e\\,mail", "a,b,c,d"), columns({"b"}));
  EXPECT_EQ(one(context, "col:\\2020", "a,b,c,d"), columns({"c"}));
  EXPECT_EQ(one(context, "col:e\\\\x,1", "a,b,c,d"), columns({"d", "a"}));
}

TEST(KeyCol, SkipsTheHeaderRow) {
  Batch batch = make_batch({"id,mail", "1,x"});
  batch.header = 1;
  batch = extract(*make_key("col:mail", csv("id,mail")), std::move(batch));
  EXPECT_TRUE(batch.bad.empty());
  EXPECT_EQ(batch.digests[1], columns({"x"}));
}

TEST(KeyCol, ALaterHeaderMustAgreeWhereNamesAreUsed) {
  const auto second_input = [](const std::string& header) {
    Batch batch = make_batch({header, "x,1"});
    batch.header = 1;
    batch.input = 1;
    return batch;
  };
  const auto by_name = make_key("col:mail", csv("id,mail"));
  EXPECT_EQ(extract(*by_name, second_input("nr,mail")).digests[1], columns({"1"}));
  try {
    extract(*by_name, second_input("mail,id"));
    FAIL() << "rows of the second input would be compared by the wrong column";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "mail is column 1 in input 2 but column 2 in the first"));
  }
  const auto by_number = make_key("col:2", csv("id,mail"));
  EXPECT_EQ(extract(*by_number, second_input("mail,id")).digests[1], columns({"1"}));
}

TEST(KeyCol, RefusesWrongColumns) {
  EXPECT_TRUE(holds(refusal("col:2"), "--key col:2 needs to know the columns: add --csv, --tsv or --delimiter"));
  for (const char* wrong : {"0", "-1", "1,0", "99999999999999999999", "-", "1,,2", ",", "1,", "a\\"}) {
    const std::string message = refusal("col:" + std::string(wrong), csv());
    EXPECT_TRUE(holds(message, "--key col:" + std::string(wrong)));
  }
  EXPECT_TRUE(holds(refusal("col:mail", csv()), "no header"));
  EXPECT_TRUE(holds(refusal("col:mail", csv("id,name\x1b")), "it has id, name?"));
  EXPECT_TRUE(holds(refusal("col:id", csv("id,x,id")), "more than once"));
  EXPECT_EQ(refusal("col:x", csv("id,x,id")), "");
  EXPECT_TRUE(holds(refusal("col:x", csv(std::string(99, ','))), "and 60 more"));
}

TEST(KeyCol, WithoutInputThereIsNoHeaderAndNoComplaint) {
  KeyContext context = csv();
  context.format.header = true;
  const auto key = make_key("col:mail", context);
  EXPECT_TRUE(extract(*key, Batch()).digests.empty());
  EXPECT_THROW(extract(*key, make_batch({"a"})), Error);
}

std::string write_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

bool needs_quotes(const std::string& text) { return text.find_first_of("\",\n\r") != std::string::npos; }

// The twin: rows written as RFC 4180 asks, quoted where need be and sometimes where not, are the same key exactly
// when the chosen columns are the same.
RC_GTEST_PROP(KeyColTwin, DigestsAgreeExactlyWhenColumnsDo, ()) {
  const auto letters = rc::gen::element<std::string>("", "a", "b", "ab", "\"", ",", "\n", "\r", "a\"\"b", "\",\"", "é");
  const auto width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(width, letters)));
  const auto chosen =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, width)));
  std::string specification = "col:";
  for (const std::size_t c : chosen) specification += (specification.back() == ':' ? "" : ",") + std::to_string(c + 1);

  std::vector<std::string> records;
  for (const auto& row : rows) {
    std::string record;
    for (std::size_t c = 0; c < width; ++c) {
      if (c > 0) record += ',';
      record += needs_quotes(row[c]) || *rc::gen::arbitrary<bool>() ? write_quoted(row[c]) : row[c];
    }
    records.push_back(record + (*rc::gen::arbitrary<bool>() ? "\r" : ""));
  }
  const Batch batch = extract(*make_key(specification, csv()), make_batch(records));
  RC_ASSERT(batch.bad.empty());
  std::map<std::vector<std::string>, Digest> twin;
  std::map<Digest, std::vector<std::string>> back;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> tuple;
    for (const std::size_t c : chosen) tuple.push_back(rows[i][c]);
    RC_ASSERT(twin.emplace(tuple, batch.digests[i]).first->second == batch.digests[i]);
    RC_ASSERT(back.emplace(batch.digests[i], tuple).first->second == tuple);
  }
}

RC_GTEST_PROP(KeyColTwin, AnyBytesAreAKeyOrABadRecord, (const std::vector<std::string>& rows)) {
  for (const KeyContext& context : {csv(), tsv()}) {
    const Batch batch = extract(*make_key("col:1,3", context), make_batch(rows, false));
    RC_ASSERT(batch.digests.size() == rows.size());
  }
}

}  // namespace
}  // namespace nodup
