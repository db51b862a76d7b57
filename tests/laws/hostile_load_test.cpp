// SPDX-License-Identifier: Apache-2.0
//
// Law: whatever bytes are loaded, the answer is a filter that works or an Error; never a crash, and never a filter from
// bytes that were changed by accident. Memory is not taken on the word of a header.
#include <cstring>

#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

NODUP_LAW(HostileLoad);

constexpr std::size_t kSumBytes = 8;

std::string small_saved(const Kind& kind) {
  // Kinds that age: some keys late, and more than one generation.
  const Window window{.span = 100, .lateness = 10};
  AnyFilter filter = kind.make({.keys = 12, .error = 0.2, .window = kind.ages ? window : Window{}});
  std::vector<Digest> keys = KeyMaker(51).make(20);
  keys[3] = {0, 0};
  std::vector<Tick> ticks(keys.size());
  for (std::size_t i = 0; i < ticks.size(); ++i) ticks[i] = 1000 + 9 * i - i % 3 * 5;
  Answers is_new(keys.size());
  filter.make_room(keys.size());
  filter.insert_all(keys, ticks.data(), is_new.data.get());
  return saved(filter);
}

// The bytes with the checksum that an attacker would put there: so that the checks behind it are reached.
std::string with_right_sum(std::string bytes) {
  std::string out;
  Writer writer(
      [&](std::span<const std::byte> data) { out.append(reinterpret_cast<const char*>(data.data()), data.size()); });
  bytes.resize(bytes.size() - std::min(bytes.size(), kSumBytes));
  writer.bytes(std::as_bytes(std::span(bytes)));
  writer.checksum();
  return out;
}

// True if it loaded; then it must also work.
bool loads(const std::string& bytes) {
  try {
    SavedFilter loaded = load_saved(bytes);
    const std::vector<Digest> keys = KeyMaker(52).make(50);
    const bool forgets = filter_kind(loaded.filter.kind()).forgets;
    // Kinds that age may hold no more than one of them, by the parameters they were loaded with.
    for (const Digest& key : keys) {
      insert(loaded.filter, {&key, 1});
      EXPECT_TRUE(contains(loaded.filter, {&key, 1})[0] || forgets);
    }
    if (filter_kind(loaded.filter.kind()).ages) {
      loaded.filter.advance(loaded.filter.window().now + 50);
      EXPECT_LE(loaded.filter.window().effective, loaded.filter.window().asked);
    } else if (!forgets) {
      EXPECT_EQ(contains(loaded.filter, keys).count(false), 0u);
    }
    EXPECT_FALSE(loaded.filter.facts().empty());
    const Rates rates = loaded.filter.rates();
    for (const double rate : {rates.false_positive, rates.false_negative}) EXPECT_TRUE(rate >= 0 && rate <= 1) << rate;
    EXPECT_FALSE(saved(loaded.filter).empty());
    return true;
  } catch (const Error& error) {
    EXPECT_GT(std::strlen(error.what()), 10u);
    return false;
  }
}

TEST_P(HostileLoad, TheHelperIsSound) {
  const std::string good = small_saved(kind());
  EXPECT_TRUE(loads(good));
  EXPECT_TRUE(with_right_sum(good) == good);
}

TEST_P(HostileLoad, EveryTruncation) {
  const std::string good = small_saved(kind());
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(loads(good.substr(0, length))) << length;
    if (length > kSumBytes) {
      EXPECT_FALSE(loads(with_right_sum(good.substr(0, length)))) << length << " and a right checksum";
    }
  }
  EXPECT_FALSE(loads(good + '\0'));
  EXPECT_FALSE(loads(with_right_sum(good + "12345678")));
}

TEST_P(HostileLoad, EveryChangedByte) {
  const std::string good = small_saved(kind());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      EXPECT_FALSE(loads(bad)) << "byte " << i;
      loads(with_right_sum(bad));  // anything but a crash
    }
  }
}

TEST_P(HostileLoad, HugeNumbersInEveryPlace) {
  const std::string good = small_saved(kind());
  for (std::size_t i = 0; i + 8 + kSumBytes <= good.size(); ++i) {
    for (const std::uint64_t huge : {std::uint64_t{1} << 44, std::uint64_t{1} << 61, std::uint64_t{1} << 63, UINT64_MAX,
                                     UINT64_MAX - 63, UINT64_MAX / 8 + 1, UINT64_MAX / 64 + 2}) {
      std::string bad = good;
      std::memcpy(bad.data() + i, &huge, sizeof huge);
      bad = with_right_sum(bad);
      try {
        // Fields that are no sizes may take it; then the filter is no larger than the file gives reason for.
        EXPECT_LE(load_saved(bad).filter.bytes(), 2 * good.size() + 4096) << "at " << i;
      } catch (const Error&) {
      }
    }
  }
}

TEST_P(HostileLoad, RandomGarbage) {
  const std::string good = small_saved(kind());
  Random random(53);
  for (int round = 0; round < 3000; ++round) {
    // Pure garbage, garbage after a sound beginning, and sound bytes with a garbled middle.
    std::string bad = round % 3 == 0 ? std::string(random.below(400), '\0') : good;
    const std::size_t from = round % 3 == 0 ? 0 : random.below(good.size());
    const std::size_t to = round % 3 == 2 ? std::min<std::size_t>(from + 1 + random.below(16), bad.size()) : bad.size();
    for (std::size_t i = from; i < to; ++i) bad[i] = static_cast<char>(random());
    if (bad == good) continue;
    EXPECT_FALSE(loads(bad));
    loads(with_right_sum(bad));
  }
}

}  // namespace
}  // namespace nodup::testing
