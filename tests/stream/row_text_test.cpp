// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/row_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "nodup/stream/registry.hpp"
#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Why a record has no members; empty if it has. Bytes behind it that look like its continuation must not matter.
std::string reason(const std::string& record) {
  JsonMembers json;
  std::string first;
  for (const char padding : {'}', ']', ',', '"', ':', '1', '\0'}) {
    const Batch batch = make_batch({record}, false, '\n', padding);
    const std::string why = json.read(batch.record(0)) ? "" : json.reason();
    EXPECT_TRUE(why.empty() || json.members().empty()) << record;
    if (padding == '}') first = why;
    EXPECT_EQ(why, first) << record << " before " << padding;
  }
  return first;
}

// The first of that name, as keys have it.
const JsonMembers::Member* find(const JsonMembers& json, std::string_view name) {
  const auto found = std::ranges::find(json.members(), name, &JsonMembers::Member::name);
  return found == json.members().end() ? nullptr : &*found;
}

Pairs members(const std::string& record) {
  JsonMembers json;
  const Batch batch = make_batch({record});
  EXPECT_TRUE(json.read(batch.record(0))) << record << ": " << json.reason();
  Pairs pairs;
  for (const JsonMembers::Member& member : json.members()) pairs.emplace_back(member.name_raw, member.value_raw);
  return pairs;
}

TEST(JsonMembers, KeepTheirBytes) {
  EXPECT_EQ(members(R"( { "a" : 1 ,"b":"x\u00e9" , "c":{"d": [1, {}, [] ]}  ,"e": [ ],"f":null,"":-1.5e3 } )"),
            (Pairs{{"\"a\"", "1"},
                   {"\"b\"", R"("x\u00e9")"},
                   {"\"c\"", R"({"d": [1, {}, [] ]})"},
                   {"\"e\"", "[ ]"},
                   {"\"f\"", "null"},
                   {"\"\"", "-1.5e3"}}));
  EXPECT_TRUE(members("{}").empty());
  EXPECT_TRUE(members(" { } \r").empty());
}

TEST(JsonMembers, AreFoundByWhatTheirNamesMean) {
  JsonMembers json;
  const Batch batch = make_batch({R"({"\u0061b":1,"ab":2,"\"\\":3,"a\nb":4,"p":5})"});
  ASSERT_TRUE(json.read(batch.record(0))) << json.reason();
  ASSERT_EQ(json.members().size(), 5u);
  EXPECT_EQ(json.members()[0].name, "ab");
  EXPECT_EQ(json.members()[0].name_raw, R"("\u0061b")");
  EXPECT_EQ(json.members()[2].name, "\"\\");
  EXPECT_EQ(json.members()[3].name, "a\nb");
  EXPECT_EQ(find(json, "ab"), &json.members()[0]);
  EXPECT_EQ(find(json, "p"), &json.members()[4]);
  EXPECT_EQ(find(json, "\\u0061b"), nullptr);
}

TEST(JsonMembers, OneReaderServesManyRecords) {
  JsonMembers json;
  const Batch batch = make_batch({R"({"a":1,"b\n":2})", R"({"a":)", R"({"c":3})"});
  EXPECT_TRUE(json.read(batch.record(0)));
  EXPECT_FALSE(json.read(batch.record(1)));
  ASSERT_TRUE(json.read(batch.record(2)));
  ASSERT_EQ(json.members().size(), 1u);
  EXPECT_EQ(json.members()[0].value_raw, "3");
}

TEST(JsonMembers, DamageIsFoundWhereverItStands) {
  for (const char* record : {"",
                             "  ",
                             "{",
                             R"({"a")",
                             R"({"a":)",
                             R"({"a":})",
                             R"({"a":1)",
                             R"({"a":1,})",
                             R"({"a":1]})",
                             R"({,"a":1})",
                             R"({"a" 1})",
                             R"({"a":1 "b":2})",
                             R"({1:2})",
                             R"({"a":1}{"a":1})",
                             R"({"a":1} x)",
                             R"({"a":1}})",
                             R"({"a":01})",
                             R"({"a":nul})",
                             R"({"a":"x"y})",
                             R"({"a":"\x"})",
                             R"({"a":"\ud800"})",
                             R"({"\q":1})",
                             R"({"a":"x})",
                             R"({"a":{"b":1,"c":nonsense}})",
                             R"({"a":[1 2]})",
                             R"({"a":[1,]})",
                             R"({"a":[,1]})",
                             R"({"a":[1}})",
                             R"({"a":{"b":1]})",
                             R"({"a":{"b"}})",
                             R"({"a":{"b":1,}})",
                             R"({"a":{"\q":1}})",
                             R"({"a":{1:1}})",
                             R"({"a":[{"b":[1]})",
                             R"({"a":["\u12"]})",
                             "{\"a\":\"\x01\"}",
                             "{\"a\":\"\xff\"}"}) {
    EXPECT_TRUE(holds(reason(record), "broken JSON: ")) << record;
  }
  for (const char* record : {"[1]", "1", "\"a\"", "null", "x", "}"}) EXPECT_EQ(reason(record), "not a JSON object");
  EXPECT_EQ(reason(R"({"a":[1 2]})"), "broken JSON: a comma or ] is missing");
  EXPECT_EQ(reason(R"({"a":{"b":1 2}})"), "broken JSON: a comma or } is missing");
}

