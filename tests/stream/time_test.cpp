// SPDX-License-Identifier: Apache-2.0
//
// The time of an event beside its key, for every pair of kinds.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "nodup/text/time.hpp"
#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;

constexpr Tick kSecond = 1'000'000'000;

KeyContext with_time(std::string time, KeyContext context = {}) {
  context.time = std::move(time);
  return context;
}

KeyContext csv(std::optional<std::string> header = std::nullopt) {
  KeyContext context;
  context.format = {.delimiter = ',', .quoted = true, .header = header.has_value()};
  context.header = std::move(header);
  return context;
}

// The record stands among others, so that it is found in the block's index as well as alone.
struct Outcome {
  Tick tick;
  std::string bad;
};
Outcome outcome(const std::string& key, const KeyContext& context, const std::string& record) {
  const Batch alone = extract(*make_key(key, context), make_batch({record}));
  const Batch among = extract(*make_key(key, context), make_batch({record, record, record}));
  EXPECT_EQ(alone.ticks.size(), 1u);
  EXPECT_EQ(among.ticks.size(), 3u);
  EXPECT_EQ(among.bad.size(), 3 * alone.bad.size()) << record;
  for (const Tick tick : among.ticks) EXPECT_EQ(tick, alone.ticks[0]) << record;
  for (const BadRecord& bad : among.bad) EXPECT_EQ(bad.reason, alone.bad[0].reason) << record;
  // The time never changes the key.
  if (alone.bad.empty()) {
    KeyContext timeless = context;
    timeless.time.clear();
    const Batch plain = extract(*make_key(key, timeless), make_batch({record}));
    EXPECT_TRUE(plain.bad.empty());
    EXPECT_TRUE(plain.ticks.empty());
    EXPECT_EQ(plain.digests, alone.digests) << record;
    EXPECT_EQ(among.digests, std::vector<Digest>(3, plain.digests[0])) << record;
  }
  return {alone.ticks[0], alone.bad.empty() ? "" : alone.bad[0].reason};
}

Tick tick(const std::string& key, const std::string& time, const std::string& record, const KeyContext& context = {}) {
  const Outcome found = outcome(key, with_time(time, context), record);
  EXPECT_EQ(found.bad, "") << record;
  return found.tick;
}

std::string bad(const std::string& key, const std::string& time, const std::string& record,
                const KeyContext& context = {}) {
  const Outcome found = outcome(key, with_time(time, context), record);
  EXPECT_EQ(found.tick, 0u) << record;
  return found.bad;
}

TEST(TimeJson, NumbersAndStrings) {
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":1,"ts":1700000000})"), 1'700'000'000 * kSecond);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"ts":1700000000.25 , "id":1})"), 1'700'000'000 * kSecond + kSecond / 4);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":1,"ts":"1700000000123"})"), 1'700'000'000'123'000'000u);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":1,"ts":"2026-11-15T06:43:29+02:00"})"), 1'794'717'809 * kSecond);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":1,"ts":1.7e9})"), 1'700'000'000 * kSecond);
}

TEST(TimeJson, EscapesAndNesting) {
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":"\n","ts":"2026-11-15T04:43:29\u005a"})"), 1'794'717'809 * kSecond);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"\u0074s":5,"id":"a\"b"})"), 5 * kSecond);
  EXPECT_EQ(tick("json:id", "json:m.ts", R"({"ts":1,"m":{"x":[{"ts":2}],"ts":3},"id":1})"), 3 * kSecond);
  EXPECT_EQ(tick("json:m.id", "json:m.ts", R"({"m":{"ts":3,"id":1}})"), 3 * kSecond);
  EXPECT_EQ(tick("json:id", "json:t[1]", R"({"t":[4,5],"id":1})"), 5 * kSecond);
  EXPECT_EQ(tick("json:[0]", "json:[1]", R"(["a",7])"), 7 * kSecond);
  EXPECT_EQ(tick("json:id", "json:a\\,b", R"({"a,b":9,"id":1})"), 9 * kSecond);
}

TEST(TimeJson, MayBeAPartOfTheKey) {
  EXPECT_EQ(tick("json:ts", "json:ts", R"({"ts":5})"), 5 * kSecond);
  EXPECT_EQ(tick("json:id,ts", "json:ts", R"({"ts":5,"id":1})"), 5 * kSecond);
  EXPECT_EQ(tick("json:ts,id", "json:ts", R"({"ts":"5","id":1})"), 5 * kSecond);
}

