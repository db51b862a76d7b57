// SPDX-License-Identifier: Apache-2.0
//
// Rows with many attributes beside an exact multiset of rows, and what each of the two questions answers.
#include "nodup/sets/attribute_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nodup/sets/saved.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::loaded;
using testing::own_bytes;
using testing::Random;

using Row = std::vector<Attribute>;

Digest value(std::uint64_t number) { return KeyMaker(number)(); }

TEST(AttributeSet, CrossCombinationsAreThereAsPartsButNotAsRows) {
  AttributeSet set({.rows = 100});
  const std::size_t a = set.attribute("a"), b = set.attribute("b");
  EXPECT_TRUE(set.add(Row{{a, value(1)}, {b, value(2)}}));
  EXPECT_TRUE(set.add(Row{{a, value(3)}, {b, value(4)}}));
  const Row crossed = {{a, value(1)}, {b, value(4)}};
  EXPECT_TRUE(set.contains_part(crossed));
  EXPECT_FALSE(set.contains_row(crossed));
  EXPECT_FALSE(set.contains_part(Row{{a, value(1)}, {b, value(5)}}));
  EXPECT_TRUE(set.contains_part(Row{{b, value(4)}}));
  EXPECT_FALSE(set.contains_row(Row{{b, value(4)}})) << "a part is not the row";
  EXPECT_FALSE(set.contains_part(Row{{b, value(1)}})) << "the value of another attribute";
  EXPECT_FALSE(set.contains_row(Row{{a, value(2)}, {b, value(1)}}));
  EXPECT_EQ(set.erase(crossed), Erased::absent);
  EXPECT_EQ(set.keys(), 2u);
}

TEST(AttributeSet, TheOrderOfAttributesMeansNothing) {
  AttributeSet set({.rows = 100}), other({.rows = 100});
  const std::size_t a = set.attribute("a"), b = set.attribute("b");
  const std::size_t other_b = other.attribute("b"), other_a = other.attribute("a");
  ASSERT_NE(a, other_a);
  set.add(Row{{a, value(1)}, {b, value(2)}});
  EXPECT_TRUE(set.contains_row(Row{{b, value(2)}, {a, value(1)}}));
  other.add(Row{{other_b, value(4)}, {other_a, value(3)}});
  set.merge(other);
  EXPECT_TRUE(set.contains_row(Row{{a, value(3)}, {b, value(4)}}));
  EXPECT_EQ(set.keys(), 2u);
}

TEST(AttributeSet, InsertCountsOnceAndAddEveryTime) {
  AttributeSet set({.rows = 100});
  const Row row = {{set.attribute("a"), value(1)}};
  EXPECT_TRUE(set.insert(row));
  EXPECT_FALSE(set.insert(row));
  EXPECT_FALSE(set.add(row));
  EXPECT_EQ(set.keys(), 2u);
  EXPECT_EQ(set.erase(row), Erased::removed);
  EXPECT_TRUE(set.contains_row(row));
  EXPECT_EQ(set.erase(row), Erased::removed);
  EXPECT_FALSE(set.contains_row(row));
  EXPECT_FALSE(set.contains_part(row));
  EXPECT_EQ(set.erase(row), Erased::absent);
}

// A row whose whole could be taken out, but one of whose values is in doubt, stays as it is.
TEST(AttributeSet, ErasesAllOrNothing) {
  AttributeSet set({.rows = 1000, .error = 0.1});
  Dynamic users(Dynamic::fit({.keys = 1000, .error = 0.1}));  // as the set's filter of this attribute
  const std::size_t user = set.attribute("user");
  const std::vector<Digest> keys = KeyMaker(40).make(6000);
  for (const Digest& key : keys) {
    set.make_room(1);
    set.add(Row{{user, key}});
    users.make_room(1);
    users.add(key);
  }
  std::uint64_t doubtful = 0;
  for (const Digest& key : keys) {
    if (users.erasable(key) != Erased::ambiguous) continue;
    ++doubtful;
    const std::string before = own_bytes(set);
    ASSERT_EQ(set.erase(Row{{user, key}}), Erased::ambiguous);
    ASSERT_TRUE(own_bytes(set) == before);
  }
  EXPECT_GT(doubtful, 0u);
}

