// SPDX-License-Identifier: Apache-2.0
//
// A stream against a set that does not change: rows whose key may be in the set pass, the others do not, in input
// order. Since nobody inserts, the set is asked by all threads at once, before the batch has its turn: only the writing
// is done one batch at a time.
//
// A record without a key matches nothing. Unless told otherwise it goes where the rows go that are not in the set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "nodup/hash/hasher.hpp"
#include "nodup/stream/key.hpp"
#include "nodup/stream/pipeline.hpp"
#include "nodup/stream/reader.hpp"
#include "nodup/stream/sink.hpp"
#include "nodup/stream/splitter.hpp"

namespace nodup {

struct MatchCounts {
  std::uint64_t rows = 0;     // bad ones included, header rows not
  std::uint64_t matched = 0;  // their key may be in the set
  std::uint64_t bad_records = 0;
  std::uint64_t bytes = 0;         // of rows, headers and separators
  std::uint64_t bytes_passed = 0;  // of those that passed
};

class Match {
 public:
  struct Options {
    unsigned threads = 1;
    OnBadRecord on_bad = OnBadRecord::drop;
    bool invert = false;      // pass the rows that are surely not in the set
    Sink* passed = nullptr;   // nullptr: nowhere
    Sink* dropped = nullptr;  // nullptr: nowhere
    char separator = '\n';
    std::function<std::unique_ptr<Key>()> make_key;  // called once per thread
    // Of each keyed record: may its key be in the set? Called by many threads at once.
    std::function<void(const Batch&, bool* seen)> ask;
    std::function<void(const std::string&)> report_bad;  // in input order: "file: record 17: no field user"
    std::function<void()> on_failure;                    // as in OrderedBatches
  };

  Match(BatchReader& reader, const Hasher& hasher, Options options);

  // To the end of the input, or until the reader is stopped. Throws what went wrong; then everything before that
  // place has been written.
  void run();
  MatchCounts counts() const;  // any thread, at any time

 private:
  void finish(Batch& batch);

  // Counts what is written to a sink, or would be if there were one.
  class CountedSink final : public Sink {
   public:
    explicit CountedSink(Sink* sink) : sink_(sink) {}
    void write(std::span<const iovec> pieces) override;
    void sync() override {}
    void finish() override {}
    std::uint64_t bytes() const { return bytes_; }

   private:
    Sink* sink_;
    std::uint64_t bytes_ = 0;
  };

  BatchReader& reader_;
  const Hasher& hasher_;
  Options options_;
  CountedSink passed_;
  Splitter splitter_;
  mutable std::mutex counts_lock_;  // never held while writing: whoever asks need not wait for a slow reader
  MatchCounts counts_;
};

}  // namespace nodup
