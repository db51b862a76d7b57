// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "nodup/error.hpp"
#include "nodup/stream/open.hpp"

namespace nodup {

namespace {

// A buffer that has grown for a long record is given back when it is this many blocks large.
constexpr std::size_t kKeptBlocks = 4;

std::string_view without_return(std::string_view row) {
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

}  // namespace

BatchReader::BatchReader(Options options) : options_(std::move(options)), scanner_(options_.format) {
  for (const std::string& path : options_.paths) {
    struct stat status {};
    const bool is_stdin = path == "-";
    if ((is_stdin ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status)) != 0)
      throw Error(fmt::format("cannot open {}: {}", is_stdin ? "standard input" : path, std::strerror(errno)));
    if (S_ISDIR(status.st_mode)) throw Error(fmt::format("{} is a directory; name the files in it", path));
    if (!S_ISREG(status.st_mode))
      bytes_total_.reset();
    else if (bytes_total_)
      *bytes_total_ += static_cast<std::uint64_t>(status.st_size);
  }
}

BatchReader::~BatchReader() = default;

const std::string& BatchReader::input_name(std::size_t input) const {
  static const std::string standard_input = "standard input";
  const std::string& path = options_.paths[input];
  return path == "-" ? standard_input : path;
}

std::string BatchReader::describe(const Batch& batch, const BadRecord& bad) const {
  return fmt::format("{}: record {}: {}", input_name(batch.input), batch.first_record + bad.index, bad.reason);
}

bool BatchReader::open_next() {
  if (stopped_ || next_input_ == options_.paths.size()) return false;
  source_ = open_source(options_.paths[next_input_++], options_.wake_fd);
  scanner_.start_input();
  next_record_ = 1;
  return true;
}

bool BatchReader::next(Batch& batch) {
  if (ahead_) {
    batch = std::move(*ahead_);
    ahead_.reset();
    return true;
  }
  return !ended_ && read_batch(batch);
}

bool BatchReader::read_batch(Batch& batch) {
  ByteBuffer& bytes = batch.bytes;
  if (bytes.capacity() > kKeptBlocks * options_.block_bytes) bytes = ByteBuffer();
  bytes.reserve(options_.block_bytes);
  bytes.resize(0);
  batch.ends.clear();
  batch.bad.clear();
  batch.unterminated_quote = false;
  while (batch.ends.empty()) {
    if (!source_) {
      if (!open_next()) {
        ended_ = true;
        return false;
      }
      tail_.clear();
    }
    if (bytes.size() == 0 && !tail_.empty()) {
      bytes.reserve(tail_.size() + options_.block_bytes);
      std::memcpy(bytes.data(), tail_.data(), tail_.size());
      bytes.resize(tail_.size());
      tail_.clear();
    }
    if (bytes.size() == bytes.capacity()) bytes.reserve(2 * bytes.capacity());
    const std::size_t before = bytes.size();
    // Never more than a block at once: behind the end of a very long record as little as can be lies in memory.
    const std::size_t room = std::min(options_.block_bytes, bytes.capacity() - before);
    const std::size_t n = stopped_ ? 0 : source_->read({bytes.data() + before, room});
    bytes_taken_ = bytes_of_closed_ + source_->bytes_taken();
    bytes.resize(before + n);
    if (n > 0) {
      scanner_.scan(bytes.data(), before, bytes.size(), batch.ends);
    } else {
      // A stop in the middle of a record: half of it is no event. Whoever feeds it again brings the whole.
      if (stopped_ || source_->stopped()) {
        stopped_ = true;
        ended_ = true;
        return false;
      }
      bytes_of_closed_ += source_->bytes_taken();
      source_.reset();
      if (before > 0) {
        batch.ends.push_back(before);  // a last record without separator
        batch.unterminated_quote = scanner_.inside_quotes();
      }
    }
  }
  const std::uint64_t whole = std::min<std::uint64_t>(batch.ends.back() + 1, bytes.size());
  tail_.assign(bytes.data() + whole, bytes.size() - whole);
  scanner_.shift(whole);
  bytes.resize(whole);

  batch.input = next_input_ - 1;
  batch.first_record = next_record_;
  next_record_ += batch.size();
  const std::size_t block = options_.block_bytes;
  batch.upcoming = Upcoming(source_ ? source_->upcoming((threads_ - 1) * block, block) : nullptr, block, batch.size());
  check_header(batch);
  return true;
}

void BatchReader::check_header(Batch& batch) {
  batch.header = options_.format.header && batch.first_record == 1 ? 1 : 0;
  batch.first_header = false;
  if (batch.header == 0) return;
  const std::string_view row = without_return(batch.record(0));
  if (!header_) {
    header_ = row;
    header_input_ = batch.input;
    batch.first_header = true;
  } else if (row != *header_) {
    throw Error(fmt::format("the header of {} differs from that of {}: `{}` and `{}`", input_name(batch.input),
                            input_name(header_input_), row, *header_));
  }
}

bool BatchReader::read_ahead() {
  if (ahead_ || ended_) return ahead_.has_value();
  Batch batch;
  if (!read_batch(batch)) return false;
  ahead_ = std::move(batch);
  return true;
}

std::optional<std::string> BatchReader::header() {
  if (options_.format.header && !header_) read_ahead();
  return header_;
}

std::optional<std::uint64_t> BatchReader::estimated_records() {
  if (!bytes_total_) return std::nullopt;
  if (!read_ahead()) return 0;
  // All of it was read: no guess.
  if (bytes_taken_ == *bytes_total_ && tail_.empty() && !source_) return ahead_->size();
  const double records = static_cast<double>(ahead_->size());
  const double unpacked = static_cast<double>(ahead_->bytes.size());
  const auto taken = static_cast<double>(std::max<std::uint64_t>(bytes_taken_, 1));
  const auto total = static_cast<double>(*bytes_total_);
  // Where the input is packed, more of it may have been taken than this batch shows.
  const double guess = records * (looks_packed() ? 1.5 * total / taken : total / unpacked);
  return static_cast<std::uint64_t>(guess * 1.05) + 100;
}

// A record has one byte at least, and its separator, but for empty ones, which are all the same.
std::optional<std::uint64_t> BatchReader::most_distinct() {
  if (!bytes_total_) return std::nullopt;
  if (!read_ahead()) return 0;
  if (looks_packed()) return std::nullopt;
  return *bytes_total_ / 2 + 2;
}

bool BatchReader::looks_packed() const {
  return static_cast<double>(ahead_->bytes.size()) > 1.01 * static_cast<double>(bytes_taken_);
}

}  // namespace nodup