// What one walk cannot find together is found by two.
TEST(TimeJson, MayLieInsideTheKeyOrAroundIt) {
  EXPECT_EQ(tick("json:m", "json:m.ts", R"({"m":{"id":1,"ts":5}})"), 5 * kSecond);
  EXPECT_EQ(tick("json:[0],[1]", "json:[1].ts", R"([1,{"ts":5}])"), 5 * kSecond);
  EXPECT_EQ(tick("json:a[0]", "json:a.1", R"({"a":[1,5]})"), 5 * kSecond);
  EXPECT_EQ(tick("json:a[0]", "json:a.0", R"({"a":[5]})"), 5 * kSecond);
  EXPECT_EQ(bad("json:m", "json:m.ts", R"({"m":{"id":1}})"), "no field m.ts");
  EXPECT_EQ(bad("json:m", "json:m.ts", R"({"x":{"id":1}})"), "no field m");
  EXPECT_TRUE(bad("json:m.id", "json:m", R"({"m":{"id":1}})").starts_with("field m: `{\"id\":1}` is no time"));
}

TEST(TimeJson, TheFirstOfEqualNamesWins) {
  EXPECT_EQ(tick("json:id", "json:ts", R"({"ts":1,"ts":2,"id":3,"ts":4})"), kSecond);
  EXPECT_EQ(tick("json:id", "json:ts", R"({"id":3,"id":4,"\u0074s":1,"ts":2})"), kSecond);
  EXPECT_TRUE(bad("json:id", "json:ts", R"({"ts":"x","ts":2,"id":3})").starts_with("field ts: `x` is no time"));
}

TEST(TimeJson, BadTimesAreNamed) {
  EXPECT_EQ(bad("json:id", "json:ts", R"({"id":1})"), "no field ts");
  EXPECT_EQ(bad("json:id", "json:m.ts", R"({"id":1,"m":5})"), "no field m.ts");
  EXPECT_EQ(bad("json:id", "json:ts", R"({"id":1,"ts":"abc"})"),
            "field ts: `abc` is no time: epoch seconds (or ms, us, ns) or RFC 3339 like 2026-11-15T04:43:29Z");
  for (const char* value :
       {"null", "true", "-5", "[5]", "{\"a\":5}", "\"\"", "\" 5\"", "1e40", "\"2026-02-30T00:00:00Z\""})
    EXPECT_TRUE(holds(bad("json:id", "json:ts", std::string(R"({"id":1,"ts":)") + value + "}"), "is no time")) << value;
}

TEST(TimeJson, TheFaultOfTheKeyComesFirst) {
  EXPECT_EQ(bad("json:id", "json:ts", R"({"ts":"abc"})"), "no field id");
  EXPECT_EQ(bad("json:id", "json:ts", "{}"), "no field id");
  EXPECT_EQ(bad("json:id", "json:ts", R"(["id"])"), "no field id");
  EXPECT_EQ(bad("json:id", "json:ts", R"({"id":1,"ts":5)"), "broken JSON: a comma or } is missing");
  EXPECT_EQ(bad("json:id", "json:ts", "5"), "not a JSON object or array");
}

TEST(TimeJson, OneBadRecordLeavesTheOthersAlone) {
  const Batch batch =
      extract(*make_key("json:id", with_time("json:ts")),
              make_batch({R"({"id":1,"ts":1})", R"({"id":1,"ts":"x"})", R"({"ts":3})", "", R"({"id":1,"ts":5})"}));
  ASSERT_EQ(batch.bad.size(), 3u);
  EXPECT_EQ(batch.bad[0].index, 1u);
  EXPECT_EQ(batch.bad[1].reason, "no field id");
  EXPECT_EQ(batch.bad[2].index, 3u);
  EXPECT_EQ(batch.ticks, (std::vector<Tick>{kSecond, 0, 0, 0, 5 * kSecond}));
  EXPECT_EQ(batch.digests[0], batch.digests[4]);
}

TEST(TimeCol, ByNumberAndByName) {
  EXPECT_EQ(tick("col:1", "col:3", "a,b,5", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:3,1", "col:2", "a,5,c", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:id", "col:when", "5,x", csv("when,id")), 5 * kSecond);
  EXPECT_EQ(tick("col:id", "col:1", "5,x", csv("when,id")), 5 * kSecond);
  EXPECT_EQ(tick("col:2", "col:w\\,n", "5,x", csv("\"w,n\",id")), 5 * kSecond);
  EXPECT_EQ(tick("col:1,2", "col:1", "5,x", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:1", "col:1", "5,x", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:1", "col:2", "x,5\r", csv()), 5 * kSecond);
}

