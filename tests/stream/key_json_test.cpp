// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "nodup/stream/keys/json_text.hpp"
#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;

using Fields = std::vector<std::pair<FieldTag, std::string>>;

Batch run(const std::string& specification, const std::vector<std::string>& records, bool last_separator = true,
          char separator = '\n', char padding = '}') {
  return extract(*make_key(specification, {}), make_batch(records, last_separator, separator, padding));
}

// The reason why a record has no key; empty if it has one. The record stands last and first in a batch, with and
// without a separator, in front of bytes that look like its continuation: none of it may matter.
std::string bad(const std::string& specification, const std::string& record) {
  const Batch plain = run(specification, {record, "{}"});
  const std::string reason = !plain.bad.empty() && plain.bad[0].index == 0 ? plain.bad[0].reason : "";
  for (const char padding : {'}', ']', ',', '"', ':', '1', '\0'}) {
    const Batch last = run(specification, {"{}", record}, false, '\n', padding);
    const std::string again = !last.bad.empty() && last.bad.back().index == 1 ? last.bad.back().reason : "";
    EXPECT_EQ(again, reason) << record << " before " << padding;
    const Batch cut = run(specification, {record, "{}"}, true, padding);
    const std::string odd = !cut.bad.empty() && cut.bad[0].index == 0 ? cut.bad[0].reason : "";
    EXPECT_EQ(odd, reason) << record << " with separator " << padding;
  }
  return reason;
}

void expect_key(const std::string& specification, const std::string& record, const Fields& fields) {
  const Batch batch = run(specification, {record});
  ASSERT_TRUE(batch.bad.empty()) << record << ": " << batch.bad[0].reason;
  EXPECT_EQ(batch.digests[0], framed(fields)) << specification << " in " << record;
}

TEST(KeyJson, TakesTextsOfEverySize) {
  for (const std::string& value : values_of_every_size())
    expect_key("json:b,a", R"({"a":1,"b":")" + value + "\"}", {{FieldTag::text, value}, {FieldTag::number, "1"}});
}

TEST(KeyJson, TellsKindsOfValuesApart) {
  expect_key("json:a", R"({"a":"x"})", {{FieldTag::text, "x"}});
  expect_key("json:a", R"({"a":""})", {{FieldTag::text, ""}});
  expect_key("json:a", R"({"a": -1.50e+3 })", {{FieldTag::number, "-1.50e+3"}});
  expect_key("json:a", R"({"a":123456789012345678901234567890})",
             {{FieldTag::number, "123456789012345678901234567890"}});
  expect_key("json:a", R"({"a":true})", {{FieldTag::literal, "true"}});
  expect_key("json:a", R"({"a":null })", {{FieldTag::literal, "null"}});
  expect_key("json:a", R"({"a": {"b": [1, 2]} , "c":1})", {{FieldTag::compound, R"({"b": [1, 2]})"}});
  expect_key("json:a", R"({"a": [] })", {{FieldTag::compound, "[]"}});
  expect_key("json:a", R"({"a":{}})", {{FieldTag::compound, "{}"}});
  expect_key("json:a", R"({"a":"[]"})", {{FieldTag::text, "[]"}});
}

