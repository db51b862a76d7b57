// SPDX-License-Identifier: Apache-2.0
//
// What the laws cannot see of the automatic filter: its lines, what it forgets and when, and what it plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "nodup/bits/slot_line.hpp"
#include "nodup/filters/automatic.hpp"
#include "nodup/filters/format.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::loaded;
using testing::own_bytes;
using testing::Random;
using Form = LineForm::Kind;

// Of rates measured by `tries` tries.
double five_sigma(double rate, double tries) { return 5 * std::sqrt(rate * (1 - rate) / tries); }

TEST(SlotLine, IsAQueueOfNumbersAtEveryWidth) {
  for (unsigned shapes = 4 * 2; shapes < 4 * (SlotLine::kWidest + 1); ++shapes) {
    const unsigned width = shapes / 4, words = 1u << shapes % 4;
    const SlotLine shape(width, words);
    ASSERT_EQ(shape.slots(), 64 * words / width);
    std::uint64_t line[kLineWords] = {};
    std::deque<std::uint64_t> twin;
    Random random(width);
    // Few numbers, so that they come again; near the ends of the range, where a carry would show.
    const auto number = [&] {
      return random.below(2) == 0 ? 1 + random.below(3) : shape.max_value() - random.below(3);
    };
    const std::uint64_t unlike = shape.max_value() / 2 + 1;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t value = i % 3 == 0 ? 1 + random.below(shape.max_value()) : number();
      const bool held = std::find(twin.begin(), twin.end(), value) != twin.end();
      ASSERT_EQ(shape.holds(line, value), held) << width << " bits, number " << value;
      ASSERT_EQ(shape.holds(line, unlike), std::find(twin.begin(), twin.end(), unlike) != twin.end());
      ASSERT_EQ(shape.full(line), twin.size() == shape.slots());
      const bool really = random.below(8) != 0;
      shape.push_if(really, line, value);
      if (really) twin.push_front(value);
      if (twin.size() > shape.slots()) twin.pop_back();
    }
    for (unsigned slot = 0; slot < shape.slots(); ++slot) ASSERT_EQ(shape.get(line, slot), twin[slot]) << width;
  }
}

TEST(SlotLine, SlotsAreApart) {
  for (unsigned width = 1; width <= SlotLine::kWidest; ++width) {
    const SlotLine shape(width);
    std::uint64_t line[kLineWords] = {};
    std::vector<std::uint64_t> twin(shape.slots());
    Random random(width);
    for (int i = 0; i < 500; ++i) {
      const auto slot = static_cast<unsigned>(random.below(shape.slots()));
      twin[slot] = random.below(shape.max_value() + 1);
      shape.set(line, slot, twin[slot]);
    }
    for (unsigned slot = 0; slot < shape.slots(); ++slot) ASSERT_EQ(shape.get(line, slot), twin[slot]) << width;
  }
}

TEST(Automatic, ForgetsTheOldestOfALineFirst) {
  Automatic filter({.lines = 1, .first_lines = 0, .forms = {LineForm{}, LineForm{Form::queue, 40}}});
  const std::vector<Digest> keys = KeyMaker(5).make(100);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(filter.insert(keys[i]));
    for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(filter.contains(keys[j]), i - j < 12) << i << ' ' << j;
  }
  EXPECT_EQ(filter.keys(), 100u);
  EXPECT_NEAR(filter.rates().false_negative, 88.0 / 100, 1e-9);
  EXPECT_NEAR(filter.rates().false_positive, 12 / (std::pow(2, 40) - 1), 1e-20);
}

