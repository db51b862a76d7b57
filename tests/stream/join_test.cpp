// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/hash/draws.hpp"
#include "nodup/stream/join/key_table.hpp"
#include "nodup/stream/join/row_joiner.hpp"
#include "nodup/stream/join/row_store.hpp"

namespace nodup {
namespace {

TEST(KeyTable, NumbersKeysInTheOrderTheyCame) {
  KeyTable table;
  std::map<Digest, std::uint64_t> twin;
  Draws draws;
  std::vector<Digest> keys;
  for (int i = 0; i < 5000; ++i) {
    // Few high bits: many keys want the same slots, also the last ones, from where runs go on at the first.
    const std::uint64_t crowd = draws.next() % 3 == 0 ? ~std::uint64_t{0} : draws.next() >> 1;
    keys.push_back({crowd, draws.next() % 4000});
  }
  for (const Digest key : keys) {
    EXPECT_EQ(table.find(key), twin.contains(key) ? twin[key] : KeyTable::kNone);
    table.make_room(1);
    const auto [place, is_new] = twin.try_emplace(key, twin.size());
    EXPECT_EQ(table.add(key), place->second);
    EXPECT_EQ(table.keys(), twin.size());
  }
  std::map<Digest, int> walked;
  table.for_each([&](Digest key) { ++walked[key]; });
  EXPECT_EQ(walked.size(), twin.size());
  for (const auto& [key, number] : twin) {
    EXPECT_EQ(table.find(key), number);
    EXPECT_EQ(walked[key], 1);
  }
}

TEST(KeyTable, SaysBeforehandWhatItWillTake) {
  KeyTable table;
  EXPECT_EQ(table.find({1, 2}), KeyTable::kNone);
  EXPECT_EQ(table.bytes(), 0);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t before = table.bytes();
    const std::uint64_t announced = table.bytes_to_make_room(1);
    table.make_room(1);
    // While it grows, the old one is there, too.
    EXPECT_EQ(announced, table.bytes() == before ? before : before + table.bytes());
    table.add({i << 52, i});
  }
}

TEST(RowsOfKeys, KeepsTheOrderOfEachKey) {
  RowsOfKeys rows;
  std::map<std::uint64_t, std::vector<std::uint64_t>> twin;
  Draws draws;
  for (std::uint64_t place = 0; place < 3000; ++place) {
    const std::uint64_t key = draws.next() % 700;
    rows.add(key, place);
    twin[key].push_back(place);
  }
  for (std::uint64_t key = 0; key < 800; ++key) {
    std::vector<std::uint64_t> places;
    EXPECT_TRUE(rows.for_each(key, [&](std::uint64_t place) {
      places.push_back(place);
      return true;
    }));
    EXPECT_EQ(places, twin[key]);
    EXPECT_EQ(rows.has_any(key), !twin[key].empty());
  }
  int visited = 0;
  const auto one = [&](std::uint64_t) { return ++visited < 1; };
  EXPECT_FALSE(rows.for_each(twin.begin()->first, one));
  EXPECT_EQ(visited, 1);
}

TEST(RowsOfKeys, AMarkIsAMatchWithoutRows) {
  RowsOfKeys rows;
  rows.mark(5);
  EXPECT_TRUE(rows.has_any(5));
  EXPECT_FALSE(rows.has_any(4));
  EXPECT_FALSE(rows.has_any(6));
}

std::vector<std::string> random_rows(std::size_t count, std::uint64_t longest) {
  Draws draws;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.emplace_back(draws.next() % longest, static_cast<char>('a' + draws.next() % 26));
  return rows;
}

TEST(RowStore, GivesBackWhatItTookFromMemoryAndFromItsFile) {
  const std::string folder = testing::TempDir();
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{1} << 30}) {
    RowStore store({.memory = memory, .folder = folder});
    std::vector<std::string> rows = random_rows(2000, 900);
    rows[7].clear();
    rows[77].assign(3'000'000, 'x');  // longer than a chunk
    std::vector<std::uint64_t> places;
    for (const std::string& row : rows) places.push_back(store.append(row));
    EXPECT_EQ(store.bytes_in_file() > 0, memory < (1 << 20));
    EXPECT_LE(store.bytes_in_memory(), std::max<std::uint64_t>(memory, 4096));
    ByteBuffer scratch;
    for (std::size_t i = rows.size(); i-- > 0;) EXPECT_EQ(store.read(places[i], scratch), rows[i]) << i;
  }
}