TEST(KeyJson, FollowsPaths) {
  const std::string record = R"({"tags":[{"x":1},{"x":2,"y":[3,4]}],"o":{"0":"zero","a.b":5,"c,d":6,"e[":7,"f\\g":8}})";
  expect_key("json:tags[1].x", record, {{FieldTag::number, "2"}});
  expect_key("json:tags.1.y.0", record, {{FieldTag::number, "3"}});
  expect_key("json:tags[1].y[1],tags[0].x", record, {{FieldTag::number, "4"}, {FieldTag::number, "1"}});
  expect_key("json:o.0", record, {{FieldTag::text, "zero"}});
  expect_key("json:o.a\\.b,o.c\\,d,o.e\\[,o.f\\\\g", record,
             {{FieldTag::number, "5"}, {FieldTag::number, "6"}, {FieldTag::number, "7"}, {FieldTag::number, "8"}});
  expect_key("json:[1].a", R"([0,{"a":"x"}])", {{FieldTag::text, "x"}});
  expect_key("json:0", R"(["x"])", {{FieldTag::text, "x"}});
}

TEST(KeyJson, OrderOfFieldsDoesNotMatter) {
  std::vector<std::string> outer = {R"("user":"u")", R"("x":{"id":9,"user":8})", ""};
  std::vector<std::string> inner = {R"("id":1)", R"("name":"n")", R"("y":[{"id":3}])"};
  const Digest expected = framed({{FieldTag::number, "1"}, {FieldTag::text, "u"}, {FieldTag::text, "n"}});
  std::sort(inner.begin(), inner.end());
  int orders = 0;
  do {
    outer[2] = R"("ad":{)" + inner[0] + "," + inner[1] + " , " + inner[2] + "}";
    std::vector<std::string> fields = outer;
    std::sort(fields.begin(), fields.end());
    do {
      const std::string record = "{" + fields[0] + " ," + fields[1] + "," + fields[2] + "}";
      const Batch batch = run("json:ad.id,user,ad.name", {record});
      ASSERT_TRUE(batch.bad.empty()) << record << ": " << batch.bad[0].reason;
      EXPECT_EQ(batch.digests[0], expected) << record;
      ++orders;
    } while (std::next_permutation(fields.begin(), fields.end()));
  } while (std::next_permutation(inner.begin(), inner.end()));
  EXPECT_EQ(orders, 36);
}

TEST(KeyJson, TheFirstOfEqualNamesWins) {
  for (const char* specification : {"json:a,b", "json:b,a"}) {
    const Batch batch =
        run(specification, {R"({"a":1,"b":2,"a":3})", R"({"a":1,"b":2})", R"({"\u0061":1,"a":4,"b":2})"});
    ASSERT_TRUE(batch.bad.empty());
    EXPECT_EQ(batch.digests[0], batch.digests[1]);
    EXPECT_EQ(batch.digests[2], batch.digests[1]);
  }
  EXPECT_EQ(bad("json:ad.id", R"({"ad":{"x":1},"ad":{"id":2}})"), "no field ad.id");
  EXPECT_EQ(bad("json:ad.id", R"({"ad":5,"ad":{"id":2}})"), "no field ad.id");
}

TEST(KeyJson, EscapesAreUnderstoodInValuesAndNames) {
  const std::string smile = "\xf0\x9f\x98\x80";
  expect_key("json:a", R"({"a":"\u00e9\n\"\\\/\b\f\r\t\ud83d\ude00"})",
             {{FieldTag::text, "\xc3\xa9\n\"\\/\b\f\r\t" + smile}});
  expect_key("json:\xc3\xa9", R"({"\u00E9":"x"})", {{FieldTag::text, "x"}});
  expect_key("json:a\"b", R"({"a\"b":"x"})", {{FieldTag::text, "x"}});
  expect_key("json:a,b", R"({"b":"\u0041\u0000","a":"\\"})",
             {{FieldTag::text, "\\"}, {FieldTag::text, std::string("A\0", 2)}});
}

TEST(KeyJson, MissingFieldsAreNamed) {
  EXPECT_EQ(bad("json:user,ad.id", R"({"user":1,"ad":{}})"), "no field ad.id");
  EXPECT_EQ(bad("json:user,ad.id", R"({"ad":{"id":1}})"), "no field user");
  EXPECT_EQ(bad("json:a.b", R"({"a":"b"})"), "no field a.b");
  EXPECT_EQ(bad("json:a.b", R"({"a":[1]})"), "no field a.b");
  EXPECT_EQ(bad("json:a[1]", R"({"a":[1]})"), "no field a[1]");
  EXPECT_EQ(bad("json:a[0]", R"({"a":{"0":1}})"), "no field a[0]");
  EXPECT_EQ(bad("json:a", R"([1])"), "no field a");
  EXPECT_EQ(bad("json:a", R"({})"), "no field a");
  EXPECT_EQ(bad("json:a", R"([])"), "no field a");
  EXPECT_EQ(bad("json:[0]", R"([])"), "no field [0]");
}

TEST(KeyJson, MissingDiffersFromEmptyAndFramesDiffer) {
  const Batch batch = run("json:a,b", {R"({"a":"ab","b":"c"})", R"({"a":"a","b":"bc"})", R"({"a":"1","b":""})",
                                       R"({"a":1,"b":""})", R"({"a":"null","b":""})", R"({"a":null,"b":""})"});
  ASSERT_TRUE(batch.bad.empty());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(batch.digests[i], batch.digests[j]) << i << ' ' << j;
  }
}

