// SPDX-License-Identifier: Apache-2.0
//
// The filters that forget at random beside plain twins: the rules of the papers written down once more, on vectors and
// without anything clever, with the same draws.
#include <gtest/gtest.h>

#include <functional>

#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/reservoir.hpp"
#include "nodup/filters/stable.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

struct Twin {
  std::uint64_t arrays, length;
  std::vector<std::vector<bool>> bits{arrays, std::vector<bool>(length)};
  Draws draws{};
  std::uint64_t record = 0;

  std::uint64_t load(std::uint64_t array) const {
    return static_cast<std::uint64_t>(std::count(bits[array].begin(), bits[array].end(), true));
  }
  void reset_each() {
    for (auto& array : bits) array[fastrange(draws.next(), length)] = false;
  }

  // reset: what a key that is judged new does first; whether it is inserted then.
  bool insert(Digest d, const std::function<bool(Twin&)>& reset) {
    ++record;
    bool seen = true;
    for (std::uint64_t i = 0; i < arrays; ++i) seen = seen && bits[i][position(d, i, length)];
    if (!seen && reset(*this))
      for (std::uint64_t i = 0; i < arrays; ++i) bits[i][position(d, i, length)] = true;
    return !seen;
  }
};

template <class F>
void expect_twins(const std::function<bool(Twin&)>& reset) {
  for (const std::uint64_t arrays : {1u, 2u, 5u}) {
    constexpr std::uint64_t kLength = 301;
    // A few bits more than the arrays take: they belong to none.
    F filter({.bits = arrays * kLength + arrays - 1, .probes = arrays, .keys = 0});
    Twin twin{arrays, kLength};
    std::uint64_t passed = 0;
    for (const Digest& key : testing::stream_with_duplicates(40 * kLength, 3 * kLength, 91)) {
      const bool is_new = twin.insert(key, reset);
      passed += is_new;
      ASSERT_EQ(filter.insert(key), is_new) << arrays << " arrays, record " << twin.record;
    }
    EXPECT_EQ(filter.keys(), passed);
    double full = 1;
    for (std::uint64_t i = 0; i < arrays; ++i) full *= static_cast<double>(twin.load(i)) / double{kLength};
    EXPECT_DOUBLE_EQ(filter.rates().false_positive, full);
    EXPECT_GT(passed, kLength);
  }
}

TEST(Sampled, BiasedIsItsTwin) {
  expect_twins<Biased>([](Twin& twin) {
    twin.reset_each();
    return true;
  });
}

TEST(Sampled, BiasedSingleIsItsTwin) {
  expect_twins<BiasedSingle>([](Twin& twin) {
    const std::uint64_t place = fastrange(twin.draws.next(), twin.arrays * twin.length);
    twin.bits[place / twin.length][place % twin.length] = false;
    return true;
  });
}

TEST(Sampled, LoadBalancedIsItsTwin) {
  expect_twins<LoadBalanced>([](Twin& twin) {
    for (std::uint64_t i = 0; i < twin.arrays; ++i) {
      const std::uint64_t draw = twin.draws.next();
      if (fastrange(remix(draw), twin.length) < twin.load(i)) twin.bits[i][fastrange(draw, twin.length)] = false;
    }
    return true;
  });
}

TEST(Sampled, ReservoirIsItsTwin) {
  expect_twins<Reservoir>([](Twin& twin) {
    if (twin.record <= twin.length) return true;
    const bool lucky = fastrange(twin.draws.next(), twin.record) < twin.length;
    const bool always = 100 * twin.length <= 3 * twin.record;
    if (lucky || always) {
      twin.reset_each();
      return true;
    }
    for (std::uint64_t i = 0; i < twin.arrays; ++i) twin.draws.next();
    return false;
  });
}

TEST(Sampled, StableIsItsTwin) {
  for (const std::uint64_t width : {1u, 2u, 3u}) {
    constexpr std::uint64_t kCells = 1001, kProbes = 3, kResets = 5;
    Stable filter({kCells, width, kProbes, kResets, 0});
    std::vector<unsigned> cells(kCells);
    Draws draws;
    for (const Digest& key : testing::stream_with_duplicates(20 * kCells, 2 * kCells, 92)) {
      bool seen = true;
      for (std::uint64_t i = 0; i < kProbes; ++i) seen = seen && cells[position(key, i, kCells)] > 0;
      for (std::uint64_t i = 0; i < kResets; ++i) {
        unsigned& cell = cells[fastrange(draws.next(), kCells)];
        if (cell > 0) --cell;
      }
      for (std::uint64_t i = 0; i < kProbes; ++i) cells[position(key, i, kCells)] = (1u << width) - 1;
      ASSERT_EQ(filter.insert(key), !seen) << width;
    }
    const auto live = std::count_if(cells.begin(), cells.end(), [](unsigned cell) { return cell > 0; });
    EXPECT_DOUBLE_EQ(filter.rates().false_positive, std::pow(static_cast<double>(live) / double{kCells}, kProbes));
  }
}

TEST(Sampled, ReservoirForgetsNothingInItsFirstRecords) {
  Reservoir filter({.bits = 20'000, .probes = 2, .keys = 0});
  const std::vector<Digest> keys = testing::KeyMaker(93).make(10'000);
  for (const Digest& key : keys) filter.insert(key);
  EXPECT_TRUE(std::ranges::all_of(keys, [&](const Digest& key) { return filter.contains(key); }));
  EXPECT_NEAR(filter.rates().false_negative, 0, 1e-9);
}

template <class F>
class AlwaysInserts : public ::testing::Test {};
using InsertingKinds = ::testing::Types<Biased, BiasedSingle, LoadBalanced, Stable>;
TYPED_TEST_SUITE(AlwaysInserts, InsertingKinds);

TYPED_TEST(AlwaysInserts, TheNewestKeyIsKnown) {
  TypeParam filter(TypeParam::fit({.keys = 50'000, .error = 0.05, .bytes = 1024}));
  for (const Digest& key : testing::KeyMaker(94).make(50'000)) {
    filter.insert(key);
    ASSERT_TRUE(filter.contains(key));
  }
}

TEST(Sampled, ParametersOutOfRangeAreRefused) {
  EXPECT_THROW(Biased({.bits = 100, .probes = 0, .keys = 0}), Error);
  EXPECT_THROW(Biased({.bits = 100, .probes = 33, .keys = 0}), Error);
  EXPECT_THROW(Biased({.bits = 1, .probes = 2, .keys = 0}), Error);
  EXPECT_THROW(Stable({0, 1, 2, 4, 0}), Error);
  EXPECT_THROW(Stable({100, 9, 2, 4, 0}), Error);
  EXPECT_THROW(Stable({100, 1, 33, 4, 0}), Error);
  EXPECT_THROW(Stable({100, 1, 2, 0, 0}), Error);
}

TEST(Sampled, AGoalWithoutKeysMeansAnEndlessStream) {
  for (const double error : {0.2, 1e-2, 1e-4}) {
    const SampledParams p = Biased::fit({.keys = 0, .error = error, .bytes = 1 << 20});
    EXPECT_EQ(p.bytes(), 1u << 20);
    const double load = theory::sampled_stable_load(theory::Resetting::each_array, static_cast<double>(p.probes));
    EXPECT_LE(std::pow(load, static_cast<double>(p.probes)), error);
  }
}

}  // namespace
}  // namespace nodup