// Beside the multiset of rows: what is held is there, as a whole and in each of its parts.
struct Twins {
  explicit Twins(const AttributeSet::Params& params) : set(params) {
    for (const char* name : {"user", "ad", "site"}) attributes.push_back(set.attribute(name));
  }
  Row row(std::vector<std::uint64_t> numbers) const {
    Row made;
    for (std::size_t i = 0; i < numbers.size(); ++i) made.push_back({attributes[i], value(numbers[i])});
    return made;
  }
  void live(std::size_t steps, std::uint64_t seed) {
    Random random(seed);
    for (std::size_t step = 0; step < steps; ++step) {
      // Users are many, sites few; some rows have no site.
      std::vector<std::uint64_t> numbers = {random.below(400), 1000 + random.below(20), 2000 + random.below(3)};
      if (random.below(4) == 0) numbers.pop_back();
      const bool in = random.below(10) < (step / (steps / 4) % 2 == 0 ? 8 : 2);
      if (in) {
        set.make_room(1);
        set.add(row(numbers));
        ++held[numbers];
      } else if (const auto found = held.lower_bound(numbers); found != held.end()) {
        const std::string before = step % 16 == 0 ? own_bytes(set) : "";
        const Erased answer = set.erase(row(found->first));
        ASSERT_NE(answer, Erased::absent);
        if (answer == Erased::ambiguous) ++ambiguous;
        if (answer == Erased::ambiguous && !before.empty()) {
          ASSERT_TRUE(own_bytes(set) == before);
        }
        if (answer == Erased::removed && --found->second == 0) held.erase(found);
      }
      if (step % 256 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_all_held()) << step;
      }
    }
    expect_all_held();
  }
  void expect_all_held() const {
    std::uint64_t size = 0;
    for (const auto& [numbers, count] : held) {
      size += count;
      const Row whole = row(numbers);
      ASSERT_TRUE(set.contains_row(whole));
      ASSERT_TRUE(set.contains_part(whole));
    }
    ASSERT_EQ(set.keys(), size);
  }

  AttributeSet set;
  std::vector<std::size_t> attributes;
  std::map<std::vector<std::uint64_t>, std::uint64_t> held;
  std::uint64_t ambiguous = 0;
};

