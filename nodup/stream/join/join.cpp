// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/join/join.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "nodup/filters/filter.hpp"

namespace nodup {

namespace {

// A false positive costs one look into the table, about 100 ns: at 1 % that is 1 ns per row, less than the filter
// itself takes. A lower error would make the filter larger, and it is to stay in the cache.
constexpr double kFilterError = 0.01;

// Rows that wait for their turn to be written. A batch that makes more of them, by keys that many rows share, makes the
// rest when its turn has come, in pieces of this size.
constexpr std::size_t kMostWaiting = std::size_t{4} << 20;

std::optional<std::uint64_t> size_of(const Join::Side& side) { return side.reader->bytes_total(); }

// Does the left stream? A side of unknown size counts as the larger; of two, the left.
bool left_is_larger(const Join::Options& options) {
  const auto left = size_of(options.left), right = size_of(options.right);
  if (!left) return true;
  return right && *right <= *left;
}

}  // namespace

double JoinCounts::expected_false_positives() const {
  const std::uint64_t with_key = streamed().rows - std::min(streamed().rows, streamed().bad_records);
  return filter_error * static_cast<double>(with_key - std::min(with_key, matched_rows));
}

// What one thread needs, and what it has found out about the batch at hand.
struct Join::Worker {
  Worker(std::unique_ptr<Key> its_key, const JoinShape& shape) : key(std::move(its_key)), joiner(shape) {}

