// SPDX-License-Identifier: Apache-2.0
//
// Figure 9: how many of a key's timers are equal tells a true duplicate from a false one. And late events.
#include <unordered_map>

#include "experiments/p0_windows/p0_windows.hpp"
#include "experiments/p0_windows/paper_timers.hpp"
#include "nodup/filters/timer.hpp"
#include "nodup/theory/bloom.hpp"

namespace nodup::lab {

namespace {

using Slicing = PaperTimers::Slicing;
using Counting = PaperTimers::Counting;

constexpr std::uint64_t kProbes = 8, kSlices = 40, kDomain = 5994;
constexpr std::int64_t kEvents = 100'000;

std::uint64_t cells_for(double distinct) {
  return static_cast<std::uint64_t>(theory::bloom_bits_limit(kProbes, distinct, 0.05));
}

// When each event was last delivered.
class Delivered {
 public:
  bool within(std::uint64_t event, std::int64_t now, std::uint64_t window) const {
    const auto last = last_.find(event);
    return last != last_.end() && now - last->second < static_cast<std::int64_t>(window);
  }
  void set(std::uint64_t event, std::int64_t slot) {
    const auto [last, first] = last_.try_emplace(event, slot);
    last->second = std::max(last->second, slot);
  }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> last_;
};

// One event per slot; judge(digest, slot, truth) remembers what it judges distinct.
template <class Judge>
void run_stream(Score& score, const Zipf& zipf, std::uint64_t window, std::uint64_t seed, Judge&& judge) {
  Random random(seed);
  Delivered delivered;
  for (std::int64_t now = 1; now <= kEvents; ++now) {
    const std::uint64_t event = zipf(random);
    const bool truth = delivered.within(event, now, window);
    const bool distinct = judge(key(seed * kDomain + event), now, truth);
    score.count(truth, distinct);
    if (distinct) delivered.set(event, now);
  }
}

// False positives come in families (a key that is taken for a duplicate comes again), so single streams differ by half:
// the mean of several.
struct Streams {
  const Zipf& zipf;
  std::uint64_t count;
  std::uint64_t window;

  std::uint64_t cells() const { return cells_for(zipf.distinct(static_cast<double>(window))); }

  Score paper(Slicing slicing, Counting counting, std::uint64_t equal) const {
    Score score;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      PaperTimers timers(cells(), kProbes, window, slicing, kSlices);
      run_stream(score, zipf, window, seed, [&](Digest d, std::int64_t now, bool) {
        const PaperTimers::Look look = timers.look(d, now, counting);
        const bool distinct = !look.alive || look.equal < equal;
        if (distinct) timers.set(d, now);
        return distinct;
      });
    }
    return score;
  }

  // The library's filter with a generation per slot. No room is made: it stays one stage.
  Score filter(std::uint64_t equal) const {
    Timer::Params p{.cells = cells(), .probes = kProbes, .error = 0.05, .window = {.span = window - 1}};
    p.generations = generations_of_one_slot(window);
    p.equal = equal;
    Score score;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      Timer timers(p);
      run_stream(score, zipf, window, seed,
                 [&](Digest d, std::int64_t now, bool) { return timers.insert(d, static_cast<Tick>(now)); });
    }
    return score;
  }

  // Of the events that the plain filter judges duplicates, the share of true ones, by the number of equal timers.
  std::vector<double> true_share(Slicing slicing) const {
    std::vector<Score> by_equal(kProbes + 1);
    Score all;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      PaperTimers timers(cells(), kProbes, window, slicing, kSlices);
      run_stream(all, zipf, window, seed, [&](Digest d, std::int64_t now, bool truth) {
        const PaperTimers::Look look = timers.look(d, now, Counting::all);
        if (look.alive)
          by_equal[look.equal].count(truth, false);
        else
          timers.set(d, now);
        return !look.alive;
      });
    }
    std::vector<double> share;
    for (const Score& s : by_equal)
      share.push_back(static_cast<double>(s.tp) / static_cast<double>(std::max<std::uint64_t>(s.tp + s.fp, 1)));
    return share;
  }
};

}  // namespace

