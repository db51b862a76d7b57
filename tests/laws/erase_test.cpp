// SPDX-License-Identifier: Apache-2.0
//
// Law: whatever comes in and goes out, a key that is held is never forgotten, as long as only held keys are erased.
// The twin is an exact multiset. (Window kinds have a law of their own.)
#include <map>

#include "tests/laws/law.hpp"

namespace nodup::testing {
namespace {

std::vector<std::string> erasing_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : filter_kinds())
    if (kind.erases && !kind.ages) names.emplace_back(kind.name);
  return names;
}

class Erase : public Law {
 protected:
  // A filter beside the multiset of what it holds.
  struct Twins {
    AnyFilter filter;
    std::map<Digest, std::uint64_t> held = {};  // never with a count of zero
    std::uint64_t removed = 0, ambiguous = 0;

    void insert(Digest d) {
      filter.make_room(1);
      bool is_new = false;
      filter.insert_all({&d, 1}, &is_new);
      ASSERT_FALSE(is_new && held.contains(d));
      if (is_new) held[d] = 1;  // else it is held already, or a false positive: then nothing was counted
    }
    void add(Digest d) {
      filter.make_room(1);
      bool is_new = false;
      filter.add_all({&d, 1}, &is_new);
      ASSERT_FALSE(is_new && held.contains(d));
      ++held[d];
    }
    void erase(Digest d) {
      const std::uint64_t keys = filter.keys();
      const Erased answer = filter.erase(d);
      ASSERT_NE(answer, Erased::absent);
      (answer == Erased::removed ? removed : ambiguous) += 1;
      EXPECT_EQ(filter.keys(), keys - (answer == Erased::removed));
      if (answer == Erased::removed && --held[d] == 0) held.erase(d);
    }
    void expect_all_held() const {
      std::vector<Digest> keys;
      std::uint64_t size = 0;
      for (const auto& [key, count] : held) {
        keys.push_back(key);
        size += count;
      }
      ASSERT_EQ(contains(filter, keys).count(false), 0u);
      ASSERT_EQ(filter.keys(), size);
    }
  };

  // A multiset over `universe` keys through two times of growth and two of decline.
  void live(Twins& twins, std::size_t universe, std::size_t steps, bool adding, std::uint64_t seed) {
    const std::vector<Digest> keys = KeyMaker(seed).make(universe);
    Random random(seed + 1);
    for (std::size_t step = 0; step < steps; ++step) {
      const Digest key = keys[random.below(universe)];
      const bool in = random.below(10) < (step / (steps / 4) % 2 == 0 ? 8 : 3);
      if (!in && twins.held.contains(key)) {
        ASSERT_NO_FATAL_FAILURE(twins.erase(key));
      } else if (in && adding) {
        ASSERT_NO_FATAL_FAILURE(twins.add(key));
      } else if (in) {
        ASSERT_NO_FATAL_FAILURE(twins.insert(key));
      }
      if (step % 512 == 0) {
        ASSERT_NO_FATAL_FAILURE(twins.expect_all_held()) << step;
      }
    }
    twins.expect_all_held();
  }

  // Takes out all that is held.
  void empty(Twins& twins) {
    while (!twins.held.empty()) {
      const std::uint64_t removed = twins.removed;
      std::map<Digest, std::uint64_t> held = twins.held;
      for (const auto& [key, count] : held) ASSERT_NO_FATAL_FAILURE(twins.erase(key));
      ASSERT_NO_FATAL_FAILURE(twins.expect_all_held());
      if (twins.removed == removed) return;  // what is left is ambiguous
    }
  }

