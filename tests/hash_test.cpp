// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "nodup/hash/hasher.hpp"
#include "nodup/hash/positions.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

std::string in_hex(Digest d) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(d.hi),
                static_cast<unsigned long long>(d.lo));
  return text;
}

TEST(Hash, KnownAnswers) {
  // Saved filters hold positions made from these: they never change. The first is the one that the specification of
  // XXH3 gives for no bytes at all.
  EXPECT_EQ(in_hex(Hasher(0)("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(in_hex(Hasher(0)("nodup")), "de0b2e56eccead977ca56a2bbbea6b12");
  EXPECT_EQ(in_hex(Hasher(1)("nodup")), "2d163f2f6c53b3f662a015fe6c05737c");
  EXPECT_EQ(in_hex(Hasher(0)(std::string(1000, 'x'))), "50a1af5a5f2dcf01c0a4877b962cba82");
  EXPECT_EQ(in_hex(Hasher(0xFEDCBA9876543210u)(std::string(1000, 'x'))), "0d2a8aad213c7886e8f842b39d130c58");
  EXPECT_EQ(in_hex(Hasher(7)(std::string_view("\0a\0", 3))), "e4c5178e03e5120fd69eb258e3bc697e");
}

TEST(Hash, EqualsTheSeededFunctionAtEveryLength) {
  // XXH3 takes another road at 16, 128, 240 and 1024 bytes; the secret expanded once must give the same on all.
  for (const std::uint64_t seed : {0, 12345}) {
    std::string bytes;
    const Hasher hasher(seed);
    for (int length = 0; length < 2100; ++length) {
      const XXH128_hash_t expected = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
      ASSERT_EQ(hasher(bytes), (Digest{expected.low64, expected.high64})) << seed << ' ' << length;
      bytes.push_back(static_cast<char>(length * 31));
    }
  }
}

TEST(Hash, SeedsDiffer) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(Hasher(seed).seed(), seed);
    seen.insert(in_hex(Hasher(seed)("key")));
  }
  EXPECT_EQ(seen.size(), 100u);
}

RC_GTEST_PROP(Positions, FastrangeStaysInsideAndKeepsOrder, (std::uint64_t a, std::uint64_t b, std::uint64_t n)) {
  RC_PRE(n > 0);
  RC_ASSERT(fastrange(a, n) < n);
  if (a <= b) RC_ASSERT(fastrange(a, n) <= fastrange(b, n));
}

TEST(Positions, FastrangeEnds) {
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{1} << 33, UINT64_MAX}) {
    EXPECT_EQ(fastrange(0, n), 0u);
    EXPECT_EQ(fastrange(UINT64_MAX, n), n - 1);
  }
  EXPECT_EQ(fastrange(std::uint64_t{1} << 63, std::uint64_t{1} << 40), std::uint64_t{1} << 39);
}

TEST(Positions, KnownAnswers) {
  // Saved filters depend on these, too. Worked out apart from this code, with integers of any length.
  const Digest d{0x0123456789ABCDEFu, 0x94D049BB133111EBu};
  const std::uint64_t expected[] = {72616, 993946, 951284, 905344};
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(position(d, i, 1'000'003), expected[i]) << i;
}

// Chi-square of `counts` against evenness; its standard deviation is sqrt(2 cells).
double deviation(const std::vector<double>& counts, double total) {
  const double cells = static_cast<double>(counts.size()), expected = total / cells;
  double chi = 0;
  for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
  return (chi - (cells - 1)) / std::sqrt(2 * cells);
}

TEST(Positions, EachIsEvenAndPairsAreIndependent) {
  constexpr std::uint64_t kSide = 64, kKeys = 400'000;
  for (const auto& [first, second] : {std::pair{0u, 1u}, {1u, 2u}, {0u, 7u}, {3u, 15u}}) {
    testing::KeyMaker make(first * 100 + second);
    std::vector<double> pairs(kSide * kSide), singles(kSide);
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const Digest d = make();
      const std::uint64_t a = position(d, first, kSide), b = position(d, second, kSide);
      ++pairs[a * kSide + b];
      ++singles[b];
    }
    EXPECT_LT(std::abs(deviation(pairs, kKeys)), 5) << first << " " << second;
    EXPECT_LT(std::abs(deviation(singles, kKeys)), 5) << second;
  }
}

TEST(Positions, TheNextIsNotTheSumOfTheLastTwo) {
  // In plain double hashing p2 - p1 = p1 - p0 (mod n), so the third position adds nothing once two are known.
  constexpr std::uint64_t kSide = 64, kKeys = 400'000;
  testing::KeyMaker make(3);
  std::vector<double> differences(kSide);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const Digest d = make();
    const std::uint64_t p0 = position(d, 0, kSide), p1 = position(d, 1, kSide), p2 = position(d, 2, kSide);
    ++differences[(p2 + p0 + 2 * kSide - 2 * p1) % kSide];
  }
  EXPECT_LT(std::abs(deviation(differences, kKeys)), 5);
}

}  // namespace
}  // namespace nodup