TEST(AttributeSet, NoHeldRowIsForgotten) {
  Twins twins({.rows = 300, .error = 0.05});
  twins.live(12'000, 1);
  EXPECT_GT(twins.ambiguous, 0u) << "or the test does not see what it should";
}

TEST(AttributeSet, GoesOnAfterSaving) {
  Twins twins({.rows = 300, .error = 0.01});
  twins.live(4000, 2);
  const std::string bytes = own_bytes(twins.set);
  Twins copy({.rows = 300, .error = 0.01});
  copy.set = loaded<AttributeSet>(bytes);
  EXPECT_TRUE(own_bytes(copy.set) == bytes);
  EXPECT_TRUE(std::ranges::equal(copy.set.names(), twins.set.names()));
  copy.held = twins.held;
  copy.live(4000, 3);
  twins.live(4000, 3);
  EXPECT_TRUE(own_bytes(copy.set) == own_bytes(twins.set));
}

TEST(AttributeSet, AMergedSetHoldsBoth) {
  Twins a({.rows = 8000, .error = 0.01}), b({.rows = 8000, .error = 0.01});
  a.live(4000, 4);
  b.live(4000, 5);
  b.set.make_room(1);
  const std::size_t extra = b.set.attribute("campaign");
  b.set.add(Row{{extra, value(9)}});
  a.set.merge(b.set);
  for (const auto& [numbers, count] : b.held) a.held[numbers] += count;
  ASSERT_EQ(a.set.names().size(), 4u);
  const Row campaign = {{*a.set.find("campaign"), value(9)}};
  EXPECT_TRUE(a.set.contains_row(campaign));
  EXPECT_EQ(a.set.erase(campaign), Erased::removed);
  a.expect_all_held();
  a.live(4000, 4);
}

TEST(AttributeSet, AMergeThatIsRefusedChangesNoAnswer) {
  Twins a({.rows = 100, .error = 0.01}), b({.rows = 100, .error = 0.01});
  Random random(6);
  for (Twins* twins : {&a, &b}) {
    for (int i = 0; i < 1500; ++i) {  // users overflow their filter in both
      twins->set.make_room(1);
      twins->set.add(twins->row({random() >> 8, 1, 2}));
    }
  }
  const std::string before = own_bytes(a.set);
  EXPECT_THROW(a.set.merge(b.set), Error);
  EXPECT_TRUE(own_bytes(a.set) == before);
  EXPECT_THROW(a.set.merge(AttributeSet({.rows = 5000, .error = 0.01})), Error);
  EXPECT_TRUE(own_bytes(a.set) == before);
}

TEST(AttributeSet, BatchesAnswerAsRowsOneByOne) {
  constexpr std::size_t kRows = 1300;  // more than a piece
  AttributeSet one({.rows = 200, .error = 0.05}), many({.rows = 200, .error = 0.05});
  const std::vector<std::size_t> attributes = {one.attribute("a"), one.attribute("b")};
  ASSERT_EQ(many.attribute("a"), attributes[0]);
  ASSERT_EQ(many.attribute("b"), attributes[1]);
  Random random(7);
  std::vector<Digest> values;
  for (std::size_t i = 0; i < kRows; ++i) {
    values.push_back(value(random.below(600)));
    values.push_back(value(1000 + random.below(30)));
  }
  const auto row = [&](std::size_t i) { return Row{{0, values[2 * i]}, {1, values[2 * i + 1]}}; };
  one.make_room(kRows);
  many.make_room(kRows);
  const auto answers = std::make_unique<bool[]>(kRows);
  many.add_rows(attributes, values, answers.get());
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(one.add(row(i)), answers[i]) << i;
  ASSERT_TRUE(own_bytes(one) == own_bytes(many));

  std::vector<Erased> erased(kRows / 2);
  many.erase_rows(attributes, std::span(values).first(kRows / 2 * 2), erased.data());
  for (std::size_t i = 0; i < kRows / 2; ++i) ASSERT_EQ(one.erase(row(i)), erased[i]) << i;
  ASSERT_TRUE(own_bytes(one) == own_bytes(many));
  EXPECT_GT(std::ranges::count(erased, Erased::removed), 0);

  many.contains_rows(attributes, values, answers.get());
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_EQ(one.contains_row(row(i)), answers[i]) << i;
  const std::vector<std::size_t> swapped = {1, 0};  // values under the wrong names: nearly all absent
  for (const auto& asked : {attributes, swapped}) {
    many.contains_parts(asked, values, answers.get());
    for (std::size_t i = 0; i < kRows; ++i)
      ASSERT_EQ(one.contains_part(Row{{asked[0], values[2 * i]}, {asked[1], values[2 * i + 1]}}), answers[i]) << i;
  }
}

// Rows and values that never came, within five sigma of the rates the set reports and below the error asked for.
TEST(AttributeSet, ErrorsAreAsReported) {
  AttributeSet set({.rows = 1000, .error = 0.02});
  const std::size_t a = set.attribute("a"), b = set.attribute("b");
  KeyMaker make(8);
  std::vector<Digest> as, bs;
  for (int i = 0; i < 5000; ++i) {
    as.push_back(make());
    bs.push_back(make());
    set.make_room(1);
    set.add(Row{{a, as.back()}, {b, bs.back()}});
  }
  constexpr double kAsked = 100'000;
  double crossed = 0, half_new = 0, all_new = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kAsked); ++i) {
    crossed += set.contains_row(Row{{a, as[i % 5000]}, {b, bs[(i % 5000 + 1 + i / 5000) % 5000]}});
    half_new += set.contains_part(Row{{a, as[i % 5000]}, {b, make()}});
    all_new += set.contains_part(Row{{a, make()}, {b, make()}});
  }
  const auto expect = [&](double measured, double rate) {
    EXPECT_NEAR(measured, kAsked * rate, 5 * std::sqrt(kAsked * rate));
  };
  expect(crossed, set.rates().false_positive);
  expect(half_new, set.rates(b).false_positive);
  expect(all_new, set.rates(a).false_positive * set.rates(b).false_positive);
  EXPECT_LE(set.rates().false_positive, 0.02);
  EXPECT_LE(set.rates(a).false_positive, 0.02);
}