  std::unique_ptr<Key> key;
  RowJoiner joiner;
  ByteBuffer scratch;            // for a right row
  std::unique_ptr<bool[]> seen;  // by the filter
  std::size_t room = 0;          // records it has room for
  std::vector<std::size_t> candidates;
  std::vector<std::uint64_t> keys;  // of every record its number in the table
  std::vector<BadRecord> bad;       // found after the keys were taken
  std::vector<BadRecord> broken;    // right rows that would be bad records if they had a match
  std::uint64_t passed_bytes = 0;
  std::uint64_t matched = 0;
  std::string rows;  // made and not yet written
  std::uint64_t rows_made = 0;
  std::size_t next = 0;  // the first record of which no rows were made
  std::size_t next_bad = 0;
};

Join::Join(const Hasher& hasher, Options options)
    : hasher_(hasher), options_(std::move(options)), left_streams_(left_is_larger(options_)), store_(options_.store) {
  counts_.left_streams = left_streams_;
  RowJoiner check(options_.shape);  // throws where columns cannot become members
}

void Join::run() {
  if (left_streams_) {
    keep_right();
    build_filter();
    stream_left();
  } else {
    keep_left();
    build_filter();
    stream_right();
    write_kept();
  }
}

void Join::stop() {
  stopped_ = true;
  options_.left.reader->stop();
  options_.right.reader->stop();
}

JoinCounts Join::counts() const {
  const std::lock_guard lock(counts_lock_);
  return counts_;
}

// Keys are taken in parallel, then `prepare` is done in parallel and `finish` in input order. Bad records are counted
// and told before `finish`.
void Join::each_batch(bool left, const std::function<void(Batch&, Worker&)>& prepare,
                      const std::function<void(Batch&, Worker&)>& finish) {
  if (stopped_) return;
  const Side& side = left ? options_.left : options_.right;
  const auto make_steps = [&]() -> OrderedBatches::Steps {
    const auto worker = std::make_shared<Worker>(side.make_key(), options_.shape);
    return {.prepare =
                [&, worker](Batch& batch) {
                  worker->bad.clear();
                  worker->broken.clear();
                  worker->candidates.clear();
                  worker->passed_bytes = worker->matched = 0;
                  worker->next = worker->next_bad = 0;
                  worker->key->extract(batch, hasher_);
                  prepare(batch, *worker);
                  if (worker->bad.empty()) return;
                  std::ranges::move(worker->bad, std::back_inserter(batch.bad));
                  std::ranges::sort(batch.bad, {}, &BadRecord::index);
                },
            .finish =
                [&, worker, left](Batch& batch) {
                  account(left, batch, *worker);
                  finish(batch, *worker);
                }};
  };
  OrderedBatches(*side.reader,
                 {.threads = options_.threads, .make_steps = make_steps, .on_failure = options_.on_failure})
      .run();
}

void Join::account(bool left, const Batch& batch, const Worker& worker) {
  for (const BadRecord& bad : batch.bad) note_bad(left, batch, bad);
  const std::lock_guard lock(counts_lock_);
  JoinCounts::Side& side = left ? counts_.left : counts_.right;
  side.rows += batch.size() - batch.header;
  side.bytes += batch.bytes.size();
  counts_.passed_rows += worker.candidates.size();
  counts_.passed_bytes += worker.passed_bytes;
  counts_.matched_rows += worker.matched;
}

void Join::note_bad(bool left, const Batch& batch, const BadRecord& bad) {
  note_bad(left, (left ? options_.left : options_.right).reader->describe(batch, bad));
}
void Join::note_bad(bool left, const std::string& text) {
  if (options_.on_bad == OnBadRecord::fail) throw Error(text + "; --on-error pass or drop would go on");
  if (options_.report_bad) options_.report_bad(text);
  const std::lock_guard lock(counts_lock_);
  ++(left ? counts_.left : counts_.right).bad_records;
}

// visit(record, whether it has a key), header rows not.
template <class Visit>
static void each_row(const Batch& batch, Visit&& visit) {
  auto bad = batch.bad.begin();
  for (std::size_t i = batch.header; i < batch.size(); ++i) {
    const bool has_key = bad == batch.bad.end() || bad->index != i;
    if (!has_key) ++bad;
    visit(i, has_key);
  }
}

template <class Visit>
static void each_keyed(const Batch& batch, Visit&& visit) {
  each_row(batch, [&](std::size_t i, bool has_key) {
    if (has_key) visit(i);
  });
}

// ---- the smaller side

void Join::keep_right() {
  each_batch(
      false, [this](Batch& batch, Worker& worker) { check_right_rows(batch, worker, false); },
      [this](Batch& batch, Worker& worker) {
        learn_right_columns(batch);
        take_memory(keeps_right_rows() ? batch.size() : 0, batch.size(), 0);
        auto broken = worker.broken.begin();
        each_keyed(batch, [&](std::size_t i) {
          const std::uint64_t key = add_key(batch, i);
          if (broken == worker.broken.end() || broken->index != i) return add_right_row(batch, i, key);
          std::string text = options_.right.reader->describe(batch, *broken++);
          broken_bytes_ += text.size() + sizeof text;
          broken_right_[key].push_back(std::move(text));
        });
      });
}

void Join::keep_left() {
  each_batch(
      true, [](Batch&, Worker&) {},
      [this](Batch& batch, Worker&) {
        take_memory(0, batch.size(), batch.size());
        if (batch.header == 1) left_header_ = batch.record(0);
        each_row(batch, [&](std::size_t i, bool has_key) {
          const std::uint64_t key = has_key ? add_key(batch, i) : KeyTable::kNone;
          left_rows_.push_back({store_.append(left_text(batch, i)), key});
        });
      });
}

// Asked for before it is taken, as if all keys of a batch were new.
void Join::take_memory(std::uint64_t more_rows, std::uint64_t more_keys, std::uint64_t more_left_rows) {
  const std::uint64_t others = right_rows_.bytes_with(more_rows, table_.keys() + more_keys) +
                               (left_rows_.size() + more_left_rows) * sizeof(LeftRow) + broken_bytes_ +
                               table_.bytes_to_make_room(more_keys) + (filter_ ? filter_->bytes() : 0);
  store_.share_memory(others);
  table_.make_room(more_keys);
  const std::lock_guard lock(counts_lock_);
  counts_.memory_bytes = std::max(counts_.memory_bytes, others + store_.bytes_in_memory());
  counts_.file_bytes = store_.bytes_in_file();
}

std::uint64_t Join::add_key(const Batch& batch, std::size_t record) {
  if (record + kPrefetchAhead < batch.size()) table_.prefetch(batch.digests[record + kPrefetchAhead]);
  return table_.add(batch.digests[record]);
}

void Join::add_right_row(const Batch& batch, std::size_t record, std::uint64_t key) {
  if (keeps_right_rows())
    right_rows_.add(key, store_.append(batch.row(record)));
  else
    right_rows_.mark(key);
}

// For rows of the left that have no match.
void Join::learn_right_columns(const Batch& batch) {
  JoinShape& shape = options_.shape;
  if (shape.right_columns > 0 || shape.right.kind != RowKind::columns) return;
  CsvColumns columns(shape.right.format);
  if (columns.read(batch.row(0))) shape.right_columns = columns.columns().size();
}

// Only those that become a part of an object need to be whole; the key has looked at a part of the record. Whether a
// row has a match is not known yet when the right is kept.
void Join::check_right_rows(const Batch& batch, Worker& worker, bool only_matched) const {
  const JoinShape& shape = options_.shape;
  if (shape.output() != JoinShape::Output::objects) return;
  each_keyed(batch, [&](std::size_t i) {
    if (only_matched && worker.keys[i] == KeyTable::kNone) return;
    if (!worker.joiner.check_right(batch.row(i)))
      (only_matched ? worker.bad : worker.broken).push_back({i, worker.joiner.reason()});
  });
}

void Join::note_broken_matches(const Worker& worker) {
  if (broken_right_.empty()) return;
  for (const std::size_t record : worker.candidates) {
    const auto broken = broken_right_.extract(worker.keys[record]);
    if (!broken) continue;
    for (const std::string& text : broken.mapped()) note_bad(false, text);
  }
}

void Join::build_filter() {
  if (stopped_) return;
  filter_.emplace(Blocked::fit({.keys = table_.keys(), .error = kFilterError}));
  take_memory(0, 0, 0);
  table_.for_each([this](Digest key) { filter_->insert(key); });
  const std::lock_guard lock(counts_lock_);
  counts_.keys = table_.keys();
  counts_.filter_error = filter_->rates().false_positive;
  counts_.filter_bytes = filter_->bytes();
}

// ---- the larger side

// The table's number for every record with a key that has one.
void Join::find_keys(const Batch& batch, Worker& worker) const {
  if (batch.size() > worker.room) {
    worker.room = 2 * batch.size();
    worker.seen = std::make_unique_for_overwrite<bool[]>(worker.room);
  }
  filter_->contains_all(batch.digests, worker.seen.get());
  worker.keys.assign(batch.size(), KeyTable::kNone);
  each_keyed(batch, [&](std::size_t i) {
    if (!worker.seen[i]) return;
    worker.candidates.push_back(i);
    worker.passed_bytes += batch.record(i).size() + 1;
  });
  visit_prefetched(
      worker.candidates.size(), [&](std::size_t i) { table_.prefetch(batch.digests[worker.candidates[i]]); },
      [&](std::size_t i) {
        const std::size_t record = worker.candidates[i];
        worker.keys[record] = table_.find(batch.digests[record]);
        worker.matched += worker.keys[record] != KeyTable::kNone;
      });
}

void Join::stream_left() {
  write_header_of_lines();
  each_batch(
      true,
      [this](Batch& batch, Worker& worker) {
        find_keys(batch, worker);
        make_rows(batch, worker, false);
      },
      [this](Batch& batch, Worker& worker) {
        note_broken_matches(worker);
        make_rows(batch, worker, true);
        write(worker);
      });
}

void Join::stream_right() {
  each_batch(
      false,
      [this](Batch& batch, Worker& worker) {
        find_keys(batch, worker);
        check_right_rows(batch, worker, true);
      },
      [this](Batch& batch, Worker& worker) {
        learn_right_columns(batch);
        take_memory(keeps_right_rows() ? worker.matched : 0, 0, 0);
        each_keyed(batch, [&](std::size_t i) {
          if (worker.keys[i] != KeyTable::kNone) add_right_row(batch, i, worker.keys[i]);
        });
      });
}

// ---- the output

// Columns and plain lines pass with the byte order mark, if they have one; it has no place in an object.
std::string_view Join::left_text(const Batch& batch, std::size_t record) const {
  return options_.shape.output() == JoinShape::Output::objects ? batch.row(record) : batch.record(record);
}

// Plain lines have no header row, but joined with columns they may need one.
void Join::write_header_of_lines() {
  if (stopped_ || options_.shape.left.kind != RowKind::line) return;
  Worker worker(nullptr, options_.shape);
  if (worker.joiner.write_header({}, worker.rows)) worker.rows += options_.separator;
  write(worker);
}

// From worker.next on, in parallel as far as rows may wait; then, when it may write, all others.
void Join::make_rows(Batch& batch, Worker& worker, bool may_write) {
  if (worker.next == 0 && batch.header == 1) {
    if (worker.joiner.write_header(batch.record(0), worker.rows)) worker.rows += options_.separator;
    worker.next = 1;
  }
  for (; worker.next < batch.size(); ++worker.next) {
    const std::size_t i = worker.next;
    if (worker.keys[i] == KeyTable::kNone && !writes_unmatched()) continue;
    while (worker.next_bad < batch.bad.size() && batch.bad[worker.next_bad].index < i) ++worker.next_bad;
    const bool has_key = worker.next_bad == batch.bad.size() || batch.bad[worker.next_bad].index != i;
    switch (make_rows_of(left_text(batch, i), has_key, worker.keys[i], worker, may_write)) {
      case Made::done:
        break;
      case Made::later:
        return;
      case Made::bad:
        if (may_write)
          note_bad(true, batch, {i, worker.joiner.reason()});
        else
          worker.bad.push_back({i, worker.joiner.reason()});
        break;
    }
  }
}

Join::Made Join::make_rows_of(std::string_view left, bool has_key, std::uint64_t key, Worker& worker, bool may_write) {
  const std::size_t before = worker.rows.size();
  const std::uint64_t made_before = worker.rows_made;
  const auto end_row = [&] {
    worker.rows += options_.separator;
    ++worker.rows_made;
    if (worker.rows.size() < kMostWaiting) return true;
    if (may_write) write(worker);
    return may_write && !stopped_;
  };
  bool fits = true;
  Made made = Made::done;
  if (key == KeyTable::kNone || !right_rows_.has_any(key)) {
    if (!writes_unmatched() || (!has_key && options_.on_bad == OnBadRecord::drop)) return Made::done;
    if (!worker.joiner.write_alone(left, worker.rows) && has_key) made = Made::bad;
    if (made == Made::bad && options_.on_bad == OnBadRecord::drop) {
      worker.rows.resize(before);
      return made;
    }
    fits = end_row();
  } else {
    if (!writes_matched()) return Made::done;
    if (!worker.joiner.take_left(left)) {
      // It has a match, but cannot be put together with it: no match, then.
      made = Made::bad;
      if (writes_unmatched() && options_.on_bad != OnBadRecord::drop) {
        worker.joiner.write_alone(left, worker.rows);
        fits = end_row();
      }
    } else if (keeps_right_rows()) {
      fits = right_rows_.for_each(key, [&](std::uint64_t place) {
        worker.joiner.write_joined(store_.read(place, worker.scratch), worker.rows);
        return end_row();
      });
    } else {
      worker.rows.append(left);
      fits = end_row();
    }
  }
  if (fits) return made;
  // Too many to wait: this row's are made again when they can be written.
  if (!may_write) {
    worker.rows.resize(before);
    worker.rows_made = made_before;
  }
  return Made::later;
}

void Join::write_kept() {
  if (stopped_) return;
  write_header_of_lines();
  Worker worker(nullptr, options_.shape);
  if (!left_header_.empty() && worker.joiner.write_header(left_header_, worker.rows)) worker.rows += options_.separator;
  ByteBuffer left;
  Batch place;  // of a bad record, for messages
  place.first_record = options_.shape.left.format.header ? 2 : 1;
  for (const LeftRow& row : left_rows_) {
    if (stopped_) return;
    if (make_rows_of(store_.read(row.place, left), row.key != KeyTable::kNone, row.key, worker, true) == Made::bad)
      note_bad(true, place, {0, worker.joiner.reason()});
    ++place.first_record;
  }
  write(worker);
}

void Join::write(Worker& worker) {
  if (worker.rows.empty()) return;
  const iovec piece{worker.rows.data(), worker.rows.size()};
  options_.sink->write({&piece, 1});
  const std::lock_guard lock(counts_lock_);
  counts_.rows_written += std::exchange(worker.rows_made, 0);
  counts_.bytes_written += worker.rows.size();
  worker.rows.clear();
}

}  // namespace nodup
