// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nodup {

// Stream time, in whatever unit the window uses: nanoseconds since 1970, or the number of records read.
using Tick = std::uint64_t;

// How long a key is to be remembered. An event of time t is a duplicate if its key was passed at t - span or later.
struct Window {
  static constexpr Tick kEndless = UINT64_MAX;

  Tick span = kEndless;   // ticks; kEndless: time alone forgets nothing
  Tick lateness = 0;      // an event may come this much behind the latest one and is still judged by its own time
  double slack = 0.08;    // keys may be remembered longer than `span` by this share of it
  bool refresh = false;   // the span counts from when a key was last SEEN, not from when it was passed
  bool by_count = false;  // ticks count events: no two keys have the same
  bool endless() const { return span == kEndless; }
};

// What a user wants of a filter. `bytes` = 0 sets no limit; otherwise a fit never takes more, and gives the
// lowest error those bytes allow when `error` is out of reach.
struct Goal {
  std::uint64_t keys = 0;   // distinct keys to hold
  double error = 1e-6;      // chance that a new key is judged a duplicate once `keys` are held
  std::uint64_t bytes = 0;  // ceiling on memory
  Window window = {};       // filters that age: `keys` are then those within the span
  bool compact = false;     // the least memory, whatever the time
};

// How often a filter is wrong, for one event at one moment.
struct Rates {
  double false_positive = 0;  // a new event judged a duplicate: the event is LOST
  double false_negative = 0;  // a duplicate judged new: the duplicate PASSES
};

}  // namespace nodup
