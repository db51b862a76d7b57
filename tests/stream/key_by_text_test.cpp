// SPDX-License-Identifier: Apache-2.0
//
// Keys compared by text (KeyContext::by_text), digests of each field (each_field), and the names of fields.
#include <array>

#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;

KeyContext by_text(RecordFormat format = {}, std::optional<std::string> header = std::nullopt) {
  format.header = header.has_value();
  return {.format = format, .header = std::move(header), .by_text = true};
}

constexpr RecordFormat kCsv{.delimiter = ',', .quoted = true};

// The digest of the record's key by text; the record stands between others, so it meets the walk over many.
Digest text_key(const std::string& specification, const std::string& record, const RecordFormat& format = {}) {
  const auto key = make_key(specification, by_text(format));
  const Batch batch = extract(*key, make_batch({record, record}));
  EXPECT_TRUE(batch.bad.empty()) << specification << " of " << record << ": " << batch.bad[0].reason;
  EXPECT_EQ(batch.digests[0], batch.digests[1]);
  EXPECT_EQ(batch.fields_per_record, 0u);
  EXPECT_TRUE(batch.fields.empty());
  return batch.digests[0];
}

std::string bad(const std::string& specification, const std::string& record, const KeyContext& context) {
  const Batch batch = extract(*make_key(specification, context), make_batch({record}));
  return batch.bad.empty() ? "" : batch.bad[0].reason;
}

TEST(KeyByText, KindsOfRecordsMeet) {
  const Digest seventeen = Hasher(7)("17");
  EXPECT_EQ(text_key("line", "17"), seventeen);
  EXPECT_EQ(text_key("line", "17\r"), seventeen);
  EXPECT_EQ(text_key("json:a", R"({"a":17})"), seventeen);
  EXPECT_EQ(text_key("json:a", R"({"a":"17"})"), seventeen);
  EXPECT_EQ(text_key("json:a", R"({"a":"\u0031\u0037"})"), seventeen);
  EXPECT_EQ(text_key("json:o.a[1]", R"({"o":{"a":[1, 17 ]}})"), seventeen);
  EXPECT_EQ(text_key("col:2", "x,17,y", kCsv), seventeen);
  EXPECT_EQ(text_key("col:2", "x,\"17\"\r", kCsv), seventeen);
  EXPECT_EQ(text_key("col:1", "17\tx", {.delimiter = '\t'}), seventeen);
}

TEST(KeyByText, TextsThatDifferStayApart) {
  EXPECT_NE(text_key("json:a", R"({"a":1})"), text_key("json:a", R"({"a":1.0})"));
  EXPECT_NE(text_key("line", "17"), text_key("line", " 17"));
  EXPECT_NE(text_key("line", "17"), text_key("line", "17\r\r"));
  // Where records do not end in a newline, a carriage return is a byte like others.
  EXPECT_EQ(text_key("line", "17\r", {.separator = '\0'}), Hasher(7)("17\r"));
}

TEST(KeyByText, LiteralsAreTheirText) {
  EXPECT_EQ(text_key("json:a", R"({"a":true})"), text_key("line", "true"));
  EXPECT_EQ(text_key("json:a", R"({"a":false})"), text_key("json:a", R"({"a":"false"})"));
}

TEST(KeyByText, CompoundsAreTheirText) {
  EXPECT_EQ(text_key("json:a", R"({"a":[1, 2]})"), text_key("line", "[1, 2]"));
  EXPECT_NE(text_key("json:a", R"({"a":[1, 2]})"), text_key("json:a", R"({"a":[1,2]})"));
}

TEST(KeyByText, FieldsComeOneAfterTheOther) {
  const Digest two = framed({{FieldTag::text, "17"}, {FieldTag::text, "true"}});
  EXPECT_EQ(text_key("json:a,b", R"({"b":true,"a":17})"), two);
  EXPECT_EQ(text_key("json:a,b", R"({"b":"true","a":"\u00317"})"), two);
  EXPECT_EQ(text_key("col:2,1", "true,17", kCsv), two);
  EXPECT_NE(text_key("col:1,2", "true,17", kCsv), two);
}

