// SPDX-License-Identifier: Apache-2.0
//
// A line of fingerprints by age does what a plain list of them does; and the kernels insert as the portable one.
#include "nodup/bits/aged_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "nodup/bits/kernels.hpp"

namespace nodup {
namespace {

struct alignas(64) AlignedLine {
  std::uint64_t words[kLineWords] = {};
};

constexpr unsigned kGenerations = 14;

unsigned slots_of(unsigned width) { return std::min(AgedLineShape::kSlotBits / width, LineAges::kBits - kGenerations); }

// The same as a list: newest first, each with the epoch of its generation.
struct PlainLine {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;  // fingerprint, epoch

  void forget(std::uint64_t epoch, unsigned live) {
    std::erase_if(held, [&](const auto& one) { return one.second + live <= epoch; });
  }
  void put(std::uint64_t value, std::uint64_t epoch) {
    const auto at = std::ranges::find_if(held, [&](const auto& one) { return one.second <= epoch; });
    held.insert(at, {value, epoch});
  }
};

void expect_equal(const AgedLayout& layout, const AlignedLine& line, const LineAges& ages, const PlainLine& plain,
                  std::uint64_t epoch) {
  ASSERT_EQ(ages.used, plain.held.size());
  for (unsigned n = 0; n < ages.used; ++n) {
    ASSERT_EQ(layout.get(line.words, layout.slot(ages, n)), plain.held[n].first) << n;
    ASSERT_EQ(epoch - ages.age_of(n), plain.held[n].second) << n;
  }
  for (unsigned age = 0; age <= kGenerations; ++age)
    ASSERT_EQ(ages.younger(age),
              std::ranges::count_if(plain.held, [&](const auto& one) { return one.second + age > epoch; }));
}

TEST(AgedLine, EqualsAPlainList) {
  for (unsigned width = AgedLayout::kNarrowest; width <= AgedLineShape::kWidest; ++width) {
    const AgedLineShape shape(width, slots_of(width));
    const AgedLayout& layout = shape.layout();
    std::mt19937_64 random(width);
    AlignedLine line;
    PlainLine plain;
    std::uint64_t epoch = random() % 1000;
    unsigned live = kGenerations;
    for (int step = 0; step < 3000; ++step) {
      // Time goes on, mostly by less than the line can miss.
      if (random() % 3 == 0) epoch += random() % 8 == 0 ? random() % LineAges::kEpochs : random() % 2;
      live = random() % 4 == 0 ? 1 + static_cast<unsigned>(random() % kGenerations) : kGenerations;
      plain.forget(epoch, live);
      LineAges ages = LineAges::read(line.words[kAgesWord], epoch, live);
      ASSERT_NO_FATAL_FAILURE(expect_equal(layout, line, ages, plain, epoch)) << "width " << width << " step " << step;
      const std::uint64_t value = random() & layout.max_value;
      if (random() % 5 == 0 && ages.used > 0) {
        const auto n = static_cast<unsigned>(random() % ages.used);
        ages = layout.take(line.words, ages, n);
        plain.held.erase(plain.held.begin() + n);
      } else if (ages.used < layout.slots) {
        const auto age = random() % 3 == 0 ? static_cast<unsigned>(random() % live) : 0;
        ages = age == 0 && random() % 2 == 0 ? layout.push(line.words, ages, value)
                                             : layout.put(line.words, ages, value, age);
        plain.put(value, epoch - age);
      }
      line.words[kAgesWord] = ages.word(epoch);
    }
  }
}

TEST(AgedLine, EveryKernelFindsTheSameSlots) {
  std::mt19937_64 random(7);
  for (const Kernels* set : available_kernels())
    for (unsigned width = AgedLayout::kNarrowest; width <= AgedLineShape::kWidest; ++width) {
      const AgedLineShape shape(width, slots_of(width));
      for (int round = 0; round < 50; ++round) {
        AlignedLine line;
        for (std::uint64_t& word : line.words) word = random();
        const auto wanted = static_cast<unsigned>(random() % shape.layout().slots);
        const std::uint64_t value = shape.layout().get(line.words, wanted);
        shape.layout().set(line.words, static_cast<unsigned>(random() % shape.layout().slots), value);
        std::uint64_t expected = 0;
        for (unsigned slot = 0; slot < shape.layout().slots; ++slot)
          expected |= std::uint64_t{shape.layout().get(line.words, slot) == value} << slot;
        ASSERT_EQ(set->find_in_aged_line(shape, line.words, value), expected) << set->name << " width " << width;
      }
    }
}

// Full tables and empty ones, all kinds of moments, keys that come again at once and later.
TEST(AgedLine, EveryKernelInsertsAsThePortableOne) {
  for (const Kernels* set : available_kernels())
    for (unsigned width = AgedLayout::kNarrowest; width <= AgedLineShape::kWidest; ++width)
      for (const std::uint64_t lines : {1u, 2u, 40u}) {
        const AgedLineShape shape(width, slots_of(width));
        std::mt19937_64 random(100 * width + lines);
        std::vector<AlignedLine> expected(lines), actual(lines);
        std::vector<Digest> keys;
        std::uint64_t epoch = 0;
        std::size_t inserted = 0, stopped = 0;
        for (int round = 0; round < 60; ++round) {
          epoch += random() % 3;
          AgedMoment moment{.epoch = epoch,
                            .live = kGenerations,
                            .reach = kGenerations,
                            .slack_from = kGenerations - 1,
                            .refresh = random() % 4 == 0,
                            .all_stale = random() % 4 == 0};
          if (random() % 3 == 0) moment.live = 1 + static_cast<unsigned>(random() % kGenerations);
          if (random() % 3 == 0) moment.reach = 1 + static_cast<unsigned>(random() % moment.live);
          if (random() % 3 == 0) moment.slack_from = static_cast<unsigned>(random() % (moment.live + 1));
          std::vector<Digest> batch;
          for (std::size_t i = 0; i < 1 + random() % 100; ++i) {
            const bool again = !keys.empty() && random() % 2 == 0;
            batch.push_back(again ? keys[keys.size() - 1 - random() % std::min<std::size_t>(keys.size(), 300)]
                                  : Digest{random(), random()});
            keys.push_back(batch.back());
          }
          const auto want = std::make_unique<bool[]>(batch.size()), got = std::make_unique<bool[]>(batch.size());
          const std::uint64_t room = random() % 3 == 0 ? random() % 20 : 1000;
          AgedBatch wanted{.room = room}, found{.room = room};
          const std::size_t from = random() % batch.size();
          const auto run = [&](const Kernels& kernels, std::vector<AlignedLine>& table, AgedBatch& counts,
                               bool* is_new) {
            const AgedLineTable view{table.data()->words, lines, shape.layout().max_value};
            return kernels.insert_aged_lines(shape, view, moment, counts, batch.data(), from, batch.size(), is_new);
          };
          const std::size_t end = run(*available_kernels().back(), expected, wanted, want.get());
          ASSERT_EQ(run(*set, actual, found, got.get()), end) << set->name << " width " << width;
          ASSERT_EQ(found.passed, wanted.passed);
          ASSERT_EQ(found.in_slack, wanted.in_slack);
          ASSERT_TRUE(std::equal(got.get() + from, got.get() + end, want.get() + from));
          ASSERT_EQ(std::memcmp(actual.data(), expected.data(), lines * sizeof(AlignedLine)), 0);
          ASSERT_LE(wanted.passed, room);
          inserted += wanted.passed;
          stopped += end < batch.size();
        }
        EXPECT_GT(stopped, 0u);
        EXPECT_GT(inserted, 10u);
      }
}

}  // namespace
}  // namespace nodup