  static std::uint64_t saturated(const AnyFilter& filter) {
    for (const auto& [name, value] : filter.facts())
      if (name == "saturated") return std::stoull(value);
    return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Erase, ::testing::ValuesIn(erasing_kinds()), name_of);

// Kinds that grow are made for a tenth of what comes, the others overfilled.
TEST_P(Erase, NoHeldKeyIsForgotten) {
  Twins twins{kind().make({.keys = kind().grows ? 500u : 3000u, .error = 0.05})};
  live(twins, 10'000, 60'000, false, 1);
  EXPECT_GT(twins.removed, 5000u);
  EXPECT_EQ(twins.ambiguous > 0, kind().grows);
  empty(twins);
}

TEST_P(Erase, CountedAsOftenAsAdded) {
  if (!kind().counts) GTEST_SKIP() << "it does not count";
  Twins twins{kind().make({.keys = kind().grows ? 500u : 3000u, .error = 0.05})};
  live(twins, 5000, 60'000, true, 3);
  EXPECT_GT(twins.removed, 5000u);
  EXPECT_EQ(twins.ambiguous > 0, kind().grows);
}

// So small and so often that counters saturate: these are never counted down.
TEST_P(Erase, SaturationForgetsNothing) {
  if (!kind().counts) GTEST_SKIP() << "it does not count";
  Twins twins{kind().make({.keys = 4, .error = 0.3, .bytes = 4096})};
  live(twins, 300, 20'000, true, 5);
  EXPECT_GT(saturated(twins.filter), 0u);
  empty(twins);
  EXPECT_TRUE(twins.held.empty());
  EXPECT_EQ(twins.filter.keys(), 0u);
  EXPECT_GT(saturated(twins.filter), 0u) << "they stay, and are told";
  const std::string bytes = saved(twins.filter);
  EXPECT_TRUE(saved(load_saved(bytes).filter) == bytes) << "no keys, but counters above zero";
}

TEST_P(Erase, WhatIsNotThereIsAbsentAndWhatIsGoneIsNew) {
  AnyFilter filter = kind().make({.keys = 1000, .error = 1e-6});
  const std::vector<Digest> keys = KeyMaker(7).make(1000), others = KeyMaker(8).make(1000);
  EXPECT_EQ(filter.erase(keys[0]), Erased::absent);
  insert(filter, keys);
  const std::string before = saved(filter);
  std::vector<Erased> answers(1000);
  filter.erase_all(others, answers.data());
  EXPECT_EQ(std::ranges::count(answers, Erased::absent), 1000);
  EXPECT_TRUE(saved(filter) == before);
  filter.erase_all(keys, answers.data());
  EXPECT_EQ(std::ranges::count(answers, Erased::removed), 1000);
  EXPECT_EQ(filter.keys(), 0u);
  EXPECT_EQ(filter.rates().false_positive, 0);
  EXPECT_EQ(insert(filter, keys).count(false), 0u);
  EXPECT_TRUE(saved(filter) == before);
}

TEST_P(Erase, GoesOnAfterSaving) {
  Twins twins{kind().make({.keys = 500, .error = 0.05})};
  live(twins, 3000, 10'000, kind().counts, 9);
  Twins copy{std::move(load_saved(saved(twins.filter)).filter), twins.held};
  live(twins, 3000, 10'000, kind().counts, 10);
  live(copy, 3000, 10'000, kind().counts, 10);
  EXPECT_TRUE(saved(twins.filter) == saved(copy.filter));
}

// Two sets with keys in common become one, and live on.
TEST_P(Erase, GoesOnAfterMerging) {
  if (!kind().merges || !kind().counts) GTEST_SKIP() << "it does not add up";
  const Goal goal{.keys = 6000, .error = 0.05};
  Twins a{kind().make(goal)}, b{kind().make(goal)};
  live(a, 3000, 10'000, true, 11);
  live(b, 3000, 10'000, true, 11);  // the same keys, counted otherwise
  live(b, 2000, 10'000, true, 12);
  a.filter.merge(b.filter);
  for (const auto& [key, count] : b.held) a.held[key] += count;
  a.expect_all_held();
  live(a, 3000, 10'000, true, 11);
  live(a, 2000, 10'000, true, 12);
  empty(a);
}

}  // namespace
}  // namespace nodup::testing
