// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <fmt/format.h>

namespace nodup {

namespace {

// Reading pauses while more than this waits to be judged, so that very long records do not pile up, one per thread.
constexpr std::uint64_t kMostBytesWaiting = std::uint64_t{32} << 20;

// With many threads the lock is nearly always held, but never longer than for a batch of well under a millisecond, as
// long as the output is taken: in 100 attempts at odd moments one succeeds.
constexpr int kLockAttempts = 100;
constexpr std::chrono::microseconds kLockPause(730);

// About 100 microseconds, between the time a block takes and the time a thread may waste.
constexpr int kSpins = 2000;

inline void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // as long as an x86 pause; `yield` does nothing on most cores
#endif
}

// False if the condition did not come true for a while.
template <class Condition>
bool spin_until(Condition&& holds) {
  for (int i = 0; i < kSpins; ++i) {
    if (holds()) return true;
    pause_processor();
  }
  return false;
}

// Leaves the digests, and the times if records have their own, that the filter shall see: those of records with a key,
// in their order.
void keep_keyed(Batch& batch, bool timed) {
  if (batch.header == 0 && batch.bad.empty()) return;
  std::size_t kept = 0;
  auto bad = batch.bad.begin();
  for (std::size_t i = batch.header; i < batch.digests.size(); ++i) {
    if (bad != batch.bad.end() && bad->index == i) {
      ++bad;
      continue;
    }
    if (timed) batch.ticks[kept] = batch.ticks[i];
    batch.digests[kept++] = batch.digests[i];
  }
  batch.digests.resize(kept);
  if (timed) batch.ticks.resize(kept);
}

// Leaves the records before the first bad one.
void cut_at_bad(Batch& batch) {
  const std::size_t records = batch.bad.front().index;
  batch.ends.resize(records);
  batch.digests.resize(records - batch.header);
  batch.ticks.resize(std::min(batch.ticks.size(), batch.digests.size()));
  batch.bad.clear();
  if (records > 0) batch.bytes.resize(batch.ends.back() + 1);
}

}  // namespace

Pipeline::Pipeline(BatchReader& reader, AnyFilter& filter, const Hasher& hasher, Options options)
    : reader_(reader),
      filter_(filter),
      hasher_(hasher),
      options_(std::move(options)),
      clock_(options_.clock, filter_.window().now) {
  error_before_ = filter_.rates().false_positive;
  catch_up();
}

void Pipeline::run() {
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < options_.threads; ++i) helpers.emplace_back([this] { work(); });
  work();
  helpers.clear();  // joins
  if (failure_) std::rethrow_exception(failure_);
}

void Pipeline::work() {
  std::unique_ptr<Key> key;
  Batch batch;
  std::uint64_t ticket = 0;
  while (read(batch, ticket)) {
    std::exception_ptr trouble;
    try {
      if (!key) key = options_.make_key();
      key->extract(batch, hasher_);
      clock_.refuse_future(batch);
      keep_keyed(batch, clock_.base() == TimeBase::event);
    } catch (...) {
      trouble = std::current_exception();
    }
    if (!wait_for_turn(ticket)) return;
    try {
      if (trouble) std::rethrow_exception(trouble);
      const std::lock_guard judging(judge_lock_);
      judge(batch);
    } catch (...) {
      fail(std::current_exception());
      return;
    }
    end_turn(batch.bytes.size());
  }
}

// The next batch and its place in the order. A failure to read counts as the end: what was read before is still judged.
bool Pipeline::read(Batch& batch, std::uint64_t& ticket) {
  std::unique_lock reading(read_lock_, std::defer_lock);
  if (!spin_until([&] { return reading.try_lock(); })) reading.lock();
  if (input_ended_) return false;
  wait_until([&] { return bytes_waiting_ < kMostBytesWaiting; });
  if (failed_) return false;
  try {
    input_ended_ = !reader_.next(batch);
  } catch (...) {
    input_ended_ = true;
    const std::lock_guard lock(flow_lock_);
    if (!failure_) failure_ = std::current_exception();
  }
  if (input_ended_) return false;
  bytes_waiting_ += batch.bytes.size();
  ticket = next_ticket_++;
  return true;
}

// Blocks change hands every 50 microseconds, about what it takes to wake a sleeping thread: so first look again and
// again for a while.
template <class Condition>
void Pipeline::wait_until(Condition&& holds) {
  if (spin_until([&] { return holds() || failed_; })) return;
  std::unique_lock lock(flow_lock_);
  flow_changed_.wait(lock, [&] { return holds() || failed_; });
}

// False when judging has failed: no turn will come.
bool Pipeline::wait_for_turn(std::uint64_t ticket) {
  wait_until([&] { return turn_ == ticket; });
  return !failed_;
}

void Pipeline::end_turn(std::uint64_t bytes) {
  {
    const std::lock_guard lock(flow_lock_);
    ++turn_;
    bytes_waiting_ -= bytes;
  }
  flow_changed_.notify_all();
}