TEST(KeyByText, NullMatchesNothing) {
  const std::string null = "the field user is null: null matches nothing";
  EXPECT_EQ(bad("json:user", R"({"user":null})", by_text()), null);
  EXPECT_EQ(bad("json:a,user", R"({"user": null ,"a":1})", by_text()), null);
  EXPECT_EQ(bad("json:user", R"({"us\u0065r":null})", by_text()), null);
  EXPECT_EQ(bad("json:user", R"({"user":"null"})", by_text()), "");
  EXPECT_EQ(bad("json:user", R"({"user":null})", {}), "");  // a value like others where kinds count
}

TEST(KeyByText, MissingIsNamedAndEmptyIsAValue) {
  EXPECT_EQ(bad("json:user", R"({"x":1})", by_text()), "no field user");
  EXPECT_EQ(bad("col:3", "a,b", by_text(kCsv)), "no column 3 (the row has 2)");
  const Digest empty = Hasher(7)("");
  EXPECT_EQ(text_key("col:2", "a,,b", kCsv), empty);
  EXPECT_EQ(text_key("col:2", "a,\"\",b", kCsv), empty);
  EXPECT_EQ(text_key("json:a", R"({"a":""})"), empty);
  EXPECT_EQ(text_key("line", ""), empty);
}

TEST(KeyByText, TheByteOrderMarkOfAnInputIsNoPartOfALine) {
  const auto key = make_key("line", by_text());
  Batch batch = extract(*key, make_batch({"\xef\xbb\xbf"
                                          "17",
                                          "17",
                                          "\xef\xbb\xbf"
                                          "17"}));
  EXPECT_EQ(batch.digests[0], batch.digests[1]);
  EXPECT_NE(batch.digests[2], batch.digests[1]);
  batch.first_record = 2;
  batch = extract(*key, std::move(batch));
  EXPECT_NE(batch.digests[0], batch.digests[1]);
}

// What a digest by kind is, saved states depend on: it never changes.
TEST(KeyByText, WithoutItNothingChanges) {
  const auto typed = [](const std::string& specification, const std::string& record, const RecordFormat& format) {
    return extract(*make_key(specification, {.format = format, .header = {}}), make_batch({record})).digests[0];
  };
  EXPECT_EQ(typed("line", "17\r", {}), Hasher(7)("17\r"));
  EXPECT_EQ(typed("json:a", R"({"a":17})", {}), framed({{FieldTag::number, "17"}}));
  EXPECT_EQ(typed("json:a", R"({"a":null})", {}), framed({{FieldTag::literal, "null"}}));
  EXPECT_EQ(typed("col:1", "17", kCsv), framed({{FieldTag::text, "17"}}));
}