TEST(TimeCol, QuotesAreUnderstood) {
  EXPECT_EQ(tick("col:1", "col:2", R"("a,""b",5)", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:1", "col:2", R"("a,""b","2026-11-15 04:43:29Z",x)", csv()), 1'794'717'809 * kSecond);
  EXPECT_TRUE(bad("col:1", "col:2", R"(a,"""5""")", csv()).starts_with("column 2: `\"5\"` is no time"));
}

TEST(TimeCol, BadTimesAreNamed) {
  EXPECT_EQ(bad("col:1", "col:3", "a,b", csv()), "no column 3 (the row has 2)");
  EXPECT_EQ(bad("col:5", "col:3", "a,b", csv()), "no column 5 (the row has 2)");
  EXPECT_EQ(bad("col:5,4,1", "col:3", "a,b", csv()), "no column 4 (the row has 2)");
  EXPECT_EQ(bad("col:3", "col:5", "a,b", csv()), "no column 3 (the row has 2)");
  EXPECT_TRUE(bad("col:1", "col:2", "a,b", csv()).starts_with("column 2: `b` is no time: epoch"));
  EXPECT_TRUE(bad("col:1", "col:2", "a,", csv()).starts_with("column 2: `` is no time: epoch"));
  EXPECT_TRUE(bad("col:id", "col:when", "x,y", csv("when,id")).starts_with("column when: `x` is no time"));
  EXPECT_EQ(bad("col:3", "col:1", "x,y", csv()), "no column 3 (the row has 2)");
  EXPECT_EQ(bad("col:1", "col:2", "a,\"5", csv()), "quotes never close");
}

TEST(TimeCol, TheHeaderHasNoTimeAndMustNotChange) {
  Batch batch = make_batch({"when,id", "5,x"});
  batch.header = 1;
  batch = extract(*make_key("col:id", with_time("col:when", csv("when,id"))), std::move(batch));
  EXPECT_TRUE(batch.bad.empty());
  ASSERT_EQ(batch.ticks.size(), 2u);
  EXPECT_EQ(batch.ticks[1], 5 * kSecond);

  Batch other = make_batch({"x,id,when", "5,x,6"});
  other.header = 1;
  other.input = 1;
  const auto key = make_key("col:2", with_time("col:when", csv("when,id")));
  try {
    extract(*key, std::move(other));
    FAIL() << "took times from another column";
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "--time col:when: when is column 3 in input 2 but column 1 in the first"));
  }
}

TEST(TimeOfOtherKinds, TwoWalks) {
  EXPECT_EQ(tick("line", "json:ts", R"({"ts":5})"), 5 * kSecond);
  EXPECT_EQ(tick("line", "col:2", "a,5", csv()), 5 * kSecond);
  EXPECT_EQ(tick("json:[0]", "col:2", "[1,5,2]", csv()), 5 * kSecond);
  EXPECT_EQ(tick("col:1", "json:[1]", "[1,5]", csv()), 5 * kSecond);
  EXPECT_EQ(bad("line", "json:ts", R"({"t":5})"), "no field ts");
  EXPECT_EQ(bad("line", "json:ts", "abc"), "not a JSON object or array");
  EXPECT_EQ(bad("col:9", "json:ts", "{}", csv()), "no column 9 (the row has 1)");
  // The time alone is in order.
  const Batch batch = extract(*make_key("col:9", with_time("json:[0]", csv())), make_batch({"[5]"}));
  ASSERT_EQ(batch.bad.size(), 1u);
  EXPECT_EQ(batch.bad[0].reason, "no column 9 (the row has 1)");
}

TEST(TimeOfOtherKinds, BadRecordsOfBothAreOneList) {
  const auto key = make_key("col:2", with_time("json:[0]", csv()));
  for (int again = 0; again < 2; ++again) {
    const Batch batch = extract(*key, make_batch({"[1,2]", "[1]", "x,y", "x", "[5,6]", "[null,1]"}));
    ASSERT_EQ(batch.bad.size(), 4u);
    EXPECT_EQ(batch.bad[0].index, 1u);
    EXPECT_EQ(batch.bad[0].reason, "no column 2 (the row has 1)");
    EXPECT_EQ(batch.bad[1].index, 2u);
    EXPECT_EQ(batch.bad[1].reason, "not a JSON object or array");
    EXPECT_EQ(batch.bad[2].index, 3u);
    EXPECT_EQ(batch.bad[2].reason, "no column 2 (the row has 1)");
    EXPECT_EQ(batch.bad[3].index, 5u);
    EXPECT_TRUE(batch.bad[3].reason.starts_with("field [0]: `null` is no time"));
    EXPECT_EQ(batch.ticks[0], kSecond);
    EXPECT_EQ(batch.ticks[4], 5 * kSecond);
    EXPECT_TRUE(extract(*key, make_batch({"[1,2]"})).bad.empty());
  }
}

TEST(TimeOfOtherKinds, AByteOrderMarkBelongsToNoTime) {
  const auto first = [](const char* key, const char* time, const char* record) {
    const Batch batch = extract(*make_key(key, with_time(time, csv())), make_batch({record, record + 3}));
    EXPECT_TRUE(batch.bad.empty()) << key << ' ' << time;
    return batch.ticks[0];
  };
  EXPECT_EQ(first("line", "col:1",
                  "\xef\xbb\xbf"
                  "5,6"),
            5 * kSecond);
  EXPECT_EQ(first("col:2", "col:1",
                  "\xef\xbb\xbf"
                  "5,6"),
            5 * kSecond);
  EXPECT_EQ(first("line", "json:[0]", "\xef\xbb\xbf[5,6]"), 5 * kSecond);
  EXPECT_EQ(first("col:2", "json:[0]", "\xef\xbb\xbf[5,6]"), 5 * kSecond);
  EXPECT_EQ(first("json:[1]", "json:[0]", "\xef\xbb\xbf[5,6]"), 5 * kSecond);
}

TEST(TimeRegistry, SaysWhatCanBeATime) {
  std::size_t kinds = 0;
  for (const KeyKind& kind : key_kinds()) {
    if (kind.time_usage.empty()) continue;
    ++kinds;
    EXPECT_TRUE(kind.time_usage.starts_with(kind.name));
    EXPECT_NE(make_key("line", with_time(std::string(kind.name) + ":1", csv())), nullptr);
    for (const char* time : {"line", "xml:a", "ts", ":ts"}) {
      EXPECT_TRUE(holds(refusal("line", with_time(time)), kind.time_usage)) << time;
      EXPECT_TRUE(holds(refusal("line", with_time(time)), std::string("--time ") + time + ":")) << time;
    }
  }
  EXPECT_EQ(kinds, 2u);
}

TEST(TimeRegistry, ErrorsNameTheFlag) {
  EXPECT_EQ(refusal("json:a", with_time("json:b,c")), "--time json:b,c: a time is one field");
  EXPECT_EQ(refusal("col:1", with_time("col:2,3", csv())), "--time col:2,3: a time is one column");
  EXPECT_EQ(refusal("line", with_time("json:")), "--time json:: say which, as json:PATH");
  EXPECT_TRUE(holds(refusal("json:a", with_time("json:b.")), "--time json:b.: a name is empty"));
  EXPECT_TRUE(holds(refusal("json:a.", with_time("json:b")), "--key json:a.: a name is empty"));
  EXPECT_TRUE(holds(refusal("line", with_time("col:2")), "--time col:2 needs to know the columns"));
  EXPECT_TRUE(holds(refusal("col:1", with_time("col:0", csv())), "--time col:0: 0 is no column"));
  EXPECT_TRUE(holds(refusal("col:1", with_time("col:ts", csv())), "--time col:ts: there is no header to find ts in"));
  EXPECT_TRUE(
      holds(refusal("col:a", with_time("col:ts", csv("a,b"))), "--time col:ts: the header has no ts; it has a, b"));
  EXPECT_TRUE(holds(refusal("col:c", with_time("col:a", csv("a,b"))), "--key col:c: the header has no c"));
}

// One walk finds what two find, whatever the order of the fields and the damage.
RC_GTEST_PROP(TimeJson, OneWalkFindsWhatTwoFind, ()) {
  const auto paths = rc::gen::element<std::string>("a", "b", "m.a", "m.b", "t[0]", "t[1].a");
  const std::string key_path = *paths, time_path = *paths;
  const auto values = rc::gen::element<std::string>("1", "\"2\"", "\"x\"", "null", "{\"a\":3,\"b\":\"4\"}",
                                                    "[5,{\"a\":6}]", "\"\\u0037\"", "-", "");
  const auto names = rc::gen::element<std::string>("a", "b", "m", "t", "\\u0061");
  std::string record = "{";
  for (const std::string& name : *rc::gen::container<std::vector<std::string>>(names)) {
    record += (record.size() > 1 ? ",\"" : "\"") + name + "\":" + *values;
  }
  record += "}";
  const auto run = [&](std::string_view spec, const KeyContext& context) {
    return extract(*make_key(spec, context), make_batch({"{}", record}));
  };
  const Batch together = run("json:" + key_path, with_time("json:" + time_path));
  const Batch key = run("json:" + key_path, {});
  const Batch time = run("line", with_time("json:" + time_path));
  const auto is_bad = [](const Batch& batch) { return !batch.bad.empty() && batch.bad.back().index == 1; };
  RC_ASSERT(is_bad(together) == (is_bad(key) || is_bad(time)));
  if (is_bad(together)) return;
  RC_ASSERT(together.digests[1] == key.digests[1]);
  RC_ASSERT(together.ticks[1] == time.ticks[1]);
}

}  // namespace
}  // namespace nodup
