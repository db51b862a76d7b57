// SPDX-License-Identifier: Apache-2.0
//
// The main job: read, take keys, ask the filter, pass the new ones on.
//
// The filter sees the keys in input order (ordered.hpp), so output and state are the same for every number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nodup/filters/filter.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/stream/audit.hpp"
#include "nodup/stream/key.hpp"
#include "nodup/stream/reader.hpp"
#include "nodup/stream/sink.hpp"
#include "nodup/stream/splitter.hpp"
#include "nodup/stream/window_clock.hpp"

namespace nodup {

// What to do with a record that has no key.
enum class OnBadRecord { pass, drop, fail };
// What to do with a new event that came later than the lateness.
enum class OnLate { pass, drop };

struct Counts {
  std::uint64_t events = 0;  // records judged, bad ones included, header rows not
  std::uint64_t distinct = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t bad_records = 0;
  std::uint64_t bytes = 0;  // of records and separators
  // Of all new events so far, how many are expected to have been judged duplicates: the sum of the error that each met.
  double expected_lost = 0;
  // New events that came too late to be judged by their own time: among the distinct if they pass, otherwise dropped,
  // not remembered, and among neither the distinct nor the duplicates.
  std::uint64_t late = 0;
  Tick narrowest = Window::kEndless;  // the shortest window that was held
};

class Pipeline {
 public:
  struct Options {
    unsigned threads = 1;
    OnBadRecord on_bad = OnBadRecord::pass;
    bool invert = false;  // pass the duplicates instead
    WindowClock::Options clock = {};
    OnLate on_late = OnLate::pass;
    Sink* passed = nullptr;   // nullptr: nowhere
    Sink* dropped = nullptr;  // nullptr: nowhere
    Audit* audit = nullptr;   // nullptr: nobody checks
    char separator = '\n';
    std::function<std::unique_ptr<Key>()> make_key;  // called once per thread
    // Told of every bad record under the lock, in input order: "file: record 17: no field user".
    std::function<void(const std::string&)> report_bad;
    // Called once, when judging or writing has failed: another thread may be waiting for input that never comes.
    std::function<void()> on_failure;
  };

  Pipeline(BatchReader& reader, AnyFilter& filter, const Hasher& hasher, Options options);

  // To the end of the input, or until the reader is stopped. Throws what went wrong; then everything before that
  // place has been judged and written.
  void run();

  // Runs f(counts, filter) between two batches, when all that was judged has been written. Any thread.
  void between_batches(const std::function<void(const Counts&, AnyFilter&)>& f);
  // The same, unless no batch ends for a while: whoever must also hear signals cannot wait for a slow reader of our
  // output. True if f was run.
  bool soon_between_batches(const std::function<void(const Counts&, AnyFilter&)>& f);
  // True once a write has failed: the filter then remembers events that never came out and must not be saved. To be
  // asked within between_batches() or after run().
  bool remembers_unwritten() const { return remembers_unwritten_; }

 private:
  void judge(Batch& batch);
  void ask_filter(const Batch& batch);
  void insert(std::span<const Digest> keys, const Tick* ticks, bool* is_new);
  void tell_audit(const Batch& batch);
  const Tick* ticks_of(const Batch& batch) const;
  void count_losses(std::uint64_t events, std::uint64_t fresh);
  void settle_losses();
  void catch_up();

  BatchReader& reader_;
  AnyFilter& filter_;
  const Hasher& hasher_;
  Options options_;

  std::mutex judge_lock_;  // held while judging and writing; guards the filter and all below
  bool remembers_unwritten_ = false;
  Counts counts_;
  WindowClock clock_;
  Answers answers_;
  bool* is_new_ = nullptr;                 // of the batch at hand, in answers_
  std::vector<std::size_t> late_dropped_;  // of the records with a key: late, new, and to be dropped
  Splitter splitter_;
  double error_before_ = 0;                                   // the filter's false positive rate when last asked
  std::uint64_t fresh_unsettled_ = 0, events_unsettled_ = 0;  // new ones, and all, since then
  std::uint64_t settle_after_ = 0;                            // when there are more of them than this, ask again
};

}  // namespace nodup