TEST(JsonMembers, DepthIsNoDanger) {
  const std::string deep(200000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_EQ(members("{\"x\":" + closed + ",\"a\":1}"), (Pairs{{"\"x\"", closed}, {"\"a\"", "1"}}));
  EXPECT_TRUE(holds(reason("{\"x\":" + deep + "}"), "broken JSON"));
}

// What is sound here has a key there: members are those that keys see. Half of the records are hurt in one place.
RC_GTEST_PROP(JsonMembersTwin, AgreeWithKeys, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      R"("a":1)", R"( "a" : null )", R"("\u0061":"\n")", R"("b":[1,{"a":[]}])", R"("a":{"a":2})", R"("b":"\"a\":1")"));
  std::string record = "{";
  for (const std::string& part : parts) record += (record.size() > 1 ? "," : "") + part;
  record += "}";
  if (*rc::gen::arbitrary<bool>()) {
    const auto place = *rc::gen::inRange<std::size_t>(0, record.size());
    record.replace(place, *rc::gen::inRange<std::size_t>(0, 2),
                   *rc::gen::element("", "}", "]", ",", "\"", ":", "\\", "1"));
  }
  const char padding = *rc::gen::element('}', ',', ']', '"', ':');
  const Batch batch = extract(*make_key("json:a", {}), make_batch({record}, false, '\n', padding));
  JsonMembers json;
  if (!json.read(batch.record(0))) return;
  const JsonMembers::Member* const found = find(json, "a");
  RC_ASSERT(batch.bad.empty() == (found != nullptr));
  if (found == nullptr) {
    RC_ASSERT(batch.bad[0].reason == "no field a");
    return;
  }
  const std::string again = "{\"a\":" + std::string(found->value_raw) + "}";
  RC_ASSERT(extract(*make_key("json:a", {}), make_batch({again})).digests[0] == batch.digests[0]);
}

std::vector<std::string> columns(const std::string& row, const RecordFormat& format) {
  CsvColumns csv(format);
  EXPECT_TRUE(csv.read(row));
  return {csv.columns().begin(), csv.columns().end()};
}

constexpr RecordFormat kCsv{.delimiter = ',', .quoted = true};
constexpr RecordFormat kTsv{.delimiter = '\t'};

TEST(CsvColumns, AreUnquoted) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(columns("a,\"b,\"\"c\"\"\",,\"d\"e\r", kCsv), (Texts{"a", "b,\"c\"", "", "de"}));
  EXPECT_EQ(columns("", kCsv), (Texts{""}));
  EXPECT_EQ(columns(",", kCsv), (Texts{"", ""}));
  EXPECT_EQ(columns("\"a\tb\"", kTsv), (Texts{"\"a", "b\""}));
  CsvColumns csv(kCsv);
  EXPECT_FALSE(csv.read("a,\"b"));
  EXPECT_TRUE(csv.columns().empty());
  EXPECT_TRUE(csv.read("x"));
  EXPECT_EQ(csv.columns().size(), 1u);
}

TEST(AppendCsvField, QuotesOnlyWhatNeedsIt) {
  const auto written = [](std::string_view text, const RecordFormat& format) {
    std::string out = "<";
    return append_csv_field(out, text, format) ? out.substr(1) : out + "refused";
  };
  EXPECT_EQ(written("a b", kCsv), "a b");
  EXPECT_EQ(written("", kCsv), "");
  EXPECT_EQ(written("a,b", kCsv), "\"a,b\"");
  EXPECT_EQ(written("5\" disk", kCsv), "\"5\"\" disk\"");
  EXPECT_EQ(written("a\nb", kCsv), "\"a\nb\"");
  EXPECT_EQ(written("a,b\"", kTsv), "a,b\"");
  for (const char* text : {"a\tb", "a\nb", "a\r"}) EXPECT_EQ(written(text, kTsv), "<refused") << text;
}

// Whatever is written is read again, and is one record of the scanner.
RC_GTEST_PROP(RowTextTwin, ColumnsComeBack, ()) {
  const auto texts = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::element('a', '"', ',', '\t', '\n', '\r', '\0', '\xc3'))));
  const RecordFormat format{.separator = *rc::gen::element('\n', '\0'),
                            .delimiter = *rc::gen::element(',', '\t'),
                            .quoted = *rc::gen::arbitrary<bool>()};
  std::string row;
  std::vector<std::string> kept;
  for (const std::string& text : texts) {
    const std::size_t before = row.size();
    if (!kept.empty()) row += format.delimiter;
    if (append_csv_field(row, text, format)) {
      kept.push_back(text);
    } else {
      RC_ASSERT(!format.quoted);
      row.resize(before);
    }
  }
  if (kept.empty()) return;
  RC_ASSERT(columns(row, format) == kept);
  std::vector<std::uint64_t> ends;
  row += format.separator;
  RecordScanner(format).scan(row.data(), 0, row.size(), ends);
  RC_ASSERT(ends == std::vector<std::uint64_t>{row.size() - 1});
}

RC_GTEST_PROP(RowTextTwin, StringsComeBack, (const std::string& bytes)) {
  std::string text = bytes;
  // Only UTF-8 is JSON: other bytes are not for this test.
  for (char& c : text) c = static_cast<char>(c & 0x7f);
  text += "\xc3\xa9";
  std::string record = "{";
  append_json_string(record, text);
  record += ":1}";
  JsonMembers json;
  const Batch batch = make_batch({record});
  RC_ASSERT(json.read(batch.record(0)));
  RC_ASSERT(json.members()[0].name == text);
}

}  // namespace
}  // namespace nodup
