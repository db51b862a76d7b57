// SPDX-License-Identifier: Apache-2.0
//
// Figures 10 and 11: the number of filters, and the false positives, while a burst comes and goes.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "experiments/p0_windows/p0_windows.hpp"
#include "nodup/filters/timer.hpp"
#include "nodup/theory/bloom.hpp"

namespace nodup::lab {

namespace {

constexpr std::uint64_t kProbes = 4, kDomain = 20'000;
constexpr double kError = 0.05;

struct Phase {
  double filters = 0;  // on average
  std::uint64_t fewest = UINT64_MAX, most = 0;
  Score score;
};

struct Course {
  std::array<Phase, 3> phases;
  std::uint64_t back_after = 0;       // slots after the burst until there is one filter
  std::vector<std::uint64_t> counts;  // filters, per slot
};

// One event per slot, `burst` of them in the middle third.
Course run_burst(const Timer::Params& p, std::uint64_t burst, std::uint64_t slots) {
  Timer filter(p);
  Random random(burst * 1000 + p.window.span);
  std::unordered_map<std::uint64_t, Tick> delivered;
  Course course;
  for (Tick slot = 0; slot < slots; ++slot) {
    Phase& phase = course.phases[std::min<std::uint64_t>(3 * slot / slots, 2)];
    for (std::uint64_t i = 0; i < (&phase == &course.phases[1] ? burst : 1); ++i) {
      const std::uint64_t event = random.below(kDomain);
      const auto last = delivered.find(event);
      const bool truth = last != delivered.end() && slot - last->second <= p.window.span;
      filter.make_room(1);
      const bool distinct = filter.insert(key(event), slot);
      phase.score.count(truth, distinct);
      if (distinct) delivered[event] = slot;
    }
    const std::uint64_t filters = filter.stages();
    course.counts.push_back(filters);
    phase.filters += static_cast<double>(filters) / (static_cast<double>(slots) / 3);
    phase.fewest = std::min(phase.fewest, filters);
    phase.most = std::max(phase.most, filters);
    if (3 * slot >= 2 * slots && filters > 1 && course.back_after + 1 >= slot - 2 * slots / 3)
      course.back_after = slot - 2 * slots / 3 + 1;
  }
  return course;
}

// The paper's filters: all alike, a generation per slot.
Timer::Params paper_filters(std::uint64_t window, double keys, bool by_count) {
  Timer::Params p{.cells = static_cast<std::uint64_t>(theory::bloom_bits_limit(kProbes, keys, kError)),
                  .probes = kProbes,
                  .keys = static_cast<std::uint64_t>(keys),
                  .error = kError};
  p.window = {.span = window - 1, .slack = 0};
  p.generations = generations_of_one_slot(window);
  p.full_by_count = by_count;
  p.equal_stages = true;
  return p;
}

void row(Table& t, const std::string& name, const Course& c) {
  const auto& [before, burst, after] = c.phases;
  t.row(name, before.filters, before.most, burst.filters, burst.most, after.filters, after.most, c.back_after,
        before.score.fp_rate(), burst.score.fp_rate(), after.score.fp_rate());
}

const std::vector<std::string> kColumns = {"stream",      "before: filters", "before: most", "burst: filters",
                                           "burst: most", "after: filters",  "after: most",  "slots until one",
                                           "before: FP",  "burst: FP",       "after: FP"};

}  // namespace

void dynamic_size(const Experiment& lab) {
  const std::uint64_t slots = 30'000;
  std::vector<std::pair<std::string, Course>> drawn;
  {
    Table t(lab, "figure10",
            "Figures 10 and 11: filters and false positives while a burst comes and goes\n"
            "k = 4, P = 0.05, 30000 slots with one event each, 2 or 5 in the middle third; filters for 1.15 times the "
            "load without a burst. A new filter when the newest is full by density or by cardinality.",
            kColumns);
    for (const bool by_count : {false, true})
      for (const std::uint64_t burst : {1u, 2u, 5u})
        for (const std::uint64_t window : {100u, 500u, 1000u}) {
          const Course c = run_burst(paper_filters(window, 1.15 * static_cast<double>(window), by_count), burst, slots);
          const std::string name = fmt::format("{} x{} w={}", by_count ? "cardinality" : "density", burst, window);
          row(t, name, c);
          if (burst == 5) drawn.emplace_back(name, c);
        }
  }
  {
    Table t(
        lab, "figure10_fixed",
        "The same with the size of the filters fixed over windows, made for w = 100: the larger the window, the more "
        "filters\nThe sum of their false positives is far above P = 0.05.",
        kColumns);
    for (const std::uint64_t window : {100u, 500u, 1000u})
      row(t, fmt::format("density x5 w={}", window), run_burst(paper_filters(window, 115, false), 5, slots));
  }
  {
    Table t(lab, "bounded",
            "The filter as this library makes it: later stages larger and tighter, so that the total stays below 0.05\n"
            "Fitted for w = 1000 and one event per slot; slack 0.08.",
            kColumns);
    for (const std::uint64_t burst : {1u, 2u, 5u}) {
      const Timer::Params p = Timer::fit({.keys = 1000, .error = kError, .window = {.span = 999}});
      row(t, fmt::format("timer x{} w=1000", burst), run_burst(p, burst, slots));
    }
  }
  std::vector<std::string> columns = {"slot"};
  for (const auto& [name, course] : drawn) columns.push_back(name);
  Table t(lab, "figure10_course", "Filters over time, bursts of five times the rate", columns);
  for (std::uint64_t slot = 0; slot < slots; slot += 50) {
    std::vector<double> values;
    for (const auto& [name, course] : drawn) values.push_back(static_cast<double>(course.counts[slot]));
    t.numbers(fmt::to_string(slot), values);
  }
}

}  // namespace nodup::lab
