// SPDX-License-Identifier: Apache-2.0
//
// What the laws cannot see of the standard and the partitioned filter: their places, parameters and saved bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "nodup/filters/partitioned.hpp"
#include "nodup/filters/standard.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::loaded;
using testing::own_bytes;

std::uint64_t word(const std::string& bytes, std::size_t index) {
  std::uint64_t value;
  std::memcpy(&value, bytes.data() + 8 * index, sizeof value);
  return value;
}

template <class F>
class BloomFilters : public ::testing::Test {};
using Kinds = ::testing::Types<Standard, Partitioned>;
TYPED_TEST_SUITE(BloomFilters, Kinds);

TYPED_TEST(BloomFilters, SavedBytesAreAsDrawn) {
  TypeParam filter({.bits = 100, .probes = 3, .keys = 9});
  filter.insert({1, 2});
  const std::string bytes = own_bytes(filter);
  ASSERT_EQ(bytes.size(), 8u * (4 + 2));
  EXPECT_EQ(word(bytes, 0), 100u);
  EXPECT_EQ(word(bytes, 1), 3u);
  EXPECT_EQ(word(bytes, 2), 9u);
  EXPECT_EQ(word(bytes, 3), 1u);
  const bool sliced = TypeParam::kName == "partitioned";
  std::uint64_t expected[2] = {};
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t place = sliced ? i * 33 + position({1, 2}, i, 33) : position({1, 2}, i, 100);
    expected[place / 64] |= std::uint64_t{1} << place % 64;
  }
  EXPECT_EQ(word(bytes, 4), expected[0]);
  EXPECT_EQ(word(bytes, 5), expected[1]);
}

TYPED_TEST(BloomFilters, DamageIsFound) {
  TypeParam filter({.bits = 100, .probes = 3, .keys = 9});
  filter.insert({1, 2});
  const std::string good = own_bytes(filter);
  EXPECT_NO_THROW(loaded<TypeParam>(good));
  const auto with = [&](std::size_t index, std::uint64_t value) {
    std::string bad = good;
    std::memcpy(bad.data() + 8 * index, &value, sizeof value);
    return bad;
  };
  const std::pair<std::string, const char*> bad[] = {
      {with(0, 0), "no bits"},
      {with(0, 2), "fewer bits than probes"},
      {with(0, 129), "more bits than there are bytes"},
      {with(0, UINT64_MAX), "bits whose bytes overflow"},
      {with(1, 0), "no probes"},
      {with(1, 33), "too many probes"},
      {with(3, 0), "bits but no keys"},
      {with(5, std::uint64_t{1} << 36), "a bit past the end"},
      {with(5, std::uint64_t{1} << 63), "the last bit of the last word"},
  };
  for (const auto& [bytes, what] : bad) EXPECT_THROW(loaded<TypeParam>(bytes), Error) << what;
  std::string empty = own_bytes(TypeParam({.bits = 100, .probes = 3, .keys = 9}));
  EXPECT_NO_THROW(loaded<TypeParam>(empty));
  empty[3 * 8] = 1;
  EXPECT_THROW(loaded<TypeParam>(empty), Error) << "keys but no bits";
}

TYPED_TEST(BloomFilters, ParametersAreChecked) {
  EXPECT_THROW(TypeParam({.bits = 100, .probes = 0, .keys = 1}), Error);
  EXPECT_THROW(TypeParam({.bits = 100, .probes = 33, .keys = 1}), Error);
  EXPECT_THROW(TypeParam({.bits = 0, .probes = 1, .keys = 1}), Error);
  EXPECT_THROW(TypeParam({.bits = 3, .probes = 4, .keys = 1}), Error);
  EXPECT_THROW(TypeParam({.bits = BloomParams::kMostBits + 1, .probes = 4, .keys = 1}), Error);
  TypeParam smallest({.bits = 1, .probes = 1, .keys = 1});
  EXPECT_TRUE(smallest.insert({1, 2}));
  EXPECT_FALSE(smallest.insert({3, 4}));
  EXPECT_EQ(smallest.rates().false_positive, 1);
}

