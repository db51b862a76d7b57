// SPDX-License-Identifier: Apache-2.0
//
// The stream, the truth and the counts. A stream "with 60 % distinct" is N uniform draws from U keys, where U makes
// 60 % of the draws the first of their key: U (1 - e^(-N/U)) = 0.6 N. The truth is a bit per key.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <thread>

#include "experiments/experiment.hpp"
#include "experiments/p1/p1.hpp"
#include "nodup/bits/bit_array.hpp"
#include "nodup/hash/draws.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup::lab {
namespace {

constexpr std::uint64_t kPoints = 100;                 // along the stream, for the figures
constexpr std::uint64_t kEnoughFalsePositives = 1000;  // their chance is then 3 %
constexpr std::size_t kBatch = 2048;

// The keys from which `records` uniform draws find this share new.
std::uint64_t keys_to_draw_from(double records, double distinct) {
  return least_where(1, std::uint64_t{1} << 50, [&](std::uint64_t keys) {
    return static_cast<double>(keys) * -std::expm1(-records / static_cast<double>(keys)) >= distinct * records;
  });
}

class Stream {
 public:
  Stream(std::uint64_t records, double distinct)
      : keys_(keys_to_draw_from(static_cast<double>(records), distinct)), seen_(keys_) {}

  // Fills both with the next records.
  void next(std::span<Digest> digests, bool* is_distinct) {
    std::array<std::uint64_t, kBatch> numbers;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      numbers[i] = fastrange(draws_.next(), keys_);
      digests[i] = key(numbers[i]);
    }
    visit_prefetched(
        digests.size(), [&](std::size_t i) { seen_.prefetch(numbers[i]); },
        [&](std::size_t i) { is_distinct[i] = !seen_.test_and_set(numbers[i]); });
  }

 private:
  std::uint64_t keys_;
  BitArray seen_;
  // Not the numbers that the filters draw, which start at 0.
  Draws draws_{std::uint64_t{1} << 63};
};

struct Counts {
  std::uint64_t false_positives = 0, false_negatives = 0;
};

Course measure_once(std::uint64_t records, double distinct_share, const std::vector<Contender>& contenders) {
  Course course;
  std::vector<Counts> counts(contenders.size());
  std::vector<Digest> digests(kBatch);
  std::array<bool, kBatch> is_distinct, is_new;
  Stream stream(records, distinct_share);
  std::uint64_t done = 0, distinct = 0;
  for (std::uint64_t point = 1; point <= kPoints; ++point) {
    for (const std::uint64_t until = records * point / kPoints; done < until;) {
      const std::span<Digest> batch(digests.data(), std::min<std::uint64_t>(kBatch, until - done));
      stream.next(batch, is_distinct.data());
      for (std::size_t i = 0; i < batch.size(); ++i) distinct += is_distinct[i];
      for (std::size_t c = 0; c < contenders.size(); ++c) {
        contenders[c].insert_all(batch, is_new.data());
        for (std::size_t i = 0; i < batch.size(); ++i) {
          counts[c].false_positives += is_distinct[i] & !is_new[i];
          counts[c].false_negatives += !is_distinct[i] & is_new[i];
        }
      }
      done += batch.size();
    }
    const auto percent = [](std::uint64_t part, std::uint64_t whole) {
      return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
    };
    course.share.push_back(static_cast<double>(point) / kPoints);
    for (std::size_t c = 0; c < contenders.size(); ++c)
      course.readings[contenders[c].name].push_back({percent(counts[c].false_positives, distinct),
                                                     percent(counts[c].false_negatives, done - distinct),
                                                     contenders[c].load()});
  }
  course.fewest_false_positives = std::ranges::min(counts, {}, &Counts::false_positives).false_positives;
  return course;
}

}  // namespace

std::string Row::stream_name() const {
  return fmt::format("{} {:g} %",
                     records < 1e9 ? fmt::format("{:g}M", records / 1e6) : fmt::format("{:g}B", records / 1e9),
                     distinct * 100);
}
std::string Row::name() const { return fmt::format("{} {:g} MB", stream_name(), megabytes); }

Course measure(const Row& row, double fraction, std::uint64_t arrays, const Contenders& contenders) {
  const auto at = [&](double size) {
    const auto records = static_cast<std::uint64_t>(std::round(row.records * size));
    const auto length =
        static_cast<std::uint64_t>(std::round(row.megabytes * (1 << 23) * size / static_cast<double>(arrays)));
    const std::uint64_t bits = length * arrays;
    const auto began = std::chrono::steady_clock::now();
    Course course = measure_once(records, row.distinct, contenders(bits));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    fmt::print(stderr, "{}, {} arrays: {} records, {} bits, {:.1f} s\n", row.name(), arrays, records, bits,
               took.count());
    return course;
  };
  Course course = at(fraction);
  return course.fewest_false_positives < kEnoughFalsePositives && fraction < 1 ? at(fraction * 10) : course;
}

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> cores;
  for (unsigned core = 0; core < std::max(1u, std::thread::hardware_concurrency()); ++core)
    cores.push_back(std::async(std::launch::async, [&] {
      for (std::size_t i; (i = next++) < count;) job(i);
    }));
  for (std::future<void>& core : cores) core.get();
}

}  // namespace nodup::lab
