// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "nodup/stream/ordered.hpp"

namespace nodup {

namespace {

// With many threads the lock is nearly always held, but never longer than for a batch of well under a millisecond, as
// long as the output is taken: in 100 attempts at odd moments one succeeds.
constexpr int kLockAttempts = 100;
constexpr std::chrono::microseconds kLockPause(730);

// std::count counts in 64 bits. In bytes, as many as a byte can hold at a time, it takes a tenth of that.
std::uint64_t count_true(const bool* answers, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t from = 0; from < count; from += 255) {
    const std::size_t to = std::min(from + 255, count);
    std::uint8_t part = 0;
    for (std::size_t i = from; i < to; ++i) part = static_cast<std::uint8_t>(part + answers[i]);
    sum += part;
  }
  return sum;
}

}  // namespace

Pipeline::Pipeline(BatchReader& reader, AnyFilter& filter, const Hasher& hasher, Options options)
    : reader_(reader),
      filter_(filter),
      hasher_(hasher),
      options_(std::move(options)),
      clock_(options_.clock, filter_.window().now),
      splitter_({.passed = options_.passed,
                 .dropped = options_.dropped,
                 .separator = options_.separator,
                 .bad_pass = options_.on_bad == OnBadRecord::pass}) {
  error_before_ = filter_.rates().false_positive;
  catch_up();
}

void Pipeline::run() {
  const auto make_steps = [this]() -> OrderedBatches::Steps {
    return {.prepare =
                [this, key = std::shared_ptr<Key>(options_.make_key())](Batch& batch) {
                  key->extract(batch, hasher_);
                  clock_.refuse_future(batch);
                  keep_keyed(batch, clock_.base() == TimeBase::event);
                },
            .finish =
                [this](Batch& batch) {
                  const std::lock_guard judging(judge_lock_);
                  judge(batch);
                }};
  };
  OrderedBatches(reader_, {.threads = options_.threads, .make_steps = make_steps, .on_failure = options_.on_failure})
      .run();
}

void Pipeline::between_batches(const std::function<void(const Counts&, AnyFilter&)>& f) {
  const std::lock_guard lock(judge_lock_);
  catch_up();
  f(counts_, filter_);
}

bool Pipeline::soon_between_batches(const std::function<void(const Counts&, AnyFilter&)>& f) {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    if (const std::unique_lock lock(judge_lock_, std::try_to_lock); lock) {
      catch_up();
      f(counts_, filter_);
      return true;
    }
    std::this_thread::sleep_for(kLockPause);
  }
  return false;
}

void Pipeline::judge(Batch& batch) {
  if (!batch.bad.empty() && options_.on_bad == OnBadRecord::fail) {
    const std::string reason = reader_.describe(batch, batch.bad.front()) + "; --on-error pass or drop would go on";
    cut_at_bad(batch);
    if (batch.size() > 0) judge(batch);
    throw Error(reason);
  }
  const std::size_t records = batch.size();
  is_new_ = answers_.room_for(records);
  if (options_.report_bad)
    for (const BadRecord& bad : batch.bad) options_.report_bad(reader_.describe(batch, bad));

  clock_.stamp(batch);
  ask_filter(batch);
  if (options_.audit != nullptr) tell_audit(batch);
  const std::uint64_t fresh = count_true(is_new_, batch.digests.size());
  const auto late_passed =
      static_cast<std::uint64_t>(std::ranges::count_if(clock_.late(), [&](std::size_t i) { return is_new_[i]; }));
  for (const std::size_t i : late_dropped_) is_new_[i] = options_.invert;  // passes neither way
  splitter_.write(batch, is_new_, !options_.invert);
  remembers_unwritten_ = false;

  counts_.events += records - batch.header;
  counts_.bad_records += batch.bad.size();
  counts_.distinct += fresh;
  counts_.duplicates += batch.digests.size() - fresh - late_dropped_.size();
  counts_.late += late_passed + late_dropped_.size();
  counts_.bytes += batch.bytes.size();
  count_losses(batch.digests.size(), fresh);
  if (clock_.base() == TimeBase::none) return;
  filter_.advance(clock_.now());  // bad records count, too
  const WindowReading window = filter_.window();
  counts_.narrowest = std::min({counts_.narrowest, window.effective, window.narrowest});
}

