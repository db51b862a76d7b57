// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodup/stream/batch.hpp"
#include "nodup/stream/records.hpp"
#include "nodup/stream/source.hpp"

namespace nodup {

// Reads inputs one after the other and cuts them into batches of whole records. A batch never holds records of two
// inputs. One thread at a time.
class BatchReader {
 public:
  struct Options {
    std::vector<std::string> paths;  // "-" is standard input
    RecordFormat format;
    int wake_fd = -1;  // readable: stop waiting for input
    // 256 KiB stay in a core's own cache from the read to the hashing; larger blocks were slower, smaller ones too.
    std::size_t block_bytes = std::size_t{256} << 10;
  };

  // Looks at all inputs before any is read: a missing file is known before anything is written. Throws Error.
  explicit BatchReader(Options options);
  ~BatchReader();

  // How many threads take turns to read: each of them will have its next batch when all others have had one.
  void expect_threads(unsigned threads) { threads_ = threads; }
  // False at the end of all inputs. A batch has one record at least.
  bool next(Batch& batch);
  // No further input is read; whole records that have been read still come out. Any thread may call it.
  void stop() { stopped_ = true; }

  // The header row of the first input that has any content. Reads ahead.
  std::optional<std::string> header();
  // How many records the inputs hold, judged by the first batch; nothing where their size is unknown.
  std::optional<std::uint64_t> estimated_records();
  // No more distinct records than this, where that is known: if the files are not packed, as the first is not.
  std::optional<std::uint64_t> most_distinct();

  // For messages.
  const std::string& input_name(std::size_t input) const;
  std::string describe(const Batch& batch, const BadRecord& bad) const;  // "file: record 17: no field user"

  // For progress; may be asked while another thread reads.
  std::optional<std::uint64_t> bytes_total() const { return bytes_total_; }
  std::uint64_t bytes_taken() const { return bytes_taken_; }  // of bytes_total: packed, where inputs are packed
  std::optional<double> share_taken() const {
    if (!bytes_total_ || *bytes_total_ == 0) return std::nullopt;
    return static_cast<double>(bytes_taken_) / static_cast<double>(*bytes_total_);
  }

 private:
  bool read_batch(Batch& batch);
  bool open_next();
  void check_header(Batch& batch);
  bool read_ahead();
  bool looks_packed() const;  // by what was read ahead

  Options options_;
  unsigned threads_ = 1;
  RecordScanner scanner_;
  std::unique_ptr<Source> source_;
  std::size_t next_input_ = 0;
  std::uint64_t next_record_ = 1;
  std::optional<Batch> ahead_;  // read before it was asked for
  bool ended_ = false;
  std::string tail_;  // the beginning of a record whose end was not yet read
  std::optional<std::string> header_;
  std::size_t header_input_ = 0;
  std::optional<std::uint64_t> bytes_total_ = 0;
  std::uint64_t bytes_of_closed_ = 0;
  std::atomic<std::uint64_t> bytes_taken_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace nodup
