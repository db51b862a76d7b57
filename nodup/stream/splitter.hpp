// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nodup/stream/batch.hpp"
#include "nodup/stream/sink.hpp"

namespace nodup {

// Writes the records that pass to one sink and the others to another, in input order. Neighbours with the same verdict
// are one piece of the block they lie in: nothing is copied. One thread at a time.
class Splitter {
 public:
  struct Options {
    Sink* passed = nullptr;   // nullptr: nowhere
    Sink* dropped = nullptr;  // nullptr: nowhere
    char separator = '\n';
    bool bad_pass = true;  // where records without a key go
  };

  explicit Splitter(const Options& options) : options_(options) {}

  // `verdicts` of the records with a key; those equal to `passing` pass.
  void write(const Batch& batch, const bool* verdicts, bool passing);

 private:
  void mark_runs(const Batch& batch, const bool* verdicts, bool passing);
  void write_runs(const Batch& batch, bool passed, Sink& sink, bool& owes_separator);

  Options options_;
  std::unique_ptr<std::uint64_t[]> turns_;  // record numbers where verdicts change
  std::size_t room_ = 0;                    // records it has room for
  std::size_t turn_count_ = 0;
  std::vector<iovec> pieces_;
  bool passed_owes_separator_ = false;
  bool dropped_owes_separator_ = false;
};

}  // namespace nodup