TEST(Automatic, TheErrorIsKeptForEver) {
  // Twenty times the keys that there are slots for, none of them twice.
  for (const double error : {0.3, 0.1, 0.02, 1e-3}) {
    const Automatic::Params p = Automatic::fit({.error = error, .bytes = 16'384});
    Automatic filter(p);
    KeyMaker make(7);
    for (int i = 0; i < 500'000; ++i) filter.insert(make());
    constexpr int kProbes = 1'000'000;
    int lost = 0;
    KeyMaker fresh(8);
    for (int i = 0; i < kProbes; ++i) lost += filter.contains(fresh());
    EXPECT_NEAR(lost / double{kProbes}, filter.rates().false_positive, five_sigma(error, kProbes)) << error;
    EXPECT_LE(filter.rates().false_positive, error * (1 + 1e-9));
    // All of the error that is allowed is used, but for what 256 lines cannot divide.
    EXPECT_GE(filter.rates().false_positive, error * 0.98);
  }
}

TEST(Automatic, RatesAreAsPlannedAndAsReported) {
  const LineForm forms[] = {{Form::plain, 1},    {Form::plain, 3},    {Form::slots, 2},    {Form::slots, 3},
                            {Form::slots, 7},    {Form::queue, 7},    {Form::queue, 10},   {Form::queue, 16},
                            {Form::queue, 6, 1}, {Form::queue, 8, 2}, {Form::queue, 10, 4}};
  constexpr std::uint64_t kLines = 1000;
  for (const LineForm& first : forms) {
    for (const LineForm& second : {forms[0], forms[3], forms[6]}) {
      for (const std::uint64_t keys : {10'000u, 40'000u, 150'000u}) {
        const Automatic::Params p{.lines = kLines, .first_lines = 400, .forms = {first, second}};
        Automatic filter(p);
        std::vector<Digest> passed;
        for (const Digest& key : KeyMaker(keys).make(keys))
          if (filter.insert(key)) passed.push_back(key);
        ASSERT_EQ(filter.keys(), passed.size());
        double forgotten = 0, lost = 0;
        for (const Digest& key : passed) forgotten += !filter.contains(key);
        forgotten /= static_cast<double>(passed.size());
        constexpr double kProbes = 200'000;
        for (const Digest& key : KeyMaker(77).make(static_cast<std::size_t>(kProbes))) lost += filter.contains(key);
        lost /= kProbes;
        const Rates planned = Automatic::rates(p, keys), reported = filter.rates();
        const std::string which = first.text() + " | " + second.text() + ", " + std::to_string(keys) + " keys";
        EXPECT_NEAR(lost, reported.false_positive, five_sigma(reported.false_positive, kProbes) + 1e-5) << which;
        EXPECT_NEAR(lost, planned.false_positive, five_sigma(planned.false_positive, kProbes) + 0.02 * lost) << which;
        const double noise = five_sigma(forgotten, static_cast<double>(passed.size()));
        // Queues of few fingerprints fill unevenly, which the model leaves out.
        EXPECT_NEAR(forgotten, reported.false_negative, noise + 0.02 * forgotten) << which;
        EXPECT_NEAR(forgotten, planned.false_negative, noise + 0.02 * forgotten + 1e-4) << which;
      }
    }
  }
}

TEST(Automatic, ToldTheNumberOfKeysItForgetsLess) {
  // Four bits per key at an error of 0.2: a Bloom filter holds all of them. At 0.1 a part of it must forget.
  Goal goal{.keys = 100'000, .error = 0.2, .bytes = 50'048};
  EXPECT_EQ(Automatic::rates(Automatic::fit(goal), goal.keys).false_negative, 0);
  for (const double error : {0.1, 0.03, 0.3}) {
    goal.error = error;
    Goal untold = goal;
    untold.keys = 0;
    const Rates told = Automatic::rates(Automatic::fit(goal), goal.keys);
    EXPECT_LE(told.false_positive, error * (1 + 1e-9));
    EXPECT_LT(told.false_negative, Automatic::rates(Automatic::fit(untold), goal.keys).false_negative);
  }
  // Where nothing is forgotten anyway it keeps the lines whose error never rises.
  goal = {.keys = 1000, .error = 1e-6, .bytes = 1 << 20};
  EXPECT_EQ(Automatic::fit(goal).forms, Automatic::fit({.error = 1e-6, .bytes = 1 << 20}).forms);
}

TEST(Automatic, QueuesAreAsLongAsHoldsMost) {
  const auto words = [](double error) { return Automatic::fit({.error = error, .bytes = 1 << 20}).forms[1].words; };
  EXPECT_EQ(words(1e-9), 8u);
  EXPECT_EQ(words(1e-6), 8u);
  EXPECT_EQ(words(1e-3), 4u);
  EXPECT_EQ(words(0.1), 1u);
}

TEST(Automatic, TakesAllOfTheMemoryAndNoMore) {
  for (const std::uint64_t bytes : {64u, 100u, 127u, 128u, 1'000'000u}) {
    for (const std::uint64_t keys : {0u, 1000u})
      EXPECT_EQ(Automatic::bytes(Automatic::fit({.keys = keys, .error = 1e-4, .bytes = bytes})), bytes / 64 * 64);
  }
}

TEST(Automatic, DamageIsFound) {
  Automatic filter({.lines = 2, .first_lines = 1, .forms = {LineForm{Form::slots, 5}, LineForm{Form::queue, 10}}});
  for (const Digest& key : KeyMaker(9).make(30)) filter.insert(key);
  const std::string good = own_bytes(filter);
  ASSERT_EQ(good.size(), 8u * (2 + 8 + 16));
  EXPECT_EQ(own_bytes(loaded<Automatic>(good)), good);
  const auto with = [&](std::size_t word, std::uint64_t value) {
    std::string bad = good;
    std::memcpy(bad.data() + 8 * word, &value, sizeof value);
    return bad;
  };
  const std::pair<std::size_t, std::uint64_t> damages[] = {
      {0, 0},                       // no lines
      {0, std::uint64_t{1} << 58},  // more than can be
      {1, 3},                       // a part larger than the whole
      {2, 3},                       // no such form
      {3, 1},
      {3, 57},  // no such width
      {4, 4},   // single slots are not divided
      {5, 0},   // fewer keys than are held
      {8, 0},
      {8, 3},  // no such queue
      {8, 16},
      {9, 0},                        // fewer keys than are held
      {17, std::uint64_t{1} << 63},  // behind the last slot of the first line
      {25, std::uint64_t{1} << 60},  // an empty slot before one in use
      {25, std::uint64_t{1} << 63},  // behind the last slot of the second
  };
  for (const auto& [word, value] : damages)
    EXPECT_THROW(loaded<Automatic>(with(word, value)), Error) << word << ' ' << value;
}

}  // namespace
}  // namespace nodup
