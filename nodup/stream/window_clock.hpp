// SPDX-License-Identifier: Apache-2.0
//
// The clock of a sliding window: gives every record its tick. One mechanism for three clocks:
//
//   records   the number of the record; bad ones count, header rows do not
//   arrival   the wall clock when the record is judged, in nanoseconds since 1970; never backwards
//   event     the record's own time, taken out of it with its key
//
// By event time records come out of order. One that is more than `lateness` behind the latest is LATE: it is judged as
// if it were of the last time that the filter still knows all about. One that is beyond the wall clock by more than the
// lateness is a broken record: taken for a clock it would empty the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "nodup/stream/batch.hpp"
#include "nodup/theory/goal.hpp"

namespace nodup {

enum class TimeBase { none, records, arrival, event };

Tick wall_clock();  // nanoseconds since 1970

class WindowClock {
 public:
  struct Options {
    TimeBase base = TimeBase::none;  // none: there is no window
    Tick lateness = 0;               // event time only
    std::function<Tick()> wall = wall_clock;
  };

  // Goes on from `now`, the clock of the filter.
  WindowClock(Options options, Tick now) : options_(std::move(options)), now_(now) {}

  TimeBase base() const { return options_.base; }
  Tick now() const { return now_; }

  // By event time: puts the records of times to come among the bad ones. Any thread.
  void refuse_future(Batch& batch) const;
  // The ticks of the records with a key, once batch.digests holds only those (and, by event time, batch.ticks too). In
  // input order.
  void stamp(Batch& batch);
  // Of the batch stamped last: which of the records with a key were late.
  const std::vector<std::size_t>& late() const { return late_; }
  // By arrival time goes on without records, too.
  void look();

 private:
  void stamp_numbers(Batch& batch);
  void stamp_event_times(Batch& batch);

  Options options_;
  Tick now_;  // the latest tick given
  std::vector<std::size_t> late_;
};

}  // namespace nodup
