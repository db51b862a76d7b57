// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/generations.hpp"

#include <algorithm>
#include <cmath>

#include "nodup/filters/format.hpp"

namespace nodup {

// The newest began at `now` at the latest, and generations begin at least a length apart. One whose end is above
// now - kept began after now - kept - length. So with kept = (live - 1) lengths there are at most `live`.
std::uint64_t Generations::needed(const Window& window, std::uint64_t most) {
  if (window.endless()) return std::min<std::uint64_t>(2, most);
  if (!(window.slack > 0)) return most;
  const double lengths =
      static_cast<double>(kept(window)) / (window.slack * static_cast<double>(std::max<Tick>(window.span, 1)));
  return lengths >= static_cast<double>(most - 1)
             ? most
             : std::max<std::uint64_t>(2, 1 + static_cast<std::uint64_t>(std::ceil(lengths)));
}

Tick Generations::length(const Window& window, std::uint64_t live) {
  if (window.endless()) return Window::kEndless;
  const Tick all = kept(window);
  return std::max<Tick>(1, all / (live - 1) + (all % (live - 1) != 0));
}

double Generations::slack(const Window& window, std::uint64_t live) {
  if (window.endless()) return 0;
  return static_cast<double>(length(window, live)) / static_cast<double>(std::max<Tick>(window.span, 1));
}

Generations::Generations(const Window& window, std::uint64_t live)
    : window_(window), length_(length(window, live)), ring_(live) {}

Generation& Generations::open(Tick t) {
  const Tick first = std::max(t, now_);
  if (count_ == ring_.size()) {
    if (oldest_is_over())
      drop_oldest();
    else
      give_up_oldest();
  }
  // Its keys may be of this very tick.
  if (count_ > 0 && first < (*this)[0].end) (*this)[0].end = first + 1;
  newest_ = (newest_ + ring_.size() - 1) % ring_.size();
  ++count_;
  now_ = first;
  return (*this)[0] = {.first = first, .end = later(first, length_)};
}

void Generations::give_up_oldest() {
  if ((*this)[count_ - 1].keys > 0) given_up_ = std::max(given_up_, (*this)[count_ - 1].end);
  --count_;
  narrowest_ = std::min(narrowest_, reading().effective);
}

bool Generations::oldest_is_over() const { return count_ > 0 && (*this)[count_ - 1].end <= since(now_, kept(window_)); }

std::uint64_t Generations::age_of(Tick t) const {
  std::uint64_t age = 0;
  while (age + 1 < count_ && (*this)[age].first > t) ++age;
  // In the idle time between two generations: the later one.
  return age > 0 && (*this)[age].end <= t ? age - 1 : age;
}

// From the old end: those that are over have been dropped, so few are out of reach.
std::uint64_t Generations::reach(Tick t) const {
  const Tick oldest = since(t, window_.span);
  std::uint64_t reach = count_;
  while (reach > 0 && (*this)[reach - 1].end <= oldest) --reach;
  return reach;
}

TimeStretch Generations::stretch(Tick t) const {
  TimeStretch s{.from = t, .until = later(t, 1), .own = age_of(t), .reach = 0, .slack_from = count_};
  if (const Generation& own = (*this)[s.own]; own.first <= t && t < own.end) {
    s.from = own.first;
    s.until = s.own == 0 ? own.end : std::max(s.until, std::min(own.end, (*this)[s.own - 1].first));
  }
  const Tick oldest = since(t, window_.span);
  for (std::uint64_t age = 0; age < count_; ++age) {
    const Generation& g = (*this)[age];
    const Tick from = earliest(age);
    const Tick too_old = later(g.end, window_.span), in_slack = later(later(from, window_.span), 1);
    if (g.end > oldest) {
      s.reach = age + 1;
      s.until = std::min(s.until, too_old);
    } else {
      s.from = std::max(s.from, too_old);
    }
    if (from < oldest) {
      s.slack_from = std::min(s.slack_from, age);
      s.from = std::max(s.from, in_slack);
    } else {
      s.until = std::min(s.until, in_slack);
    }
  }
  if (count_ > 1) s.until = std::min(s.until, later((*this)[count_ - 1].end, kept(window_)));
  return s;
}

// A late event may have come from the idle time before the generation, as far back as the one before it.
Tick Generations::earliest(std::uint64_t age) const {
  const Tick first = (*this)[age].first;
  const Tick before = age + 1 < count_ ? (*this)[age + 1].end : 0;
  return std::min(first, std::max(before, since(first, window_.lateness)));
}

// What is promised holds for the latest event that may still come, too.
WindowReading Generations::reading() const {
  WindowReading reading{.now = now_,
                        .asked = window_.span,
                        .effective = window_.span,
                        .narrowest = narrowest_,
                        .dropped_in_slack = dropped_in_slack_};
  if (given_up_ > 0) reading.effective = std::min(window_.span, since(since(now_, window_.lateness), given_up_));
  return reading;
}

void Generations::save(Writer& out) const {
  out.u64(now_);
  out.u64(given_up_);
  out.u64(dropped_in_slack_);
  out.u64(count_);
  for (std::uint64_t age = 0; age < count_; ++age) {
    const Generation& generation = (*this)[age];
    out.u64(generation.first);
    out.u64(generation.end);
    out.u64(generation.keys);
    out.u64(generation.tag);
  }
}

void Generations::load(Reader& in, std::uint64_t most_tag) {
  now_ = in.u64("clock");
  given_up_ = in.u64("end of the generation given up");
  dropped_in_slack_ = in.u64("events dropped in the slack");
  count_ = in.u64("number of generations", 0, ring_.size());
  newest_ = 0;
  Tick latest = now_;
  for (std::uint64_t age = 0; age < count_; ++age) {
    Generation& generation = (*this)[age];
    generation.first = in.u64("begin of a generation", 0, latest);
    generation.end = in.u64("end of a generation", generation.first, Window::kEndless);
    generation.keys = in.u64("keys of a generation");
    generation.tag = in.u64("tag of a generation", 0, most_tag);
    if (age > 0 && generation.end > (*this)[age - 1].end) in.damaged("generations are out of order");
    latest = generation.first;
  }
}

void save_window(Writer& out, const Window& window) {
  out.u64(window.span);
  out.u64(window.lateness);
  out.f64(window.slack);
  out.u64(window.refresh);
  out.u64(window.by_count);
}

Window load_window(Reader& in) {
  Window window;
  window.span = in.u64("span of the window", 1, Window::kEndless);
  window.lateness = in.u64("lateness");
  window.slack = in.f64("slack", 1e-6, 1e6);
  window.refresh = in.u64("refresh", 0, 1) == 1;
  window.by_count = in.u64("by count", 0, 1) == 1;
  return window;
}

}  // namespace nodup
