// SPDX-License-Identifier: Apache-2.0
#include "tests/stream/key_batch.hpp"

namespace nodup {
namespace {

using namespace testing_keys;

TEST(KeyLine, HashesTheRecordAsItStands) {
  const auto key = make_key("line", {});
  const Batch batch = extract(*key, make_batch({"a", "", "a\r", "longer than the others", "a"}));
  const Hasher hasher(7);
  ASSERT_EQ(batch.digests.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(batch.digests[i], hasher(batch.record(i))) << i;
  EXPECT_EQ(batch.digests[0], batch.digests[4]);
  EXPECT_NE(batch.digests[0], batch.digests[2]);
  EXPECT_TRUE(batch.bad.empty());
}

TEST(KeyLine, LastRecordMayLackItsSeparator) {
  const auto key = make_key("line", {});
  const Batch batch = extract(*key, make_batch({"a", "b"}, false));
  EXPECT_EQ(batch.digests[1], Hasher(7)("b"));
}

TEST(KeyLine, LeavesTheHeaderAloneAndForgetsTheBatchBefore) {
  const auto key = make_key("line", {});
  Batch batch = make_batch({"name", "x"});
  batch.header = 1;
  batch.bad.push_back({5, "of another time"});
  batch.digests.resize(9);
  batch = extract(*key, std::move(batch));
  EXPECT_EQ(batch.digests.size(), 2u);
  EXPECT_EQ(batch.digests[1], Hasher(7)("x"));
  EXPECT_TRUE(batch.bad.empty());
  EXPECT_TRUE(extract(*key, Batch()).digests.empty());
}

TEST(KeyRegistry, EveryKindIsMadeByItsName) {
  KeyContext context;
  context.format.delimiter = ',';
  for (const KeyKind& kind : key_kinds()) {
    EXPECT_TRUE(kind.usage.starts_with(kind.name));
    EXPECT_FALSE(kind.summary.empty());
    const std::string specification(kind.usage == kind.name ? kind.name : std::string(kind.name) + ":1");
    EXPECT_NE(make_key(specification, context), nullptr) << specification;
  }
}

TEST(KeyRegistry, RefusesWhatItDoesNotKnow) {
  for (const KeyKind& kind : key_kinds()) EXPECT_TRUE(holds(refusal("xml:a"), kind.usage));
  EXPECT_TRUE(holds(refusal("xml:a"), "--key xml:a"));
  EXPECT_FALSE(refusal("").empty());
  EXPECT_FALSE(refusal(":a").empty());
  EXPECT_FALSE(refusal("line:").empty());
  EXPECT_FALSE(refusal("line:a").empty());
  EXPECT_TRUE(holds(refusal("json"), "json:PATH"));
  EXPECT_TRUE(holds(refusal("json:"), "json:PATH"));
  EXPECT_TRUE(holds(refusal("col:"), "col:COLUMN"));
}

}  // namespace
}  // namespace nodup