TYPED_TEST(BloomFilters, FitTakesTheLeastMemory) {
  // No other number of probes would reach the error with a cache line less.
  for (const double error : {0.3, 1e-2, 1e-4, 1e-8}) {
    for (const std::uint64_t keys : {5000u, 123'456u, 10'000'000u}) {
      const BloomParams p = TypeParam::fit({.keys = keys, .error = error});
      EXPECT_EQ(p.bits % 512, 0u);
      EXPECT_LE(TypeParam::rates(p, keys).false_positive, error);
      for (std::uint64_t probes = 1; probes <= BloomParams::kMostProbes; ++probes) {
        const BloomParams less{.bits = p.bits - 512, .probes = probes, .keys = keys};
        EXPECT_GT(TypeParam::rates(less, keys).false_positive, error) << keys << " " << error << " " << probes;
      }
      const double ideal = -1.4427 * std::log2(error) * static_cast<double>(keys);
      EXPECT_LT(static_cast<double>(p.bits), 1.06 * ideal + 1024) << keys << " " << error;
    }
  }
}

TYPED_TEST(BloomFilters, FitTakesNoMoreProbesThanItNeeds) {
  const BloomParams few = TypeParam::fit({.keys = 1, .error = 1e-6});
  EXPECT_EQ(few.bits, BloomParams::kFewestFittedBits);
  EXPECT_LE(few.probes, 3u);  // 4096 bits for one key: (3/4096)^3 is 4e-10
  const BloomParams all = TypeParam::fit({.keys = 1'000'000, .error = 1e-9, .bytes = 1'000'010});
  EXPECT_EQ(all.bits, 1'000'000 / 64 * 512u);
  EXPECT_EQ(all.probes, 6u);  // 8 bits per key times ln 2 is 5.5
}

TYPED_TEST(BloomFilters, RateIsTrueFarPastTheCapacity) {
  // Counted by keys judged new it would lie low: most keys are not judged new any more.
  TypeParam filter(TypeParam::fit({.keys = 2000, .error = 0.01}));
  KeyMaker make(1);
  for (int i = 0; i < 10'000; ++i) filter.insert(make());
  constexpr int kProbes = 200'000;
  int positives = 0;
  for (int i = 0; i < kProbes; ++i) positives += filter.contains(make());
  const double rate = filter.rates().false_positive;
  EXPECT_GT(rate, 0.5);
  EXPECT_NEAR(static_cast<double>(positives) / kProbes, rate, 5 * std::sqrt(rate * (1 - rate) / kProbes) + 0.002);
}

TYPED_TEST(BloomFilters, MergedKeysAreEstimated) {
  const BloomParams p = TypeParam::fit({.keys = 20'000, .error = 0.01});
  TypeParam a(p), b(p);
  KeyMaker make(2);
  for (int i = 0; i < 15'000; ++i) {
    const Digest d = make();
    if (i < 10'000) a.insert(d);
    if (i >= 5'000) b.insert(d);
  }
  a.merge(b);
  // sqrt(bits) / probes keys are two standard deviations.
  const double sigma = std::sqrt(static_cast<double>(p.bits)) / 2 / static_cast<double>(p.probes);
  EXPECT_NEAR(static_cast<double>(a.keys()), 15'000, 5 * sigma);
  TypeParam other({.bits = p.bits, .probes = p.probes + 1, .keys = p.keys});
  try {
    a.merge(other);
    FAIL() << "merged";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("probes"), std::string::npos) << error.what();
  }
}

TEST(BloomParamsTest, MergedKeysStayWithinTheirBounds) {
  EXPECT_EQ(merged_keys(7.4, 3, 5), 7u);
  EXPECT_EQ(merged_keys(1, 3, 5), 5u);
  EXPECT_EQ(merged_keys(100, 3, 5), 8u);
  EXPECT_EQ(merged_keys(HUGE_VAL, 3, 5), 8u);
  EXPECT_EQ(merged_keys(HUGE_VAL, UINT64_MAX - 1, 5), UINT64_MAX);
  EXPECT_EQ(merged_keys(0, UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

TEST(PartitionedTest, BitsLeftOverDoNotLowerTheRate) {
  Partitioned filter({.bits = 5, .probes = 3, .keys = 1});  // three slices of one bit, two bits of no slice
  filter.insert({1, 2});
  EXPECT_EQ(filter.rates().false_positive, 1);
}

TEST(PartitionedTest, EveryKeySetsOneBitPerSlice) {
  // Also a digest whose positions are all the same number.
  for (const Digest d : {Digest{5, 0}, Digest{0, 0}, Digest{77, 3}}) {
    Partitioned filter({.bits = 64 * 5, .probes = 5, .keys = 1});
    EXPECT_TRUE(filter.insert(d));
    const std::string bytes = own_bytes(filter);
    for (std::size_t slice = 0; slice < 5; ++slice) EXPECT_EQ(std::popcount(word(bytes, 4 + slice)), 1) << slice;
  }
}

}  // namespace
}  // namespace nodup