void equal_timers(const Experiment& lab) {
  const Zipf zipf(kDomain);
  {
    Table t(lab, "figure9ab",
            "Figure 9 (a, b): of the events judged duplicates, the share of true ones, by the number of equal timers\n"
            "Zipf streams, k = 8, 40 slices, w = 10000; the plain filter.",
            {"equal timers", "vertical", "horizontal"});
    const Streams streams{zipf, lab.samples(10), 10'000};
    const auto vertical = streams.true_share(Slicing::vertical), horizontal = streams.true_share(Slicing::horizontal);
    for (std::uint64_t x = 1; x <= kProbes; ++x) t.row(x, vertical[x], horizontal[x]);
  }
  for (const std::uint64_t window : {10'000u, 1000u}) {
    Table t(
        lab, fmt::format("figure9cd_w{}", window),
        fmt::format("Figure 9 (c, d): false positives and negatives by the equal timers asked for, w = {}\n"
                    "Of k = 8 timers at least k' must be equal in a duplicate. distinct: a position that two of "
                    "the k share counts once. timer: the filter of this library, a generation per slot; it "
                    "is not sliced, as a vertical filter decides like one that is not, and counts distinct positions.",
                    window),
        {"k'", "vertical FP", "vertical FN", "horizontal FP", "horizontal FN", "horizontal distinct FP",
         "horizontal distinct FN", "timer FP", "timer FN"});
    const Streams streams{zipf, lab.samples(10), window};
    for (const std::uint64_t equal : {1u, 2u, 3u, 4u, 8u}) {
      const Score v = streams.paper(Slicing::vertical, Counting::all, equal);
      const Score h = streams.paper(Slicing::horizontal, Counting::all, equal);
      const Score hd = streams.paper(Slicing::horizontal, Counting::distinct, equal);
      const Score f = streams.filter(equal);
      t.row(equal, v.fp_rate(), v.fn_rate(), h.fp_rate(), h.fn_rate(), hd.fp_rate(), hd.fn_rate(), f.fp_rate(),
            f.fn_rate());
    }
  }
}

void late_events(const Experiment& lab) {
  Table t(
      lab, "late",
      "Events that are late: the timer must become the LATER of its old and its new time (section 4)\n"
      "w = 1000, one event per slot, delays up to 400 slots, k = 8. The paper sets it to the time of the late event, "
      "whatever it was; then a newer key that shares the timer is forgotten too early.",
      {"rule", "true duplicates", "false negatives"});
  constexpr std::uint64_t kWindow = 1000, kDelay = 400;
  const Zipf zipf(kDomain);
  const std::uint64_t cells = cells_for(zipf.distinct(kWindow)), events = lab.samples(10'000);
  const auto run = [&](const char* name, auto&& judge) {
    Random random(2);
    Delivered delivered;
    Score score;
    for (std::uint64_t i = 0; i < events; ++i) {
      const auto now = static_cast<std::int64_t>(i + kDelay + 1);
      const std::uint64_t event = zipf(random);
      const std::int64_t own = now - static_cast<std::int64_t>(random.below(kDelay + 1));
      const bool truth = delivered.within(event, own, kWindow);
      const bool distinct = judge(key(event), own, now);
      score.count(truth, distinct);
      if (distinct) delivered.set(event, own);
    }
    t.row(name, score.fn + score.tp, score.fn);
  };
  for (const bool later : {false, true}) {
    PaperTimers timers(cells, kProbes, kWindow, Slicing::vertical, 1);
    run(later ? "later" : "overwrite", [&](Digest d, std::int64_t own, std::int64_t) {
      if (timers.look(d, own, Counting::all).alive) return false;
      if (later)
        timers.set_to_later(d, own);
      else
        timers.set(d, own);
      return true;
    });
  }
  Timer::Params p{.cells = cells, .probes = kProbes, .error = 0.05};
  p.window = {.span = kWindow - 1, .lateness = kDelay};
  p.generations = 14;
  Timer filter(p);
  run("timer", [&](Digest d, std::int64_t own, std::int64_t now) {
    filter.advance(static_cast<Tick>(now));
    return filter.insert(d, static_cast<Tick>(own));
  });
}

}  // namespace nodup::lab
