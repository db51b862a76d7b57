// SPDX-License-Identifier: Apache-2.0
//
// What the laws of windows share. They run over every registered kind that ages and over the exact window of the tests.
#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "tests/exact_window.hpp"
#include "tests/laws/law.hpp"

namespace nodup {

// For what RapidCheck prints.
inline std::ostream& operator<<(std::ostream& out, const Window& window) {
  return out << "span " << window.span << " lateness " << window.lateness << " slack " << window.slack
             << (window.refresh ? " refresh" : "");
}

}  // namespace nodup

namespace nodup::testing {

class WindowLaw : public ::testing::TestWithParam<std::string> {
 protected:
  const Kind& kind() const {
    return GetParam() == exact_window_kind().name ? exact_window_kind() : filter_kind(GetParam());
  }
};

inline std::vector<std::string> window_kind_names() {
  std::vector<std::string> names{std::string(exact_window_kind().name)};
  for (const Kind& kind : filter_kinds())
    if (kind.ages) names.emplace_back(kind.name);
  return names;
}

#define NODUP_WINDOW_LAW(suite)                                                                      \
  class suite : public ::nodup::testing::WindowLaw {};                                               \
  INSTANTIATE_TEST_SUITE_P(Kinds, suite, ::testing::ValuesIn(::nodup::testing::window_kind_names()), \
                           ::nodup::testing::name_of)

// From own_bytes, a saved filter without the frame of a file: the exact window is in no list that could load that.
inline AnyFilter loaded_of(const Kind& kind, const std::string& bytes) {
  Reader in = reader_of(bytes);
  return kind.load(in);
}

struct Event {
  Digest key;
  Tick t = 0;
  bool idle = false;  // no event: the clock alone moves to t
};

// In batches of at most `batch`, with room made before each; idle events end a batch.
// told(first, count, is_new) after each one; is_new belongs to events first, first + 1, ...
template <class Told>
void play(AnyFilter& filter, std::span<const Event> events, std::size_t batch, Told told) {
  std::vector<Digest> keys;
  std::vector<Tick> ticks;
  for (std::size_t first = 0; first < events.size();) {
    if (events[first].idle) {
      filter.advance(events[first++].t);
      continue;
    }
    keys.clear();
    ticks.clear();
    for (std::size_t i = first; i < events.size() && !events[i].idle && keys.size() < batch; ++i) {
      keys.push_back(events[i].key);
      ticks.push_back(events[i].t);
    }
    Answers is_new(keys.size());
    filter.make_room(keys.size());
    filter.insert_all(keys, ticks.data(), is_new.data.get());
    told(first, keys.size(), is_new);
    first += keys.size();
  }
}

inline Answers play(AnyFilter& filter, std::span<const Event> events, std::size_t batch = 256) {
  Answers all(events.size());
  play(filter, events, batch, [&](std::size_t first, std::size_t count, const Answers& is_new) {
    for (std::size_t i = 0; i < count; ++i) all.data[first + i] = is_new[i];
  });
  return all;
}

inline bool insert_at(AnyFilter& filter, Digest key, Tick t) {
  bool is_new = false;
  filter.make_room(1);
  filter.insert_all({&key, 1}, &t, &is_new);
  return is_new;
}

inline Answers contains_at(const AnyFilter& filter, std::span<const Digest> keys, Tick t) {
  Answers seen(keys.size());
  const std::vector<Tick> ticks(keys.size(), t);
  filter.contains_all(keys, ticks.data(), seen.data.get());
  return seen;
}

// A distinct key in each tick from `first` on: a count window that is full and moves.
inline std::vector<Event> one_per_tick(KeyMaker& make, Tick first, std::size_t count) {
  std::vector<Event> events(count);
  for (std::size_t i = 0; i < count; ++i) events[i] = {make(), first + i};
  return events;
}

// One step of a stream that someone made up who wants the filter to err. RapidCheck draws many and, when a law breaks,
// finds the few that are to blame.
struct Step {
  unsigned jump = 0;   // how far the clock goes: an index into jumps()
  unsigned what = 0;   // what comes then: see stream_of
  unsigned pick = 0;   // which of the earlier events it repeats
  unsigned count = 1;  // how many events
};
inline constexpr unsigned kWhats = 9;

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "{" << step.jump << ", " << step.what << ", " << step.pick << ", " << step.count << "}";
}