void Pipeline::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(flow_lock_);
    failed_ = true;
    failure_ = std::move(failure);
  }
  flow_changed_.notify_all();
  if (options_.on_failure) options_.on_failure();
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
    const std::string reason =
        fmt::format("{}: record {}: {}; --on-error pass or drop would go on", reader_.input_name(batch.input),
                    batch.first_record + batch.bad.front().index, batch.bad.front().reason);
    cut_at_bad(batch);
    if (batch.size() > 0) judge(batch);
    throw Error(reason);
  }
  const std::size_t records = batch.size();
  if (records > room_) {
    room_ = 2 * records;
    is_new_ = std::make_unique_for_overwrite<bool[]>(room_);
    turns_ = std::make_unique_for_overwrite<std::uint64_t[]>(room_ + 2);
  }
  for (const BadRecord& bad : batch.bad)
    if (options_.report_bad)
      options_.report_bad(fmt::format("{}: record {}: {}", reader_.input_name(batch.input),
                                      batch.first_record + bad.index, bad.reason));

  clock_.stamp(batch);
  ask_filter(batch);
  if (options_.audit != nullptr) tell_audit(batch);
  const auto fresh = static_cast<std::uint64_t>(std::count(is_new_.get(), is_new_.get() + batch.digests.size(), true));
  const auto late_passed =
      static_cast<std::uint64_t>(std::ranges::count_if(clock_.late(), [&](std::size_t i) { return is_new_[i]; }));
  for (const std::size_t i : late_dropped_) is_new_[i] = options_.invert;  // passes neither way
  mark_verdicts(batch);
  if (options_.passed != nullptr) write_runs(batch, true, *options_.passed, passed_owes_separator_);
  if (options_.dropped != nullptr) write_runs(batch, false, *options_.dropped, dropped_owes_separator_);
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
    insert(keys.subspan(from, to - from), ticks == nullptr ? nullptr : ticks + from, is_new_.get() + from);
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
    options_.audit->observe(keys.subspan(from, to - from), ticks == nullptr ? nullptr : ticks + from,
                            is_new_.get() + from);
    from = to + 1;
  };
  for (const std::size_t i : late_dropped_) tell_before(i);
  tell_before(keys.size());
}

// turns_: the record numbers where runs of equal verdicts begin. The first run is one of passing records, perhaps an
// empty one.
void Pipeline::mark_verdicts(const Batch& batch) {
  const std::size_t records = batch.size();
  std::uint64_t* const turns = turns_.get();
  std::size_t count = 0;
  bool run_passes = true;
  // No branch on the verdict: it is a coin flip.
  const auto mark = [&](std::size_t record, bool passes) {
    turns[count] = record;
    count += passes != run_passes;
    run_passes = passes;
  };
  if (batch.header == 0 && batch.bad.empty()) {
    for (std::size_t i = 0; i < records; ++i) mark(i, is_new_[i] != options_.invert);
  } else {
    auto bad = batch.bad.begin();
    std::size_t keyed = 0;
    for (std::size_t i = 0; i < records; ++i) {
      if (i < batch.header) {
        mark(i, batch.first_header);
      } else if (bad != batch.bad.end() && bad->index == i) {
        mark(i, options_.on_bad == OnBadRecord::pass);
        ++bad;
      } else {
        mark(i, is_new_[keyed++] != options_.invert);
      }
    }
  }
  turns[count] = records;
  turn_count_ = count;
}

void Pipeline::write_runs(const Batch& batch, bool passed, Sink& sink, bool& owes_separator) {
  pieces_.clear();
  const bool header_here = batch.header == 1 && batch.first_header;
  // The dropped ones get the header row too, so that both outputs can be read alike; neither gets it twice.
  const bool repeat_header = header_here && !passed && !sink.continues();
  const bool omit_header = header_here && passed && sink.continues();
  // A separator that the last record of the input before lacked.
  if (owes_separator) pieces_.push_back({&options_.separator, 1});
  const std::size_t nothing = pieces_.size();
  char* const bytes = const_cast<char*>(batch.bytes.data());
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    const std::uint64_t begin = batch.begin(from);
    const std::uint64_t end = std::min<std::uint64_t>(batch.ends[to - 1] + 1, batch.bytes.size());
    if (end > begin) pieces_.push_back({bytes + begin, end - begin});
  };
  if (repeat_header) add(0, 1);
  bool run_passes = true;
  std::uint64_t from = 0;
  for (std::size_t i = 0; i <= turn_count_; ++i) {
    const std::uint64_t to = turns_[i];
    if (run_passes == passed) {
      if (omit_header && from == 0) from = 1;
      // A header that is dropped because it came before is in neither output.
      if (!passed && from == 0 && batch.header == 1) from = 1;
      if (to > from) add(from, to);
    }
    from = to;
    run_passes = !run_passes;
  }
  if (pieces_.size() == nothing) return;
  // ends.back() lies behind the bytes only if the last record lacks its separator.
  const char* const last = static_cast<const char*>(pieces_.back().iov_base) + pieces_.back().iov_len;
  owes_separator = last == bytes + batch.bytes.size() && batch.ends.back() == batch.bytes.size();
  sink.write(pieces_);
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
