// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/splitter.hpp"

#include <algorithm>

namespace nodup {

void Splitter::write(const Batch& batch, const bool* verdicts, bool passing) {
  mark_runs(batch, verdicts, passing);
  if (options_.passed != nullptr) write_runs(batch, true, *options_.passed, passed_owes_separator_);
  if (options_.dropped != nullptr) write_runs(batch, false, *options_.dropped, dropped_owes_separator_);
}

// turns_: the record numbers where runs of equal verdicts begin. The first run is one of passing records, perhaps an
// empty one.
void Splitter::mark_runs(const Batch& batch, const bool* verdicts, bool passing) {
  const std::size_t records = batch.size();
  if (records > room_) {
    room_ = 2 * records;
    turns_ = std::make_unique_for_overwrite<std::uint64_t[]>(room_ + 2);
  }
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
    for (std::size_t i = 0; i < records; ++i) mark(i, verdicts[i] == passing);
  } else {
    auto bad = batch.bad.begin();
    std::size_t keyed = 0;
    for (std::size_t i = 0; i < records; ++i) {
      if (i < batch.header) {
        mark(i, batch.first_header);
      } else if (bad != batch.bad.end() && bad->index == i) {
        mark(i, options_.bad_pass);
        ++bad;
      } else {
        mark(i, verdicts[keyed++] == passing);
      }
    }
  }
  turns[count] = records;
  turn_count_ = count;
}

void Splitter::write_runs(const Batch& batch, bool passed, Sink& sink, bool& owes_separator) {
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

}  // namespace nodup