TEST(AttributeSet, AValueOfManyRowsStays) {
  AttributeSet set({.rows = 100});
  const std::size_t user = set.attribute("user"), site = set.attribute("site");
  for (std::uint64_t i = 0; i < 20; ++i) set.add(Row{{user, value(i)}, {site, value(1000)}});
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(set.erase(Row{{user, value(i)}, {site, value(1000)}}), Erased::removed);
  }
  EXPECT_EQ(set.keys(), 0u);
  EXPECT_FALSE(set.contains_part(Row{{user, value(1)}}));
  EXPECT_TRUE(set.contains_part(Row{{site, value(1000)}})) << "its counters are saturated";
  EXPECT_NE(set.facts().back().second.find("saturated="), std::string::npos);
}

TEST(AttributeSet, NamesAndMemoryAreLimited) {
  AttributeSet set({.rows = 1});
  EXPECT_THROW(set.attribute(""), Error);
  EXPECT_THROW(set.attribute(std::string(AttributeSet::kLongestName + 1, 'n')), Error);
  EXPECT_FALSE(set.find("a"));
  for (std::size_t i = 0; i < AttributeSet::kMostAttributes; ++i) EXPECT_EQ(set.attribute(std::to_string(i)), i);
  EXPECT_THROW(set.attribute("one more"), Error);
  EXPECT_EQ(set.attribute("17"), 17u);

  const std::uint64_t bytes = AttributeSet({.rows = 1000}).bytes();
  EXPECT_THROW(AttributeSet({.rows = 1000, .max_bytes = bytes - 1}), Error);
  AttributeSet small({.rows = 1000, .max_bytes = 2 * bytes});
  const std::size_t a = small.attribute("a");
  EXPECT_THROW(small.attribute("b"), Error);
  KeyMaker make(9);
  for (int i = 0; i < 5000; ++i) {
    small.make_room(1);
    small.add(Row{{a, make()}});
  }
  EXPECT_EQ(small.bytes(), 2 * bytes);
  EXPECT_GT(small.rates().false_positive, 1e-6) << "and says what that costs";
}

// --- saved ---

std::string saved(const AttributeSet& set) {
  std::string bytes;
  Writer out = testing::writer_to(bytes);
  save_set(out, set, 42, {{"key", "json:a,b"}});
  return bytes;
}
SavedSet load_saved(const std::string& bytes) {
  Reader in = testing::reader_of(bytes);
  return load_set(in);
}
AttributeSet small_set() {
  AttributeSet set({.rows = 10, .error = 0.3, .max_bytes = 0});
  const std::size_t a = set.attribute("a"), b = set.attribute("b");
  for (std::uint64_t i = 0; i < 20; ++i) set.add(Row{{a, value(i)}, {b, value(100 + i % 3)}});
  return set;
}
// The bytes with the checksum that an attacker would put there.
std::string with_right_sum(std::string bytes) {
  std::string out;
  Writer writer = testing::writer_to(out);
  bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), 8));
  writer.bytes(std::as_bytes(std::span(bytes)));
  writer.checksum();
  return out;
}
// True if it loaded; then it must also work.
bool loads(const std::string& bytes) {
  try {
    SavedSet loaded_set = load_saved(bytes);
    auto* with_attributes = std::get_if<SavedAttributeSet>(&loaded_set);
    if (with_attributes == nullptr) return true;
    AttributeSet& set = with_attributes->set;
    Row row;
    for (std::size_t i = 0; i < set.names().size(); ++i) row.push_back({i, value(i)});
    set.make_room(1);
    set.add(row);
    EXPECT_TRUE(set.contains_row(row));
    EXPECT_TRUE(set.contains_part(row));
    EXPECT_FALSE(set.facts().empty());
    EXPECT_FALSE(saved(set).empty());
    return true;
  } catch (const Error& error) {
    EXPECT_GT(std::strlen(error.what()), 10u);
    return false;
  }
}

