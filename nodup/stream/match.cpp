// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/match.hpp"

#include <algorithm>
#include <utility>

#include "nodup/stream/ordered.hpp"

namespace nodup {

void Match::CountedSink::write(std::span<const iovec> pieces) {
  if (sink_ != nullptr) sink_->write(pieces);
  for (const iovec& piece : pieces) bytes_ += piece.iov_len;
}

Match::Match(BatchReader& reader, const Hasher& hasher, Options options)
    : reader_(reader),
      hasher_(hasher),
      options_(std::move(options)),
      passed_(options_.passed),
      splitter_({.passed = &passed_,
                 .dropped = options_.dropped,
                 .separator = options_.separator,
                 .bad_pass = options_.on_bad == OnBadRecord::pass}) {}

void Match::run() {
  OrderedBatches(reader_, {.threads = options_.threads,
                           .make_steps = [this]() -> OrderedBatches::Steps {
                             return {.prepare =
                                         [this, key = std::shared_ptr<Key>(options_.make_key())](Batch& batch) {
                                           key->extract(batch, hasher_);
                                           keep_keyed(batch);
                                           options_.ask(batch, batch.answers.room_for(batch.digests.size()));
                                         },
                                     .finish = [this](Batch& batch) { finish(batch); }};
                           },
                           .on_failure = options_.on_failure})
      .run();
}

MatchCounts Match::counts() const {
  const std::lock_guard lock(counts_lock_);
  return counts_;
}

void Match::finish(Batch& batch) {
  if (!batch.bad.empty() && options_.on_bad == OnBadRecord::fail) {
    const std::string reason = reader_.describe(batch, batch.bad.front()) + "; --on-error pass or drop would go on";
    cut_at_bad(batch);
    if (batch.size() > 0) finish(batch);
    throw Error(reason);
  }
  if (options_.report_bad)
    for (const BadRecord& bad : batch.bad) options_.report_bad(reader_.describe(batch, bad));
  const bool* const seen = batch.answers.data();
  splitter_.write(batch, seen, !options_.invert);

  const std::lock_guard lock(counts_lock_);
  counts_.rows += batch.size() - batch.header;
  counts_.matched += static_cast<std::uint64_t>(std::count(seen, seen + batch.digests.size(), true));
  counts_.bad_records += batch.bad.size();
  counts_.bytes += batch.bytes.size();
  counts_.bytes_passed = passed_.bytes();
}

}  // namespace nodup
