// SPDX-License-Identifier: Apache-2.0
//
// How often the intervals of `--audit` hold the true rates: for each row many streams, each with its own seed. The
// truth is an audit that follows every key (tests/stream/audit_test.cpp: it is exact).
#include <array>
#include <optional>
#include <string>

#include "experiments/experiment.hpp"
#include "nodup/filters/biased.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/stream/audit.hpp"
#include "nodup/stream/generate.hpp"

namespace nodup::lab {

namespace {

constexpr std::uint64_t kEvents = 30'000;
constexpr double kOneIn = 64;
constexpr std::size_t kBatch = 500;

using Shape = StreamShape::Shape;

struct Row {
  std::string_view filter;
  AnyFilter (*make)(const Row& row);
  Shape shape;
  double distinct;  // of the events
  double memory;    // MB for a stream of 10^9 events: the rows of paper P1
  Window window = {};
  double one_in = kOneIn;  // keys are followed

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(memory * (1 << 20) * kEvents / 1e9); }
  std::string name() const {
    return fmt::format("{} {} {:.0f}% {:.0f} MB{}{}", filter, shape == Shape::zipf ? "zipf" : "uniform", 100 * distinct,
                       memory, window.endless() ? "" : " window", one_in == kOneIn ? "" : fmt::format(" 1/{}", one_in));
  }
};

template <class F>
AnyFilter two_arrays(const Row& row) {  // as the paper has them
  return AnyFilter(F({.bits = 8 * row.bytes(), .probes = 2, .keys = kEvents}));
}

AnyFilter fitted(const Row& row) {
  return filter_kind(row.filter)
      .make({.keys = row.window.endless() ? kEvents : row.window.span / 2,
             .error = 0.05,
             .bytes = row.bytes(),
             .window = row.window});
}

// Wide enough for the few generations that fit so little memory.
constexpr Window kWindow{.span = 5000, .slack = 0.5, .by_count = true};

constexpr Row kRows[] = {
    {"biased", two_arrays<Biased>, Shape::uniform, 0.15, 64},
    {"biased", two_arrays<Biased>, Shape::uniform, 0.15, 512},
    {"biased", two_arrays<Biased>, Shape::uniform, 0.60, 64},
    {"biased", two_arrays<Biased>, Shape::uniform, 0.90, 256},
    {"load_balanced", two_arrays<LoadBalanced>, Shape::uniform, 0.60, 64},
    {"stable", fitted, Shape::uniform, 0.60, 64},
    {"biased", two_arrays<Biased>, Shape::zipf, 0.15, 64},
    {"biased", two_arrays<Biased>, Shape::zipf, 0.40, 64},
    {"load_balanced", two_arrays<LoadBalanced>, Shape::zipf, 0.40, 128},
    {"standard", fitted, Shape::zipf, 0.40, 128},
    {"biased", two_arrays<Biased>, Shape::uniform, 0.60, 64, {}, 512},
    {"biased", two_arrays<Biased>, Shape::zipf, 0.60, 64, {}, 512},
    {"age_partitioned", fitted, Shape::uniform, 0.40, 64, kWindow},
    {"aged_table", fitted, Shape::zipf, 0.40, 64, kWindow},
};

// Of one rate over all streams.
struct Held {
  double streams = 0, held = 0, truth = 0, measured = 0, width = 0;
  void add(const std::optional<Interval>& exact, const std::optional<Interval>& estimate) {
    if (!exact) return;
    streams += 1;
    truth += exact->value;
    // Nothing observed is nothing claimed: an interval of 0 to 1.
    const Interval claimed = estimate.value_or(Interval{0, 0, 1});
    held += claimed.low <= exact->value && exact->value <= claimed.high;
    measured += claimed.value;
    width += claimed.high - claimed.low;
  }
  double percent(double sum) const { return 100 * sum / streams; }
};

}  // namespace

void run(const Experiment& lab) {
  const std::uint64_t streams = lab.samples(600);
  Table table(
      lab, "coverage",
      fmt::format(
          "Intervals that hold the true rate, of {} streams of {} events audited at 1/64 unless said, in percent\n"
          "true, measured and width are means over the streams; at least 93 % is asked for (1 = met).",
          streams, kEvents),
      {"row", "fpr true", "fpr measured", "fpr width", "fpr held", "fpr met", "fnr true", "fnr measured", "fnr width",
       "fnr held", "fnr met"});
  for (const Row& row : kRows) {
    Held lost, passed;
    for (std::uint64_t seed = 1; seed <= streams; ++seed) {
      EventGenerator events({.events = kEvents, .distinct = row.distinct, .shape = row.shape, .seed = seed});
      const Hasher hasher(seed);
      AnyFilter filter = row.make(row);
      Audit audit({.rate = 1 / row.one_in, .window = row.window, .most_keys = 4096});
      Audit all({.rate = 1, .window = row.window, .most_keys = kEvents});
      std::array<Digest, kBatch> keys;
      std::array<Tick, kBatch> ticks;
      std::array<bool, kBatch> is_new;
      Tick now = 0;
      for (std::uint64_t done = 0; done < kEvents; done += kBatch) {
        for (std::size_t i = 0; i < kBatch; ++i) {
          const std::uint64_t id = events.next_key();
          keys[i] = hasher({reinterpret_cast<const char*>(&id), sizeof id});
          ticks[i] = ++now;
        }
        filter.insert_all(keys, ticks.data(), is_new.data());
        audit.observe(keys, ticks.data(), is_new.data());
        all.observe(keys, ticks.data(), is_new.data());
      }
      const AuditReading exact = all.reading(), estimate = audit.reading();
      lost.add(exact.false_positive, estimate.false_positive);
      passed.add(exact.false_negative, estimate.false_negative);
    }
    const auto met = [](const Held& rate) { return rate.held >= 0.93 * rate.streams ? 1 : 0; };
    table.row(row.name(), lost.percent(lost.truth), lost.percent(lost.measured), lost.percent(lost.width),
              lost.percent(lost.held), met(lost), passed.percent(passed.truth), passed.percent(passed.measured),
              passed.percent(passed.width), passed.percent(passed.held), met(passed));
  }
}

}  // namespace nodup::lab