TEST(KeyJson, DamageIsFound) {
  for (const char* record : {"",
                             " ",
                             "\t\r",
                             "{",
                             "[",
                             "{]",
                             R"({"a")",
                             R"({"a":)",
                             R"({"a":})",
                             R"({"a":,"b":1})",
                             R"({"a":1)",
                             R"({"a":1]})",
                             R"({"a" 1})",
                             R"({"b":2 "a":1})",
                             R"({"b":2,})",
                             R"({"b":[1,2,"a":1})",
                             R"({"b":{"a":1})",
                             R"({"a":{"x":1})",
                             R"({"a":[1,{})",
                             R"({,"a":1})",
                             R"({1:2,"a":1})",
                             R"({"a":1x})",
                             R"({"a":01})",
                             R"({"a":-})",
                             R"({"a":1.})",
                             R"({"a":.5})",
                             R"({"a":1e})",
                             R"({"a":+1})",
                             R"({"a":nul})",
                             R"({"a":truex})",
                             R"({"a":True})",
                             R"({"a":"x})",
                             R"({"a":"\x"})",
                             R"({"a":"\ud800"})",
                             R"({"a":"\udc00x"})",
                             R"({"a":"\ud800\u0041"})",
                             R"({"a":"\u12"})",
                             R"({"a":"\u12g4"})",
                             R"({"\q":1,"a":1})",
                             "{\"a\":\"\x01\"}",
                             "{\"a\":\"\xff\"}",
                             "{\"a\":1,\"b\":\"\xc3\"}",
                             R"({"a":1}{"a":2})",
                             R"({"a":1} x)",
                             R"({"a":1}])",
                             R"({"a":1,"b":[)",
                             R"({"a":1,"b":"})",
                             R"({"a":1}})",
                             R"({"b":}})",
                             R"({"a"::1})",
                             R"({:})"}) {
    EXPECT_TRUE(holds(bad("json:a", record), "broken JSON: ")) << record;
  }
  EXPECT_TRUE(holds(bad("json:[1]", "[1,]"), "broken JSON: "));
  EXPECT_TRUE(holds(bad("json:[1]", "[1 2]"), "broken JSON: "));
  EXPECT_TRUE(holds(bad("json:[1]", "[:]"), "broken JSON: "));
  EXPECT_TRUE(holds(bad("json:[0]", "[,]"), "broken JSON: "));
}

TEST(KeyJson, WhatIsSkippedIsOnlyCounted) {
  EXPECT_EQ(bad("json:a", R"({"a":1,"b":nonsense})"), "");
  EXPECT_EQ(bad("json:a", R"({"b":[1 2,:},"a":1})"), "");
}

// What comes behind the last wanted field is passed quickly if it is as in the record before: as many tokens, no
// bracket. The damage must be found all the same.
TEST(KeyJson, DamageIsFoundBehindRecordsOfTheSameShape) {
  const std::string usual = R"({"a":1,"name":"longer than a vector","b":2})";
  const Fields key = {{FieldTag::number, "1"}};
  for (const char* sound : {
           R"({"a":1,"name":"[{ a string may hold brackets }]","b":2})",
           R"({"a":1,"long enough to look at":{"b":2}})",
           R"({"a":1,"name":[2,"longer than a vector"]})",
           R"({"a":1,"b":2,"c":3,"d":"more tokens than before"})",
           R"({"a":1,"b":"fewer tokens than before"})",
           R"({"a":1})",
       }) {
    const Batch batch = run("json:a", {usual, sound, usual, sound});
    EXPECT_TRUE(batch.bad.empty()) << sound;
    for (const Digest& digest : batch.digests) EXPECT_EQ(digest, framed(key)) << sound;
  }
  for (const char* broken : {
           R"({"a":1,"name":"longer than a vector","b"[2})",
           R"({"a":1,"name":"longer than a vector"]"b":2})",
           R"({"a":1,"name":"longer than a vector"}"b":2})",
           R"({"a":1,"name":"longer than a vector","b":2,)",
       }) {
    const Batch batch = run("json:a", {usual, broken, usual});
    ASSERT_EQ(batch.bad.size(), 1u) << broken;
    EXPECT_EQ(batch.bad[0].index, 1u) << broken;
    EXPECT_EQ(batch.bad[0].reason, bad("json:a", broken));
  }
}

