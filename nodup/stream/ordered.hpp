// SPDX-License-Identifier: Apache-2.0
//
// Batches through many threads, and out in input order.
//
// Every thread does the same: read a block (one thread at a time), prepare it (in parallel), then, when its turn in
// input order has come, finish it (one at a time). The block stays in the cache of the core that read it, and whoever
// finishes sees the batches in input order, so the result is the same for every number of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "nodup/stream/batch.hpp"
#include "nodup/stream/reader.hpp"

namespace nodup {

class OrderedBatches {
 public:
  using Step = std::function<void(Batch&)>;
  struct Steps {
    Step prepare, finish;
  };
  struct Options {
    unsigned threads = 1;
    // Called once per thread that has something to prepare. A batch is prepared and finished by the steps of one
    // thread, so these may share what the first has found out.
    std::function<Steps()> make_steps;
    // Called once, when preparing or finishing has failed: another thread may be waiting for input that never comes.
    std::function<void()> on_failure = {};
  };

  OrderedBatches(BatchReader& reader, Options options);

  // To the end of the input, or until the reader is stopped. Throws what went wrong; then everything before that
  // place has been finished.
  void run();

 private:
  void work();
  bool read(Batch& batch, std::uint64_t& ticket);
  template <class Condition>
  void wait_until(Condition&& holds);
  bool wait_for_turn(std::uint64_t ticket);
  void end_turn(std::uint64_t bytes);
  void fail(std::exception_ptr failure);

  BatchReader& reader_;
  Options options_;

  std::mutex read_lock_;  // held while reading
  bool input_ended_ = false;
  std::uint64_t next_ticket_ = 0;

  // The order of things. Written under the lock, which is held for moments only; looked at without it while spinning.
  std::mutex flow_lock_;
  std::condition_variable flow_changed_;
  std::atomic<std::uint64_t> turn_ = 0;  // the ticket that may be finished
  std::atomic<std::uint64_t> bytes_waiting_ = 0;
  std::atomic<bool> failed_ = false;  // no further turn
  std::exception_ptr failure_;
};

}  // namespace nodup
