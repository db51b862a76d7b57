// SPDX-License-Identifier: Apache-2.0
//
// What a filter of fixed memory will lose and pass on a long stream, before it runs.
//
// The rates of these filters are scale free: with memory and stream divided by the same number they stay (measured for
// the paper's tables, experiments/p1). So a forecast makes the REAL filter, as many times smaller as the stream is
// longer than a million events, and sends such a stream through it. No model of any kind is needed: what is registered
// is forecast, and a filter that forgets in a new way is as good as one with a formula.
//
// The stream is the papers' one: every event drawn with equal chance from one set of keys, so that duplicates come at
// any distance. That is the hardest stream for filters that forget; where duplicates are mostly recent, they do better
// (experiments/p1_recent).
#pragma once

#include <cstdint>
#include <vector>

#include "nodup/filters/registry.hpp"
#include "nodup/plan/trial.hpp"

namespace nodup {

struct LongStream {
  std::uint64_t events = 0;
  std::uint64_t distinct = 0;  // of them; 1 to events
};

// A stream like `stream`, and a filter's bytes, both smaller by `scale`.
struct ScaledTrial {
  double scale = 1;
  std::uint64_t bytes = 0;
  Trial trial;
};

// Throws Error where the memory is too small to be scaled: far below a hundredth of a bit per event.
ScaledTrial scaled_trial(const LongStream& stream, std::uint64_t bytes);

struct Forecast {
  Plan plan;                  // of the filter in its real size
  double false_positive = 0;  // of all new events, the share that is lost
  double false_negative = 0;  // of all duplicates, the share that passes
  double none_below = 0;      // if not 0: no duplicate passed, so the share is likely (95 %) below this
  double wrong = 0;           // of all events, the share judged wrongly
};

// One forecast for every kind that keeps within goal.bytes on such a stream, window filters apart; the best first.
// First those that lose no more of the new events than goal.error, by the duplicates they pass and then by cost
// (theory/cost.hpp); behind them the others, by their wrong judgements.
std::vector<Forecast> ranked_forecasts(const Goal& goal, const LongStream& stream);

}  // namespace nodup