TEST(KeyJson, TheRecordIsAnObjectOrArray) {
  for (const char* record : {"1", "\"a\"", "true", "null", "x", "-", "}", "]"}) {
    EXPECT_EQ(bad("json:a", record), "not a JSON object or array") << record;
  }
}

TEST(KeyJson, ByteOrderMarkIsSkippedInTheFirstRecordOnly) {
  const std::string marked = "\xef\xbb\xbf{\"a\":1}";
  Batch batch = run("json:a", {marked, R"({"a":1})", marked});
  ASSERT_EQ(batch.bad.size(), 1u);
  EXPECT_EQ(batch.bad[0].index, 2u);
  EXPECT_EQ(batch.digests[0], batch.digests[1]);
  batch.first_record = 2;
  EXPECT_EQ(extract(*make_key("json:a", {}), std::move(batch)).bad.size(), 2u);
}

TEST(KeyJson, DeepNestingAndLongRecords) {
  const std::string deep(200000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_TRUE(holds(bad("json:a", deep), "broken JSON"));
  expect_key("json:a", "{\"x\":" + closed + ",\"a\":1}", {{FieldTag::number, "1"}});
  expect_key("json:a", "{\"a\":" + closed + "}", {{FieldTag::compound, closed}});
  const std::string text(3 << 20, 'x');
  const auto key = make_key("json:a", {});
  const Batch batch = extract(*key, make_batch({R"({"a":1})", "{\"a\":\"" + text + "\\n\"}", R"({"a":1})"}));
  ASSERT_TRUE(batch.bad.empty());
  EXPECT_EQ(batch.digests[1], framed({{FieldTag::text, text + "\n"}}));
  EXPECT_EQ(batch.digests[0], batch.digests[2]);
}

TEST(KeyJson, RefusesWrongPaths) {
  for (const char* wrong : {",",
                            "a,",
                            ",a",
                            "a..b",
                            ".a",
                            "a.",
                            "a[",
                            "a[]",
                            "a[x]",
                            "a[-1]",
                            "a[01]",
                            "a[0]b",
                            "a[99999999999999999999]",
                            "a\\",
                            "a\\n",
                            "a,a",
                            "a,b,a",
                            "a,a.b",
                            "a.b,a",
                            "a[0],a.0",
                            "a[0],a[0]"}) {
    EXPECT_TRUE(holds(refusal("json:" + std::string(wrong)), "--key json:" + std::string(wrong))) << wrong;
  }
  std::string path = "json:a";
  for (int i = 0; i < 300; ++i) path += ".a";
  EXPECT_TRUE(holds(refusal(path), "steps at most"));
  EXPECT_EQ(refusal("json:a[0],a.1,a.b,b"), "");
}

TEST(KeyJson, NumbersAreSpelledAsJsonDoes) {
  for (const char* good : {"0", "-0", "10", "1.0", "0.5", "1e9", "1E-9", "-1.5e+10"})
    EXPECT_TRUE(is_json_number(good)) << good;
  for (const char* wrong : {"", "-", "+1", "01", "1.", ".1", "1e", "1e+", "1x", "0x1", "--1", "1.e1", "NaN"}) {
    EXPECT_FALSE(is_json_number(wrong)) << wrong;
  }
}

// A random way to write a text as a JSON string.
std::string written(const std::vector<std::uint32_t>& points) {
  std::string out = "\"";
  const auto put_unit = [&](std::uint32_t unit) {
    char digits[8];
    std::snprintf(digits, sizeof digits, *rc::gen::arbitrary<bool>() ? "\\u%04x" : "\\u%04X", unit);
    out += digits;
  };
  for (const std::uint32_t point : points) {
    if (point < 0x20 || point == '"' || point == '\\' || *rc::gen::arbitrary<bool>()) {
      if (point == '"' || point == '\\') {
        out.append("\\").append(1, static_cast<char>(point));
      } else if (point >= 0x10000) {
        put_unit(0xd800 + ((point - 0x10000) >> 10));
        put_unit(0xdc00 + ((point - 0x10000) & 0x3ff));
      } else {
        put_unit(point);
      }
    } else if (point < 0x80) {
      out += static_cast<char>(point);
    } else {
      const std::map<std::uint32_t, std::string> utf8 = {
          {0xe9, "\xc3\xa9"}, {0x20ac, "\xe2\x82\xac"}, {0x1f600, "\xf0\x9f\x98\x80"}};
      out += utf8.at(point);
    }
  }
  return out + '"';
}

using Text = std::vector<std::uint32_t>;

rc::Gen<Text> texts() {
  return rc::gen::container<Text>(
      rc::gen::element<std::uint32_t>('a', 'b', 0, '\n', '"', '\\', '/', 0xe9, 0x20ac, 0x1f600));
}

std::string blanks() { return *rc::gen::element<std::string>("", "", " ", "\t", " \r "); }

// The twin: however a record is written, its digest is that of the wanted fields' meaning.
RC_GTEST_PROP(KeyJsonTwin, DigestsAgreeExactlyWhenFieldsDo, ()) {
  const auto rows = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::tuple<Text, Text, int>>>(
      rc::gen::tuple(texts(), texts(), rc::gen::inRange(0, 3))));
  std::vector<std::string> records;
  for (const auto& [user, name, id] : rows) {
    const auto field = [&](const Text& key, const std::string& value) {
      return blanks() + written(key) + blanks() + ":" + blanks() + value + blanks();
    };
    const auto object = [&](std::vector<std::string> fields) {
      for (std::size_t i = fields.size(); i > 1; --i)
        std::swap(fields[i - 1], fields[*rc::gen::inRange<std::size_t>(0, i)]);
      std::string out = "{";
      for (const std::string& text : fields) out += (out.size() > 1 ? "," : "") + text;
      return out + "}";
    };
    const std::string ad =
        object({field({'i', 'd'}, std::to_string(id)), field({'n'}, written(name)), field({'z'}, "[{}, 1]")});
    records.push_back(blanks() +
                      object({field({'u', 0xe9}, written(user)), field({'a', 'd'}, ad), field({'x'}, written(name))}) +
                      blanks());
  }
  const Batch batch = run("json:ad.n,u\xc3\xa9,ad.id", records);
  RC_ASSERT(batch.bad.empty());
  std::map<Digest, std::tuple<Text, Text, int>> back;
  std::map<std::tuple<Text, Text, int>, Digest> twin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RC_ASSERT(twin.emplace(rows[i], batch.digests[i]).first->second == batch.digests[i]);
    RC_ASSERT(back.emplace(batch.digests[i], rows[i]).first->second == rows[i]);
  }
}

