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
    std::map<Digest, std::uint64_t> held = {};
    std::uint64_t removed = 0, ambiguous = 0;

    void insert(Digest d) {
      filter.make_room(1);
      bool is_new = false;
      filter.insert_all({&d, 1}, &is_new);
      if (is_new) ++held[d];  // else it is held already, or a false positive: then nothing was counted
    }
    void add(Digest d) {
      filter.make_room(1);
      bool is_new = false;
      filter.add_all({&d, 1}, &is_new);
      EXPECT_FALSE(is_new && held[d] > 0);
      ++held[d];
    }
    void erase(Digest d) {
      const Erased answer = filter.erase(d);
      ASSERT_NE(answer, Erased::absent);
      (answer == Erased::removed ? removed : ambiguous) += 1;
      if (answer == Erased::removed && --held[d] == 0) held.erase(d);
    }
    void expect_all_held() const {
      std::vector<Digest> keys;
      for (const auto& [key, count] : held)
        if (count > 0) keys.push_back(key);
      ASSERT_EQ(contains(filter, keys).count(false), 0u);
    }
  };

  void live(Twins& twins, std::size_t universe, std::size_t steps, bool adding, std::uint64_t seed) {
    const std::vector<Digest> keys = KeyMaker(seed).make(universe);
    Random random(seed + 1);
    for (std::size_t step = 0; step < steps; ++step) {
      const Digest key = keys[random.below(universe)];
      // Times of growth and times of decline.
      const bool in = random.below(10) < (step / (steps / 4) % 2 == 0 ? 8 : 3);
      if (!in && twins.held.contains(key) && twins.held[key] > 0)
        ASSERT_NO_FATAL_FAILURE(twins.erase(key));
      else if (in && adding)
        twins.add(key);
      else if (in)
        twins.insert(key);
      if (step % 64 == 0) {
        ASSERT_NO_FATAL_FAILURE(twins.expect_all_held()) << step;
      }
    }
    twins.expect_all_held();
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Erase, ::testing::ValuesIn(erasing_kinds()), name_of);

TEST_P(Erase, NoHeldKeyIsForgotten) {
  Twins twins{kind().make({.keys = 200, .error = 0.05})};
  live(twins, 1000, 20000, false, 1);
  EXPECT_GT(twins.removed, 4000u);
}

TEST_P(Erase, CountedAsOftenAsAdded) {
  if (!kind().counts) GTEST_SKIP() << "it does not count";
  Twins twins{kind().make({.keys = 200, .error = 0.05})};
  live(twins, 1000, 20000, true, 3);
  EXPECT_GT(twins.removed, 4000u);
}

// So small and so often that counters saturate: these are never counted down.
TEST_P(Erase, SaturationForgetsNothing) {
  if (!kind().counts) GTEST_SKIP() << "it does not count";
  Twins twins{kind().make({.keys = 4, .error = 0.3, .bytes = 4096})};
  live(twins, 300, 20000, true, 5);
  const auto saturated = [&] {
    for (const auto& [name, value] : twins.filter.facts())
      if (name == "saturated") return std::stoull(value);
    return 0ull;
  };
  EXPECT_GT(saturated(), 0u);
}

TEST_P(Erase, WhatIsNotThereIsAbsentAndWhatIsGoneIsNew) {
  AnyFilter filter = kind().make({.keys = 1000, .error = 1e-6});
  const std::vector<Digest> keys = KeyMaker(7).make(1000), others = KeyMaker(8).make(1000);
  EXPECT_EQ(filter.erase(keys[0]), Erased::absent);
  insert(filter, keys);
  const std::string before = saved(filter);
  for (const Digest& other : others) ASSERT_EQ(filter.erase(other), Erased::absent);
  EXPECT_TRUE(saved(filter) == before);
  for (const Digest& key : keys) ASSERT_EQ(filter.erase(key), Erased::removed);
  EXPECT_EQ(filter.keys(), 0u);
  EXPECT_EQ(filter.rates().false_positive, 0);
  EXPECT_EQ(insert(filter, keys).count(false), 0u);
  EXPECT_TRUE(saved(filter) == before);
}

TEST_P(Erase, GoesOnAfterSaving) {
  Twins twins{kind().make({.keys = 200, .error = 0.05})};
  live(twins, 1000, 5000, kind().counts, 9);
  SavedFilter loaded = load_saved(saved(twins.filter));
  Twins copy{std::move(loaded.filter), twins.held};
  live(copy, 1000, 5000, kind().counts, 9);
}

}  // namespace
}  // namespace nodup::testing
