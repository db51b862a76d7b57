// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/ordered.hpp"

#include <thread>
#include <utility>
#include <vector>

namespace nodup {

namespace {

// Reading pauses while more than this waits to be finished, so that very long records do not pile up, one per thread.
constexpr std::uint64_t kMostBytesWaiting = std::uint64_t{32} << 20;

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

}  // namespace

OrderedBatches::OrderedBatches(BatchReader& reader, Options options) : reader_(reader), options_(std::move(options)) {
  reader_.expect_threads(options_.threads);
}

void OrderedBatches::run() {
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < options_.threads; ++i) helpers.emplace_back([this] { work(); });
  work();
  helpers.clear();  // joins
  if (failure_) std::rethrow_exception(failure_);
}

void OrderedBatches::work() {
  Steps steps;
  Batch batch;
  std::uint64_t ticket = 0;
  while (read(batch, ticket)) {
    std::exception_ptr trouble;
    try {
      if (!steps.prepare) steps = options_.make_steps();
      steps.prepare(batch);
    } catch (...) {
      trouble = std::current_exception();
    }
    if (!wait_for_turn(ticket)) return;
    try {
      if (trouble) std::rethrow_exception(trouble);
      steps.finish(batch);
    } catch (...) {
      fail(std::current_exception());
      return;
    }
    end_turn(batch.bytes.size());
  }
}

// The next batch and its place in the order. A failure to read counts as the end: what was read before is still
// finished.
bool OrderedBatches::read(Batch& batch, std::uint64_t& ticket) {
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
void OrderedBatches::wait_until(Condition&& holds) {
  if (spin_until([&] { return holds() || failed_; })) return;
  std::unique_lock lock(flow_lock_);
  flow_changed_.wait(lock, [&] { return holds() || failed_; });
}

// False when something has failed: no turn will come.
bool OrderedBatches::wait_for_turn(std::uint64_t ticket) {
  wait_until([&] { return turn_ == ticket; });
  return !failed_;
}

void OrderedBatches::end_turn(std::uint64_t bytes) {
  {
    const std::lock_guard lock(flow_lock_);
    ++turn_;
    bytes_waiting_ -= bytes;
  }
  flow_changed_.notify_all();
}

void OrderedBatches::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(flow_lock_);
    failed_ = true;
    failure_ = std::move(failure);
  }
  flow_changed_.notify_all();
  if (options_.on_failure) options_.on_failure();
}

}  // namespace nodup
