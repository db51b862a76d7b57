// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/window_clock.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "nodup/text/time.hpp"
#include "nodup/text/units.hpp"

namespace nodup {

Tick wall_clock() {
  using namespace std::chrono;
  return static_cast<Tick>(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

void WindowClock::refuse_future(Batch& batch) const {
  if (options_.base != TimeBase::event) return;
  const Tick wall = options_.wall();
  const Tick last = options_.lateness > Window::kEndless - wall ? Window::kEndless : wall + options_.lateness;
  const auto begin = batch.ticks.begin() + static_cast<std::ptrdiff_t>(batch.header);
  if (std::all_of(begin, batch.ticks.end(), [&](Tick t) { return t <= last; })) return;
  std::vector<BadRecord> all;
  auto bad = batch.bad.begin();
  for (std::size_t i = batch.header; i < batch.ticks.size(); ++i) {
    if (bad != batch.bad.end() && bad->index == i)
      all.push_back(std::move(*bad++));
    else if (batch.ticks[i] > last)
      all.push_back({i, fmt::format("its time {} lies in the future: here it is {}{}", human_time(batch.ticks[i]),
                                    human_time(wall / 1'000'000'000 * 1'000'000'000),
                                    options_.lateness == 0 ? std::string()
                                                           : fmt::format(", and --lateness allows {}",
                                                                         duration_text(options_.lateness)))});
  }
  batch.bad = std::move(all);
}

void WindowClock::stamp(Batch& batch) {
  late_.clear();
  switch (options_.base) {
    case TimeBase::none:
      break;
    case TimeBase::records:
      stamp_numbers(batch);
      break;
    case TimeBase::arrival:
      look();
      batch.ticks.assign(batch.digests.size(), now_);
      break;
    case TimeBase::event:
      stamp_event_times(batch);
      break;
  }
}

void WindowClock::look() {
  if (options_.base == TimeBase::arrival) now_ = std::max(now_, options_.wall());
}

void WindowClock::stamp_numbers(Batch& batch) {
  batch.ticks.resize(batch.digests.size());
  // A stretch of good records at a time.
  std::size_t from = batch.header, done = 0;
  const auto fill_to = [&](std::size_t to) {
    std::iota(batch.ticks.begin() + static_cast<std::ptrdiff_t>(done),
              batch.ticks.begin() + static_cast<std::ptrdiff_t>(done + to - from), now_ + 1 + from - batch.header);
    done += to - from;
    from = to + 1;
  };
  for (const BadRecord& bad : batch.bad) fill_to(bad.index);
  fill_to(batch.size());
  now_ += batch.size() - batch.header;
}

void WindowClock::stamp_event_times(Batch& batch) {
  Tick now = now_;
  for (std::size_t i = 0; i < batch.ticks.size(); ++i) {
    Tick& tick = batch.ticks[i];
    now = std::max(now, tick);
    if (now - tick <= options_.lateness) continue;
    tick = now - options_.lateness;
    late_.push_back(i);
  }
  now_ = now;
}

}  // namespace nodup
