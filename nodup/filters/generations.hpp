// SPDX-License-Identifier: Apache-2.0
//
// Time cut into generations: what the filters of sliding windows share.
//
// A window filter cannot keep a time for every key; it keeps the generation a key belongs to. A generation covers a
// stretch of at most length() ticks. It opens at the first event that needs it, so idle time costs nothing. Keys are
// forgotten a whole generation at a time, when no event that may still come can ask for any of them: that makes the
// slack, one generation in span / length().
//
// Ages: the newest generation has age 0, the one before it age 1, and so on.
//
// A late event whose time falls into idle time between two generations goes into the later one: its key may then be
// remembered longer than the slack, by the lateness at most.
//
// When all generations are taken and a new one must open, the oldest is given up although it is still needed: the
// window shrinks, and reading() says so until the gap has left the window.
#pragma once

#include <cstdint>
#include <vector>

#include "nodup/filters/filter.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup {

struct Generation {
  Tick first = 0;          // when it opened
  Tick end = 0;            // its keys are of ticks before this one
  std::uint64_t keys = 0;  // put into it so far
  std::uint64_t tag = 0;   // for filters that mark each key with its generation
};

// What is the same for all events of times in [from, until), as long as the generations stay as they are.
struct TimeStretch {
  Tick from = 1, until = 0;      // none
  std::uint64_t own = 0;         // the age of the generation in which they are remembered
  std::uint64_t reach = 0;       // they are compared with the generations of ages 0 to reach - 1
  std::uint64_t slack_from = 0;  // keys of this age and above may be older than the window of one of them

  bool holds(Tick t) const noexcept { return t >= from && t < until; }
};

class Generations {
 public:
  // How long a key must be kept: a late event asks for keys of the span before its own time.
  static Tick kept(const Window& window) { return later(window.span, window.lateness); }
  // The fewest generations that must be told apart for the window's slack, the open one included; at most `most`.
  static std::uint64_t needed(const Window& window, std::uint64_t most);
  // Ticks per generation when `live` can be told apart (at least 2).
  static Tick length(const Window& window, std::uint64_t live);
  // Of the span, how much longer a key may be remembered.
  static double slack(const Window& window, std::uint64_t live);

  Generations(const Window& window, std::uint64_t live);

  const Window& window() const { return window_; }
  std::uint64_t live() const { return ring_.size(); }  // how many there can be
  std::uint64_t count() const { return count_; }       // how many there are
  Tick now() const { return now_; }
  Generation& operator[](std::uint64_t age) { return ring_[(newest_ + age) % ring_.size()]; }
  const Generation& operator[](std::uint64_t age) const { return ring_[(newest_ + age) % ring_.size()]; }

  // An earlier time does nothing. To be told of every event before anything else is asked about it.
  void advance(Tick now) { now_ = now > now_ ? now : now_; }
  // Must one be opened before an event of time t can be remembered?
  bool must_open(Tick t) const { return count_ == 0 || (t >= (*this)[0].end && (*this)[0].end != kNever); }
  // Opens a generation at the later of t and the clock. The one before it ends there.
  Generation& open(Tick t);
  // Gives up the oldest one early.
  void give_up_oldest();
  // Is there one, at the old end, that no event can ask for any more?
  bool oldest_is_over() const;
  void drop_oldest() { --count_; }

  // The generation in which an event of time t is remembered long enough. Not before must_open(t) is false.
  std::uint64_t age_of(Tick t) const;
  // With the generations of ages 0 to reach - 1 an event of time t is compared.
  std::uint64_t reach(Tick t) const;
  // What age_of, reach and in_slack say of t, and of the times around it. When must_open(t) and
  // oldest_is_over() are false.
  TimeStretch stretch(Tick t) const;
  // May a key of this generation be older than the window of an event of time t?
  bool in_slack(std::uint64_t age, Tick t) const { return earliest(age) < since(t, window_.span); }
  void count_in_slack(std::uint64_t events = 1) { dropped_in_slack_ += events; }

  WindowReading reading() const;

  // window and number of generations are the owner's parameters; here:
  // now u64 | end of the newest given up u64 | dropped in slack u64 | count u64 | each, newest first: first, end, keys,
  // tag u64
  void save(Writer& out) const;
  void load(Reader& in, std::uint64_t most_tag);

  // Time never leaves its range.
  static Tick since(Tick t, Tick span) { return t > span ? t - span : 0; }
  static Tick later(Tick t, Tick span) { return t > Window::kEndless - span ? Window::kEndless : t + span; }

 private:
  static constexpr Tick kNever = Window::kEndless;  // the end of a generation that time does not reach
  // No key of this generation is of an earlier tick.
  Tick earliest(std::uint64_t age) const;

  Window window_;
  Tick length_;
  Tick now_ = 0;
  Tick given_up_ = 0;  // end of the newest generation that was given up early
  Tick narrowest_ = Window::kEndless;
  std::uint64_t dropped_in_slack_ = 0;
  std::vector<Generation> ring_;
  std::uint64_t newest_ = 0, count_ = 0;
};

// span u64 | lateness u64 | slack f64 | refresh u64 | by count u64
void save_window(Writer& out, const Window& window);
Window load_window(Reader& in);

}  // namespace nodup