// Every field's digest is that of a key of its own, by text and by kind, also with a time found in the same walk or in
// a second one, between bad records and behind a header.
TEST(KeyEachField, EqualsTheKeyOfThatFieldAlone) {
  const std::vector<std::string> json = {R"({"user":17,"ad":{"id":"x","t":1},"t":5})",
                                         R"({"user":"17","ad":{"id":true,"t":1},"t":5})",
                                         R"({"user":"broken)",
                                         R"({"ad":{"id":"\u0078","t":1},"user":{"t":1},"t":6})",
                                         R"({"user":1,"t":7})",
                                         R"({"user":"a","ad":{"id":null,"t":1},"t":8})",
                                         R"({"user":"","ad":{"id":{"y":1},"t":1},"t":9})"};
  const std::vector<std::string> rows = {"id,mail,t", "17,\"a,b\",5", "1", "\"x\"\"y\",,5", "17,17,5"};
  struct Case {
    std::string key, time;
    std::vector<std::string> records;
    KeyContext context;
  };
  const std::vector<Case> cases = {{"json:user,ad.id", "", json, {}},
                                   {"json:ad.id,user", "json:t", json, {}},
                                   {"json:user,ad.id,t", "json:ad.t", json, {}},
                                   {"json:user,ad.id", "json:user.t", json, {}},
                                   {"col:mail,1", "", rows, by_text(kCsv, rows[0])},
                                   {"col:1,1,2", "col:t", rows, by_text(kCsv, rows[0])},
                                   {"col:1", "", rows, by_text(kCsv, rows[0])},
                                   {"line", "", rows, by_text({}, rows[0])}};
  for (const Case& c : cases) {
    for (const bool text : {false, true}) {
      const auto made = [&](const std::string& key, const std::string& time, bool each_field) {
        KeyContext context = c.context;
        context.time = time;
        context.by_text = text;
        context.each_field = each_field;
        Batch batch = make_batch(c.records);
        batch.header = context.format.header ? 1 : 0;
        batch.fields_per_record = 9;  // of another time
        return extract(*make_key(key, context), std::move(batch));
      };
      SCOPED_TRACE(c.key + " at " + c.time + (text ? " by text" : " by kind"));
      const Batch plain = made(c.key, c.time, false);
      const Batch whole = made(c.key, c.time, true);
      const std::vector<std::string> names = key_fields(c.key);
      EXPECT_EQ(plain.fields_per_record, 0u);
      ASSERT_EQ(whole.fields_per_record, names.size());
      ASSERT_EQ(whole.fields.size(), names.size() * whole.size());
      ASSERT_EQ(whole.bad.size(), plain.bad.size());
      std::size_t compared = 0;
      for (std::size_t field = 0; field < names.size(); ++field) {
        const Batch alone = made(key_of_fields(c.key, std::array{field}), "", false);
        auto bad = whole.bad.begin();
        for (std::size_t i = whole.header; i < whole.size(); ++i) {
          if (bad != whole.bad.end() && bad->index == i) {
            ++bad;
            continue;
          }
          EXPECT_EQ(whole.digests[i], plain.digests[i]) << i;
          EXPECT_EQ(whole.fields[i * names.size() + field], alone.digests[i]) << c.records[i] << ": " << names[field];
          ++compared;
        }
      }
      EXPECT_GE(compared, names.size());
    }
  }
}

TEST(KeyFields, AreNamedAsTyped) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(key_fields("json:user,ad.id"), (Names{"user", "ad.id"}));
  EXPECT_EQ(key_fields("json:a\\.b,c\\,d,t[0].x"), (Names{"a\\.b", "c\\,d", "t[0].x"}));
  EXPECT_EQ(key_fields("col:2,email"), (Names{"2", "email"}));
  EXPECT_EQ(key_fields("col:e\\,mail,\\2020"), (Names{"e\\,mail", "\\2020"}));
  EXPECT_EQ(key_fields("line"), (Names{"line"}));
  EXPECT_THROW(key_fields("json:a,,b"), Error);
  EXPECT_THROW(key_fields("col:0"), Error);
  EXPECT_THROW(key_fields("xml:a"), Error);
}

TEST(KeyFields, SomeOfThemAreAKeyAgain) {
  const auto chosen = [](std::string_view specification, std::vector<std::size_t> places) {
    return key_of_fields(specification, places);
  };
  EXPECT_EQ(chosen("json:user,ad.id", {1}), "json:ad.id");
  EXPECT_EQ(chosen("json:user,ad.id,x", {2, 0}), "json:x,user");
  EXPECT_EQ(chosen("json:a\\.b,c\\,d", {1}), "json:c\\,d");
  EXPECT_EQ(chosen("col:2,e\\,mail,\\2020", {2, 1}), "col:\\2020,e\\,mail");
  EXPECT_EQ(chosen("line", {0}), "line");
}

}  // namespace
}  // namespace nodup