TEST(RowStore, RowsMakeWayForWhatIsBuiltOverThem) {
  RowStore store({.memory = 1 << 20, .folder = testing::TempDir()});
  const std::vector<std::string> rows = random_rows(1000, 900);
  std::vector<std::uint64_t> places;
  for (const std::string& row : rows) places.push_back(store.append(row));
  EXPECT_EQ(store.bytes_in_file(), 0);
  store.share_memory(800'000);
  EXPECT_GT(store.bytes_in_file(), 0);
  EXPECT_LE(store.bytes_in_memory(), (1 << 20) - 800'000);
  ByteBuffer scratch;
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(store.read(places[i], scratch), rows[i]);
  store.share_memory(1 << 20);
  EXPECT_EQ(store.bytes_in_memory(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(store.read(places[i], scratch), rows[i]);
  EXPECT_EQ(store.read(store.append("one more"), scratch), "one more");
  EXPECT_THROW(store.share_memory((1 << 20) + 1), Error);
}

TEST(RowStore, LeavesNoFileBehindAndNamesAFolderThatIsNotThere) {
  const std::string folder = testing::TempDir() + "/nodup_row_store";
  std::filesystem::create_directory(folder);
  {
    RowStore store({.memory = 0, .folder = folder});
    for (int i = 0; i < 10; ++i) store.append(std::string(10'000, 'x'));
    EXPECT_GT(store.bytes_in_file(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove(folder);
  RowStore store({.memory = 0, .folder = folder});
  store.append(std::string(10'000, 'x'));
  try {
    store.append(std::string(10'000, 'x'));
    FAIL() << "the folder is not there";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(folder), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("TMPDIR"), std::string::npos);
  }
}

const RecordFormat kCsv{.delimiter = ',', .quoted = true};
const RecordFormat kTsv{.delimiter = '\t'};

JoinShape shape_of(const JoinSide& left, const JoinSide& right) { return {.left = left, .right = right}; }
JoinSide json_side(std::string_view key) { return join_side(key, {}, {}, "json"); }
JoinSide csv_side(std::string_view key, const std::optional<std::string>& header = {}) {
  RecordFormat format = kCsv;
  format.header = header.has_value();
  return join_side(key, format, header, "csv");
}

// JSON is read with bytes behind it.
std::string joined(const JoinShape& shape, std::string left, std::string right) {
  left.reserve(left.size() + ByteBuffer::kPadding);
  right.reserve(right.size() + ByteBuffer::kPadding);
  RowJoiner joiner(shape);
  std::string out;
  if (!joiner.take_left(left)) return joiner.reason();
  joiner.write_joined(right, out);
  return out;
}

TEST(RowJoiner, NamesThatAreThereAlreadyGetAPrefixUntilTheyAreNew) {
  const JoinShape shape = shape_of(json_side("json:id"), json_side("json:id"));
  EXPECT_EQ(joined(shape, R"({"id":1,"a":2})", R"({"id":"1","b":3})"), R"({"id":1,"a":2,"b":3})");
  EXPECT_EQ(joined(shape, R"({"id":1,"a":2})", R"({"a":3,"id":1})"), R"({"id":1,"a":2,"right.a":3})");
  EXPECT_EQ(joined(shape, R"({"id":1,"a":2,"right.a":0})", R"({"a":3})"),
            R"({"id":1,"a":2,"right.a":0,"right.right.a":3})");
  EXPECT_EQ(joined(shape, R"({"a":2})", R"({"a":3,"right.a":4})"), R"({"a":2,"right.a":3,"right.right.a":4})");
  EXPECT_EQ(joined(shape, R"({})", R"({"b":3,"b":4})"), R"({"b":3,"right.b":4})");
  // By what they mean, not by how they are written.
  EXPECT_EQ(joined(shape, R"({"\u0061":2})", R"({"a":3})"), R"({"\u0061":2,"right.a":3})");
  EXPECT_EQ(joined(shape, R"({"a":2})", R"({"\u0069d":3})"), R"({"a":2})");
}

TEST(RowJoiner, OnlyFieldsAtTheTopAreLeftOut) {
  const JoinShape shape = shape_of(json_side("json:ad.id,k"), json_side("json:ad.id,k"));
  EXPECT_EQ(joined(shape, R"({"x":1})", R"({"ad":{"id":7},"k":1})"), R"({"x":1,"ad":{"id":7}})");
  EXPECT_EQ(joined(shape_of(json_side("json:a\\.b"), json_side("json:a\\.b")), R"({})", R"({"a.b":1,"c":2})"),
            R"({"c":2})");
}

TEST(RowJoiner, ColumnsBecomeMembers) {
  const JoinSide named = csv_side("col:\\2,id", "\xef\xbb\xbfid,\"2\",name");
  EXPECT_EQ(named.key_columns, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(joined(shape_of(json_side("json:id,x"), named), R"({"name":0})", "5,6,\"a \"\"b\"\"\",more"),
            R"({"name":0,"right.name":"a \"b\"","4":"more"})");
  EXPECT_EQ(joined(shape_of(csv_side("col:2"), json_side("json:id")), "x,y", R"({"1":0,"id":"y"})"),
            R"({"1":"x","2":"y","right.1":0})");
  EXPECT_THROW(RowJoiner{shape_of(csv_side("col:1", "a,b,a"), json_side("json:id"))}, Error);
  EXPECT_NO_THROW(RowJoiner{shape_of(csv_side("col:1", "a,b,a"), csv_side("col:1", "a,b,a"))});
}

TEST(RowJoiner, ALineIsAColumnOrAMember) {
  const JoinSide line = join_side("line", {}, {}, "lines");
  EXPECT_EQ(joined(shape_of(line, csv_side("col:1")), "a,b", "\"a,b\",c\r"), "\"a,b\",\"a,b\",c");
  EXPECT_EQ(joined(shape_of(line, json_side("json:id")), "a\tb", R"({"id":"a","line":1})"),
            R"({"line":"a\u0009b","right.line":1})");
  EXPECT_EQ(joined(shape_of(json_side("json:id"), line), R"({"id": 1 })", "1"), R"({"id": 1 })");
  const JoinSide tabs = join_side("col:1", kTsv, {}, "tabs");
  EXPECT_EQ(joined(shape_of(line, tabs), "a\tb", "c"),
            "the line holds the delimiter, and without --csv there are no quotes to put it in");
}

TEST(RowJoiner, ALeftRowAloneGetsEmptyColumns) {
  JoinShape shape = shape_of(csv_side("col:1"), csv_side("col:1"));
  const auto alone = [&](std::size_t columns) {
    shape.right_columns = columns;
    RowJoiner joiner(shape);
    std::string out;
    EXPECT_TRUE(joiner.write_alone("a,b\r", out));
    return out;
  };
  EXPECT_EQ(alone(0), "a,b\r");
  EXPECT_EQ(alone(1), "a,b,\r");
  EXPECT_EQ(alone(3), "a,b,,,\r");
}

TEST(RowJoiner, BrokenRowsAreTold) {
  const JoinShape shape = shape_of(json_side("json:id"), json_side("json:id"));
  RowJoiner joiner(shape);
  std::string broken = R"({"id":1,"x":nonsense})";
  broken.reserve(broken.size() + ByteBuffer::kPadding);
  EXPECT_FALSE(joiner.take_left(broken));
  EXPECT_TRUE(joiner.reason().starts_with("broken JSON")) << joiner.reason();
  EXPECT_FALSE(joiner.check_right(broken));
  std::string out;
  EXPECT_TRUE(joiner.write_alone(broken, out));  // as it stands
  EXPECT_EQ(out, broken);
}

}  // namespace
}  // namespace nodup