// Around all borders that a window can have: of a tick, of a generation (a filter makes 1 to 50 of the span), of the
// span, of what is kept for late events.
inline std::vector<Tick> jumps(const Window& window) {
  std::vector<Tick> all{0, 0, 0, 0, 1, 1, 2};
  for (const Tick parts : {50, 25, 20, 16, 15, 14, 13, 12, 11, 10, 8, 7, 5, 4, 3, 2, 1}) {
    const Tick length = window.span / parts + (window.span % parts != 0);
    for (const Tick around : {length - 1, length, length + 1}) all.push_back(around);
  }
  all.push_back(window.span + window.lateness);
  all.push_back(window.span + window.lateness + 1);
  all.push_back(2 * window.span);
  all.push_back(1000 * window.span);
  return all;
}

inline std::vector<Event> stream_of(const std::vector<Step>& steps, const Window& window, Tick start) {
  const std::vector<Tick> jump = jumps(window);
  std::vector<Event> events;
  KeyMaker make(77);
  Tick now = start;
  const auto add = [&](Digest key, Tick t) {
    if (t < Generations::since(now, window.lateness)) return;  // callers never hand over such an event
    events.push_back({key, t});
    now = std::max(now, t);
  };
  for (const Step& step : steps) {
    if (step.what == 8) {
      now += jump[step.jump % jump.size()];
      events.push_back({{}, now, true});
      continue;
    }
    const Tick by = jump[step.jump % jump.size()];
    if (step.what != 3 && step.what != 4) now += by;  // those choose their own time
    Random random(step.pick);
    for (unsigned i = 0; i < step.count; ++i) {
      const Event earlier = events.empty() ? Event{make(), now} : events[(step.pick + i) % events.size()];
      const Tick late = random.below(3) == 0 ? window.lateness : random.below(window.lateness + 1);
      if (earlier.idle) continue;
      switch (step.what) {
        case 0:
          add(make(), now);
          break;  // a burst in one tick
        case 1:
          add(make(), now + (i > 0));
          break;  // one in each tick
        case 2:
          add(earlier.key, now);
          break;  // repeated
        case 3:
          add(earlier.key, earlier.t + window.span);
          break;  // at the last moment
        case 4:
          add(earlier.key, earlier.t + window.span + 1);
          break;  // just too late to be a duplicate
        case 5:
          add(make(), Generations::since(now, late));
          break;  // behind the clock
        case 6:
          add(earlier.key, Generations::since(now, late));
          break;  // repeated, behind the clock
        default:
          add(earlier.key, now + (random.below(2) == 0 ? by : 0));
          break;  // repeated, with jumps between
      }
    }
  }
  return events;
}

inline rc::Gen<std::vector<Step>> any_steps() {
  return rc::gen::container<std::vector<Step>>(rc::gen::build<Step>(
      rc::gen::set(&Step::jump, rc::gen::inRange(0u, 62u)), rc::gen::set(&Step::what, rc::gen::inRange(0u, kWhats)),
      rc::gen::set(&Step::pick, rc::gen::inRange(0u, 3000u)), rc::gen::set(&Step::count, rc::gen::inRange(1u, 40u))));
}

inline rc::Gen<Window> any_window() {
  return rc::gen::apply(
      [](Tick span, unsigned lateness, unsigned slack, bool refresh) {
        const Tick latenesses[] = {0, 0, 1, span / 10, span};
        return Window{.span = span,
                      .lateness = latenesses[lateness],
                      .slack = slack == 0   ? 0.3
                               : slack == 1 ? 0.08
                                            : 0.15,
                      .refresh = refresh};
      },
      rc::gen::element<Tick>(1, 2, 7, 13, 100, 1000, 1001, 3'600'000'000'000), rc::gen::inRange(0u, 5u),
      rc::gen::inRange(0u, 3u), rc::gen::arbitrary<bool>());
}

}  // namespace nodup::testing
