// SPDX-License-Identifier: Apache-2.0
//
// The exact join of two inputs, by a Bloom filter of the smaller (a Bloom join).
//
// The smaller side is read first: a table of its keys, its rows, and a filter of its keys. The larger side then streams
// through the filter, once; what passes is looked up in the table, which removes the filter's false positives. So of
// the larger side nothing is kept but rows that match, and of a larger LEFT side nothing at all: joined rows are
// written as they come. With a larger right side the matching right rows wait until its end, because the output has the
// order of the left.
//
// Why a filter when the table knows all: most rows of the larger side match nothing, and the filter, with 1.3 bytes per
// key beside the table's 32 to 64, says so from the cache.
//
// Keys are told apart by 128-bit digests (join/key_table.hpp). A row without a key matches nothing, as null in SQL.
// The output is the same for every number of threads, and whichever side is the smaller.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "nodup/filters/blocked.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/stream/join/key_table.hpp"
#include "nodup/stream/join/row_joiner.hpp"
#include "nodup/stream/join/row_store.hpp"
#include "nodup/stream/key.hpp"
#include "nodup/stream/ordered.hpp"
#include "nodup/stream/pipeline.hpp"
#include "nodup/stream/reader.hpp"
#include "nodup/stream/sink.hpp"

namespace nodup {

enum class JoinType {
  inner,  // every pair of rows with equal keys
  left,   // and the left rows that match nothing
  semi,   // left rows that match, once each
  anti    // left rows that match nothing
};

struct JoinCounts {
  struct Side {
    std::uint64_t rows = 0;   // header rows not
    std::uint64_t bytes = 0;  // of records and separators
    std::uint64_t bad_records = 0;
  };
  Side left, right;
  bool left_streams = false;  // the left is the larger side
  std::uint64_t keys = 0;     // distinct ones of the smaller side
  // Of the larger side.
  std::uint64_t passed_rows = 0;  // those that the filter let through
  std::uint64_t passed_bytes = 0;
  std::uint64_t matched_rows = 0;  // those of them that have a match
  double filter_error = 0;
  std::uint64_t filter_bytes = 0;
  std::uint64_t rows_written = 0;  // header row not
  std::uint64_t bytes_written = 0;
  std::uint64_t memory_bytes = 0;  // of table, filter and rows kept, at the most
  std::uint64_t file_bytes = 0;    // of rows in the temporary file

  const Side& streamed() const { return left_streams ? left : right; }
  std::uint64_t false_positives() const { return passed_rows - matched_rows; }
  // How many of them the filter's error leads one to expect.
  double expected_false_positives() const;
};

class Join {
 public:
  struct Side {
    BatchReader* reader;
    std::function<std::unique_ptr<Key>()> make_key;  // called once per thread
  };
  struct Options {
    JoinType type = JoinType::inner;
    Side left, right;
    JoinShape shape;
    unsigned threads = 1;
    RowStore::Options store;
    OnBadRecord on_bad = OnBadRecord::pass;  // left rows without a key, where rows without a match are written
    Sink* sink = nullptr;
    char separator = '\n';
    // Told of every bad record, one at a time: "file: record 17: no field user".
    std::function<void(const std::string&)> report_bad;
    std::function<void()> on_failure;  // as of OrderedBatches
  };

  Join(const Hasher& hasher, Options options);

  // Throws what went wrong; then the output is not complete. Neither is it after stop().
  void run();
  // Any thread.
  void stop();
  JoinCounts counts() const;  // may be asked while it runs
  bool left_streams() const { return left_streams_; }

 private:
  struct Worker;
  enum class Made { done, bad, later };
  struct LeftRow {
    std::uint64_t place;
    std::uint64_t key;
  };

  bool writes_matched() const { return options_.type != JoinType::anti; }
  bool writes_unmatched() const { return options_.type == JoinType::left || options_.type == JoinType::anti; }
  bool keeps_right_rows() const { return options_.type == JoinType::inner || options_.type == JoinType::left; }

  void each_batch(bool left, const std::function<void(Batch&, Worker&)>& prepare,
                  const std::function<void(Batch&, Worker&)>& finish);
  void keep_right();
  void stream_left();
  void keep_left();
  void stream_right();
  void write_kept();

  void take_memory(std::uint64_t more_rows, std::uint64_t more_keys, std::uint64_t more_left_rows);
  std::uint64_t add_key(const Batch& batch, std::size_t record);
  void add_right_row(const Batch& batch, std::size_t record, std::uint64_t key);
  void learn_right_columns(const Batch& batch);
  void build_filter();
  void find_keys(const Batch& batch, Worker& worker) const;
  void check_right_rows(const Batch& batch, Worker& worker, bool only_matched) const;
  void note_broken_matches(const Worker& worker);

  std::string_view left_text(const Batch& batch, std::size_t record) const;
  void write_header_of_lines();
  void make_rows(Batch& batch, Worker& worker, bool may_write);
  Made make_rows_of(std::string_view left, bool has_key, std::uint64_t key, Worker& worker, bool may_write);
  void write(Worker& worker);

  void account(bool left, const Batch& batch, const Worker& worker);
  void note_bad(bool left, const Batch& batch, const BadRecord& bad);
  void note_bad(bool left, const std::string& text);

  const Hasher& hasher_;
  Options options_;
  bool left_streams_;

  KeyTable table_;
  RowsOfKeys right_rows_;
  // Right rows that are broken behind their key: bad records once a left row has that key. By the number of the key.
  std::unordered_map<std::uint64_t, std::vector<std::string>> broken_right_;
  std::uint64_t broken_bytes_ = 0;
  std::deque<LeftRow> left_rows_;  // if the left is kept
  std::string left_header_;        // the same
  RowStore store_;
  std::optional<Blocked> filter_;

  std::atomic<bool> stopped_ = false;
  mutable std::mutex counts_lock_;
  JoinCounts counts_;
};

}  // namespace nodup