TEST(SavedSet, HoldsEither) {
  const SavedSet rows = load_saved(saved(small_set()));
  ASSERT_TRUE(std::holds_alternative<SavedAttributeSet>(rows));
  EXPECT_EQ(std::get<SavedAttributeSet>(rows).seed, 42u);
  EXPECT_EQ(std::get<SavedAttributeSet>(rows).notes.at("key"), "json:a,b");
  EXPECT_EQ(std::get<SavedAttributeSet>(rows).set.keys(), 20u);

  std::string bytes;
  Writer out = testing::writer_to(bytes);
  save(out, AnyFilter(Dynamic(Dynamic::fit({.keys = 10}))), 7, {});
  const SavedSet filter = load_saved(bytes);
  ASSERT_TRUE(std::holds_alternative<SavedFilter>(filter));
  EXPECT_EQ(std::get<SavedFilter>(filter).filter.kind(), "dynamic");
}

TEST(SavedSet, WhereAFilterIsExpectedItSaysWhatItIs) {
  const std::string bytes = saved(small_set());
  Reader in = testing::reader_of(bytes);
  try {
    (void)load(in);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rows with attributes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("nodup match"), std::string::npos) << error.what();
  }
}

TEST(SavedSet, EveryTruncationAndChangeIsRefusedOrWorks) {
  const std::string good = saved(small_set());
  ASSERT_TRUE(loads(good));
  ASSERT_TRUE(with_right_sum(good) == good);
  EXPECT_FALSE(loads(good + '\0'));
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(loads(good.substr(0, length))) << length;
    if (length > 8) {
      EXPECT_FALSE(loads(with_right_sum(good.substr(0, length)))) << length;
    }
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    EXPECT_FALSE(loads(bad)) << i;
    loads(with_right_sum(bad));  // anything but a crash
    bad[i] = static_cast<char>(0xFF);
    loads(with_right_sum(bad));
  }
}

TEST(SavedSet, DamagedNamesAreRefused) {
  const Dynamic::Params params = Dynamic::fit({.keys = 10, .error = 0.3});
  const auto bytes_with = [&](std::vector<std::string> names, const Dynamic::Params& of_values) {
    std::string bytes;
    Writer out = testing::writer_to(bytes);
    Dynamic(params).save(out);
    out.u64(names.size());
    for (const std::string& name : names) {
      out.text(name);
      Dynamic(of_values).save(out);
    }
    return bytes;
  };
  EXPECT_EQ(loaded<AttributeSet>(bytes_with({"a", "b"}, params)).names().size(), 2u);
  EXPECT_THROW(loaded<AttributeSet>(bytes_with({"a", "a"}, params)), Error);
  EXPECT_THROW(loaded<AttributeSet>(bytes_with({"a", ""}, params)), Error);
  EXPECT_THROW(loaded<AttributeSet>(bytes_with({std::string(AttributeSet::kLongestName + 1, 'n')}, params)), Error);
  EXPECT_THROW(loaded<AttributeSet>(bytes_with({"a"}, Dynamic::fit({.keys = 9000, .error = 0.3}))), Error);
}

}  // namespace
}  // namespace nodup
