// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/hash/draws.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/cost.hpp"
#include "nodup/theory/occupancy.hpp"

namespace nodup {

namespace {

// A rate of 1 % is then known to 1 % of itself; a kind takes about 0.05 s.
constexpr double kEvents = 1e6;
// 64 lines: below, the last line that is not full and the unequal load of few lines show.
constexpr double kLeastBytes = 4096;
// A stream so much longer than the memory that even this does not bring it down to kEvents.
constexpr double kMostEvents = 4e6;

// From so many lost events on they are counted: their share is then known to 5 %.
constexpr std::uint64_t kEnoughLost = 400;

// Draws no filter gets to: those that forget at random begin at 0, and must not see the numbers of the stream again.
constexpr std::uint64_t kFarDraws = std::uint64_t{1} << 62;

std::vector<Digest> uniform_keys(const LongStream& stream) {
  const Hasher hash(0);
  const auto digest = [&](std::uint64_t key) {
    return hash({reinterpret_cast<const char*>(&key), sizeof key});  // little-endian, as all machines of nodup are
  };
  std::vector<Digest> keys(stream.events);
  if (stream.distinct >= stream.events) {
    for (std::uint64_t i = 0; i < stream.events; ++i) keys[i] = digest(i);
    return keys;
  }
  const double universe = uniform_universe(static_cast<double>(stream.events), static_cast<double>(stream.distinct));
  Draws draws(kFarDraws);
  for (Digest& key : keys) key = digest(fastrange(draws.next(), static_cast<std::uint64_t>(std::llround(universe))));
  return keys;
}

std::uint64_t scaled(std::uint64_t count, double scale) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(static_cast<double>(count) / scale)));
}

// Nothing for a kind that outgrows its memory.
std::optional<Forecast> forecast(const Kind& kind, const Goal& goal, const LongStream& stream,
                                 const ScaledTrial& small) {
  Forecast result{.plan = kind.plan(goal)};
  if (result.plan.bytes > goal.bytes) return std::nullopt;
  Goal small_goal = goal;
  small_goal.keys = scaled(goal.keys, small.scale);
  small_goal.bytes = small.bytes;
  Outcome outcome;
  try {
    AnyFilter filter = kind.make(small_goal);
    outcome = small.trial.run(filter);
  } catch (const Error&) {
    return std::nullopt;  // full, and exact
  }
  result.false_positive = outcome.lost >= kEnoughLost ? outcome.false_positive() : outcome.expected_false_positive;
  result.false_negative = outcome.false_negative();
  if (kind.forgets && outcome.passed == 0 && outcome.duplicates > 0)
    result.none_below = std::min(1.0, 3 / static_cast<double>(outcome.duplicates));  // e^-3 = 5 %
  const double new_share = static_cast<double>(stream.distinct) / static_cast<double>(stream.events);
  result.wrong = new_share * result.false_positive + (1 - new_share) * result.false_negative;
  return result;
}

}  // namespace

ScaledTrial scaled_trial(const LongStream& stream, std::uint64_t bytes) {
  const auto events = static_cast<double>(stream.events);
  const double by_memory = std::max(1.0, static_cast<double>(bytes) / kLeastBytes);
  const double scale = std::clamp(events / kEvents, 1.0, by_memory);
  if (events / scale > kMostEvents)
    throw Error(
        fmt::format("{} bytes for {} events are too few to say anything: every filter would forget or lose nearly "
                    "all of them",
                    bytes, stream.events));
  const LongStream small{scaled(stream.events, scale), scaled(stream.distinct, scale)};
  return {scale, static_cast<std::uint64_t>(static_cast<double>(bytes) / scale), Trial(uniform_keys(small))};
}

std::vector<Forecast> ranked_forecasts(const Goal& goal, const LongStream& stream) {
  const ScaledTrial small = scaled_trial(stream, goal.bytes);
  std::vector<Forecast> forecasts;
  for (const Kind& kind : filter_kinds()) {
    if (kind.ages) continue;
    if (std::optional<Forecast> made = forecast(kind, goal, stream, small)) forecasts.push_back(std::move(*made));
  }
  std::ranges::stable_sort(forecasts, [&](const Forecast& a, const Forecast& b) {
    const auto rank = [&](const Forecast& f) {
      const bool misses = f.false_positive > goal.error;
      return std::pair(misses, misses ? f.wrong : std::max(f.false_negative, f.none_below));
    };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return cost(a.plan.bytes, a.plan.lines_per_event) < cost(b.plan.bytes, b.plan.lines_per_event);
  });
  return forecasts;
}

}  // namespace nodup
