// SPDX-License-Identifier: Apache-2.0
//
// The comparison of filters in fixed memory (P1) again, where duplicates are mostly recent, with filters for sliding
// windows beside them. Every registered kind takes part, made through the registry for the same bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/experiment.hpp"
#include "nodup/plan/plan.hpp"
#include "nodup/plan/trial.hpp"
#include "nodup/stream/generate.hpp"

namespace nodup::lab {

namespace {

constexpr double kDistinct = 0.6;
constexpr std::uint64_t kMemories[] = {16, 64, 256};  // KiB: 0.22, 0.87 and 3.5 bits per distinct key
constexpr double kErrors[] = {0.1, 0.01};             // asked of every kind

struct Stream {
  std::string_view name, title;
  StreamShape::Shape shape;
  std::string_view distance = "lognormal";
};
constexpr Stream kStreams[] = {
    {"uniform", "Duplicates at any distance, as in the paper", StreamShape::Shape::uniform},
    {"lognormal", "Duplicates at a log-normal distance: median 1024 first occurrences, factor 8",
     StreamShape::Shape::recent, "lognormal:1024,8"},
    {"lognormal_far", "Duplicates at a log-normal distance: median 65536 first occurrences, factor 8",
     StreamShape::Shape::recent, "lognormal:65536,8"},
    {"power", "Duplicates at a distance by a power law of exponent 1", StreamShape::Shape::recent, "power:1"},
    {"power_steep", "Duplicates at a distance by a power law of exponent 1.5", StreamShape::Shape::recent, "power:1.5"},
};

Trial trial_of(const Stream& stream, std::uint64_t events) {
  StreamShape shape;
  shape.events = events;
  shape.distinct = kDistinct;
  shape.shape = stream.shape;
  shape.distance = read_distance(stream.distance);
  EventGenerator generator(shape);
  std::vector<Digest> keys(events);
  for (Digest& k : keys) k = key(generator.next_key());
  return Trial(std::move(keys));
}

// The three families that are compared, each by its best.
enum Family { plain, forgetting, window };
Family family_of(const Kind& kind) { return kind.ages ? window : kind.forgets ? forgetting : plain; }

// What the filter is made for. Those that keep every key are told how many there are; those that forget are not, as on
// a stream without an end. A window is as long as the bytes allow at the error: filters that shorten theirs under a
// limit are asked for one as long as the stream, the others for as many events as they can hold.
Goal goal_of(const Kind& kind, double error, std::uint64_t bytes, std::uint64_t events) {
  Goal goal{.error = error, .bytes = bytes};
  switch (family_of(kind)) {
    case plain:
      goal.keys = static_cast<std::uint64_t>(kDistinct * static_cast<double>(events));
      break;
    case forgetting:
      break;
    case window:
      goal.window = {.span = events, .by_count = true};
      goal.keys = std::max<std::uint64_t>(1, most_keys(kind, goal));
      if (kind.keeps_window) goal.window.span = goal.keys;
      break;
  }
  return goal;
}

struct Best {
  double wrong = 2;
  std::string text = "-";
};

}  // namespace

void run(const Experiment& lab) {
  const std::uint64_t events = lab.samples(1e6);
  // The best of each family, by stream and memory: written last.
  std::vector<std::pair<std::string, std::array<Best, 3>>> best;

  for (const Stream& stream : kStreams) {
    const Trial trial = trial_of(stream, events);
    std::vector<std::string> columns{"filter"};
    for (const std::uint64_t kib : kMemories)
      for (const char* rate : {"lost", "passed"}) columns.push_back(fmt::format("{} {} KiB", rate, kib));
    Table table(lab, stream.name,
                fmt::format("{}\n{} events, {} distinct. Lost: of the first occurrences, in percent. Passed: of the "
                            "duplicates. Behind the name of a filter: the error asked of it.",
                            stream.title, events, kDistinct),
                columns);
    const std::size_t first_best = best.size();
    for (const std::uint64_t kib : kMemories)
      best.emplace_back(fmt::format("{} {} KiB", stream.name, kib), std::array<Best, 3>{});

    for (const Kind& kind : filter_kinds())
      for (const double error : kErrors) {
        // What keeps every key takes all the memory in any case: more than both errors would need is not there.
        if (family_of(kind) == plain && error != kErrors[0]) continue;
        std::vector<double> cells;
        for (std::size_t m = 0; m < std::size(kMemories); ++m) {
          const std::uint64_t bytes = kMemories[m] * 1024;
          const Goal goal = goal_of(kind, error, bytes, events);
          if (kind.plan(goal).bytes > bytes) break;  // exact
          AnyFilter filter = kind.make(goal);
          const Outcome outcome = trial.run(filter);
          const double lost = 100 * outcome.false_positive(), passed = 100 * outcome.false_negative();
          cells.insert(cells.end(), {lost, passed});
          const double wrong = static_cast<double>(outcome.lost + outcome.passed) / static_cast<double>(events);
          Best& champion = best[first_best + m].second[family_of(kind)];
          if (wrong < champion.wrong)
            champion = {wrong, fmt::format("{} {}: {:.3g} / {:.3g}", kind.name, error, lost, passed)};
        }
        if (cells.size() + 1 == columns.size()) table.numbers(fmt::format("{} {}", kind.name, error), cells);
      }
  }

  Table table(lab, "best",
              "The best of each family\nBy wrong judgements among all events: lost / passed in percent, and the error "
              "asked behind the name.",
              {"stream", "keeps every key", "forgets by itself", "holds a window"});
  for (const auto& [name, families] : best)
    table.row(name, families[plain].text, families[forgetting].text, families[window].text);
}

}  // namespace nodup::lab