// Every way to leave out, double or change one byte of a good record gives a key or a reason, and reads no byte
// outside.
TEST(KeyJson, HurtRecordsNeverHurt) {
  const std::string good = R"({"u":"x\u00e9","ad":{"id":[1,{"a":2}],"n":null},"t":[{"x":1.5},"y"]})";
  const auto key = make_key("json:ad.id[1].a,u,t[0].x,ad.n", {});
  EXPECT_TRUE(extract(*key, make_batch({good})).bad.empty());
  std::size_t bad_records = 0, records = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::vector<std::string> hurt = {good.substr(0, i), good.substr(i), good.substr(0, i) + good.substr(i + 1)};
    for (const char c : std::string("{}[],:\"\\ 1nx\0\xff", 14)) {
      hurt.push_back(good.substr(0, i) + c + good.substr(i));
      hurt.push_back(good.substr(0, i) + c + good.substr(i + 1));
    }
    for (const std::string& record : hurt) {
      for (const char padding : {'}', ',', '"', ']'}) {
        bad_records += extract(*key, make_batch({record}, false, '\n', padding)).bad.size();
        ++records;
      }
    }
  }
  EXPECT_GT(bad_records, records / 2);
}

RC_GTEST_PROP(KeyJsonTwin, AnyTokensAreAKeyOrABadRecord, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "{", "[", ",", ":", "\"a\"", "\"b\"", "1", "null", " ", "\\", "\"", "\\\"", "x", "{\"a\":", "}}", "\"a\":1"));
  std::string record = "{";
  for (const std::string& piece : pieces) record += piece;
  for (const char* specification : {"json:a", "json:a.b,b", "json:a[0],b.a"}) {
    const Batch batch = run(specification, {record}, false, '\n', *rc::gen::element('}', ',', ']', '"', ':'));
    RC_ASSERT(batch.digests.size() == 1u);
  }
}

}  // namespace
}  // namespace nodup