const Tick* Pipeline::ticks_of(const Batch& batch) const {
  return clock_.base() == TimeBase::none ? nullptr : batch.ticks.data();
}

// is_new_: the filter's answer for every record with a key. Late events that will be dropped if they are new are asked
// for first: what did not pass must not be remembered.
void Pipeline::ask_filter(const Batch& batch) {
  const std::span<const Digest> keys = batch.digests;
  const Tick* const ticks = ticks_of(batch);
  std::size_t from = 0;
  const auto insert_before = [&](std::size_t to) {
    insert(keys.subspan(from, to - from), ticks == nullptr ? nullptr : ticks + from, is_new_ + from);
    from = to;
  };
  late_dropped_.clear();
  if (options_.on_late == OnLate::drop)
    for (const std::size_t i : clock_.late()) {
      insert_before(i);
      bool seen = false;
      filter_.contains_all(keys.subspan(i, 1), ticks + i, &seen);
      if (seen) continue;  // a duplicate like others
      is_new_[i] = false;
      late_dropped_.push_back(i);
      from = i + 1;
    }
  insert_before(keys.size());
}

// Room is asked for as if all keys were new. Near a limit on memory that may be refused although most are not: then for
// half of them, and so on. Once a part is in, the filter knows events that are not written yet.
void Pipeline::insert(std::span<const Digest> keys, const Tick* ticks, bool* is_new) {
  try {
    filter_.make_room(keys.size());
  } catch (const Error&) {
    if (keys.size() < 2) throw;
    const std::size_t half = keys.size() / 2;
    insert(keys.first(half), ticks, is_new);
    insert(keys.subspan(half), ticks == nullptr ? nullptr : ticks + half, is_new + half);
    return;
  }
  if (ticks == nullptr)
    filter_.insert_all(keys, is_new);
  else
    filter_.insert_all(keys, ticks, is_new);
  remembers_unwritten_ = true;
}

// Late events that are dropped were not judged like others, and are not remembered. Those taken for duplicates are
// told: so with OnLate::drop a late new event can be counted as lost, but not as one that passed.
void Pipeline::tell_audit(const Batch& batch) {
  const std::span<const Digest> keys = batch.digests;
  const Tick* const ticks = ticks_of(batch);
  std::size_t from = 0;
  const auto tell_before = [&](std::size_t to) {
    options_.audit->observe(keys.subspan(from, to - from), ticks == nullptr ? nullptr : ticks + from, is_new_ + from);
    from = to + 1;
  };
  for (const std::size_t i : late_dropped_) tell_before(i);
  tell_before(keys.size());
}

// The error changes slowly and asking for it takes microseconds: ask when a hundredth of the filter is new.
void Pipeline::count_losses(std::uint64_t events, std::uint64_t fresh) {
  fresh_unsettled_ += fresh;
  events_unsettled_ += events;
  // Few pass a filter that is much too full, and its error still rises.
  if (fresh_unsettled_ > settle_after_ || events_unsettled_ > 16 * settle_after_) settle_losses();
}

// Each new event that passed stands for 1 / (1 - error) that came: the rest were taken for duplicates. The error of
// these events goes from that before the first to that after the last of them; in between it is taken to go straight,
// and error / (1 - error) is averaged over that.
void Pipeline::settle_losses() {
  const double now = filter_.rates().false_positive;
  const auto [low, high] = std::minmax(std::min(error_before_, 0.999999), std::min(now, 0.999999));
  const double mean = (low + high) / 2;
  const double lost_per_passed =
      high - low < 1e-6 ? mean / (1 - mean) : (std::log1p(-low) - std::log1p(-high)) / (high - low) - 1;
  counts_.expected_lost += static_cast<double>(fresh_unsettled_) * lost_per_passed;
  error_before_ = now;
  fresh_unsettled_ = events_unsettled_ = 0;
  settle_after_ = filter_.keys() / 100 + 1000;
}

// Between batches: by arrival time keys are forgotten although no event comes, and the error falls.
void Pipeline::catch_up() {
  settle_losses();
  if (clock_.base() != TimeBase::arrival) return;
  clock_.look();
  filter_.advance(clock_.now());
  error_before_ = filter_.rates().false_positive;
}

}  // namespace nodup
