// SPDX-License-Identifier: Apache-2.0
//
// timer: a Bloom filter whose cells are timers instead of bits, for a sliding window. Late events keep their own time.
//
// "One is Enough: Distributed Filtering for Duplicate Elimination" (CIKM 2011), sections 4 and 5. There a cell counts
// down from w to 0, all cells every tick. Here a cell holds the TAG of the generation (generations.hpp) that last wrote
// to it: with a slack of 0.08 there are 14 generations and a cell has 4 bits, and nothing counts down: a generation
// that has left the window is forgotten by one write to a table. The paper's timers are the case of one tick per
// generation.
//
// Tags are given out in turn and used again. A tag is used again only when no cell carries it, and a cursor sees to
// that: with the time that passes, twice as fast as needed, but never more than a small piece per event (kMostSweep).
// Should it come too late (an array made for far more than comes), a larger piece is swept (kLargeSweep), and if even
// that does not do, the newest generation is extended: its keys are kept longer, beyond the slack; never a false
// negative. Only when nothing is left in the window and no tag is free is the array given back to the system and taken
// anew.
//
// Growing and shrinking (section 5): a row of such arrays ("stages"). New keys go into the newest; when that is full by
// the number of its live cells (or of the keys ever put into it) the next stage is opened; an older one goes when its
// last key has left the window. As in `growing`, stage i is 4^(i - 1) times the first and gets 6/pi^2/i^2 of the error,
// so the TOTAL keeps its bound; the paper's equal stages, each with the whole error, do not (14 % instead of 5 % in a
// burst of five times the rate). When the newest is alone and a first stage would do for its keys, a first stage is
// opened: after a burst it comes back to its base size. Under a memory limit stage i takes at most what the stages
// below it would leave; where that is too little, keys go on into the newest and rates() tells the error.
//
// Errors: a false positive (a new event is LOST); never a false negative, unless `equal` > 1: then so many cells of a
// key must carry one tag, which makes false positives rarer, and lets a duplicate PASS now and then (theory/timer.hpp).
// Cost: the cache lines of all stages, one per probe, and the sweep, 1.5 lines per new key in order.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nodup/filters/filter.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/filters/timer_stage.hpp"

namespace nodup {

class Timer {
 public:
  static constexpr std::string_view kName = "timer";
  static constexpr std::string_view kSummary = "Bloom filter of packed timers: a sliding window that grows and shrinks";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  static constexpr bool kKeepsWindow = true;  // under a limit on memory the error rises instead

  struct Params {
    std::uint64_t cells = 4096;  // of the first stage
    std::uint64_t probes = 1;
    std::uint64_t keys = 1;  // within the span, fitted for
    double error = 1e-6;     // of all stages together
    Window window = {};
    std::uint64_t generations = 1;  // that can be told apart: 2^width - 2; 1 where nothing is forgotten
    std::uint64_t equal = 1;        // cells of a duplicate that must carry one tag; above 1 duplicates may pass
    bool full_by_count = false;     // a stage is full by the keys ever put into it, not by its live cells
    bool equal_stages = false;      // as in the paper: each stage is like the first, and the errors add up
    std::uint64_t max_bytes = 0;    // 0: no limit

    unsigned width() const;                  // bits per cell
    double held(double keys_in_span) const;  // keys
  };

  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys);
  static std::uint64_t bytes(const Params& p);
  static double lines_per_event(const Params& p);
  static double slack(const Params& p) { return Generations::slack(p.window, p.generations); }
  static Facts facts(const Params& p);

  explicit Timer(const Params& params);

  bool insert(Digest d) noexcept { return insert(d, generations_.now()); }
  bool insert(Digest d, Tick t) noexcept;
  bool contains(Digest d) const noexcept { return contains(d, generations_.now()); }
  bool contains(Digest d, Tick t) const noexcept { return find(d, floor_of(t)) != 0; }
  void prefetch(Digest d) const noexcept {
    for (const TimerStage& stage : stages_) stage.prefetch(d);
  }
  void advance(Tick now) noexcept;
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) {
    params_.max_bytes = max_bytes;
    last_number_ = UINT64_MAX;
    spares_.clear();
  }

  std::uint64_t keys() const;
  // Of the stages that were opened. One that waits has not been touched: the system has given it no memory yet.
  std::uint64_t bytes() const;
  Rates rates() const;
  Facts facts() const;
  WindowReading window() const { return generations_.reading(); }
  std::uint64_t stages() const { return stages_.size(); }

  void save(Writer& out) const;
  static Timer load(Reader& in);

  // At most so many cells are looked at in one go, some 10 microseconds; of arrays above 2^24 cells a 256th, so that a
  // few hundred events are enough to get round.
  static constexpr std::uint64_t kMostSweep = std::uint64_t{1} << 16;
  // When a generation must open and its tag is still in use, which takes an array made for far more than comes: a few
  // milliseconds.
  static constexpr std::uint64_t kLargeSweep = std::uint64_t{1} << 25;

 private:
  struct Size {
    std::uint64_t cells, probes, full;
  };
  static std::optional<Size> size_of(const Params& p, std::uint64_t number);
  struct Empty {};
  Timer(const Params& params, Empty);

  const TimerStage& newest() const { return stages_.back(); }
  TimerStage& newest() { return stages_.back(); }
  std::uint64_t room(const TimerStage& stage) const;
  std::uint64_t number_after(std::uint64_t number) const { return number + 1 == skipped_ ? number + 2 : number + 1; }
  bool open_stage(std::uint64_t number) noexcept;
  void drop_empty_stages() noexcept;
  bool fits_first_stage() const noexcept;
  void use_newest() noexcept;

  std::uint64_t next_tag() const { return serial_ % (order_.size() - 1) + 1; }
  void open_generation(Tick t) noexcept;
  void drop_generation() noexcept;
  void remember(Digest d, Tick t) noexcept;
  std::uint64_t find(Digest d, std::uint64_t floor) const noexcept;
  std::uint64_t floor_of(Tick t) const noexcept { return serial_ + 1 - generations_.reach(t); }
  std::uint64_t floor_now(Tick t) noexcept;

  Params params_;
  Generations generations_;
  std::uint64_t serial_ = 0;          // of the newest generation; its tag is (serial - 1) % tags + 1
  std::vector<std::uint64_t> order_;  // of each tag, the serial number of its generation; 0: forgotten
  // At least one; those before the last are closed. Stages live at one time have different numbers.
  std::vector<TimerStage> stages_;
  std::vector<TimerStage> spares_;          // made, untouched
  std::uint64_t skipped_ = 0;               // the number that was alone when the row went back to the first stage
  std::uint64_t last_number_ = UINT64_MAX;  // no stage after this one fits the memory limit
  std::uint64_t cursor_ = 0;                // where the sweep of the newest stage goes on
  double pace_ = 0;                         // cells to sweep per tick
  // Between these times the oldest generation to compare with is the same. Empty when that has to be found out.
  Tick same_from_ = 1, same_to_ = 0;
  std::uint64_t floor_ = 0;
};

}  // namespace nodup
