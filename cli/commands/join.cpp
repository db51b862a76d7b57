// SPDX-License-Identifier: Apache-2.0
//
// nodup join: what the options say, put together; signals and the report around it. The join itself is
// nodup/stream/join/.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <random>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/input_options.hpp"
#include "cli/join_report.hpp"
#include "cli/monitor.hpp"
#include "cli/same_files.hpp"
#include "cli/talk.hpp"
#include "nodup/stream/join/join.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/stream/sinks/sinks.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup join --on json:user clicks.ndjson users.ndjson > joined.ndjson", "every click with its user"},
    {"nodup join --csv --header --on col:id --type left orders.csv customers.csv -o all.csv",
     "orders without a customer too"},
    {"nodup join --csv --header --on json:user --right-on col:user_id clicks.ndjson users.csv",
     "JSON on the left, columns on the right"},
    {"nodup join --on json:user --type anti clicks.ndjson known.ndjson", "clicks of users that are not known"},
    {"zcat log.gz | nodup join --on line --type semi - wanted.txt", "lines that are in wanted.txt"},
};

constexpr CommandText kText = {
    .name = "join",
    .usage = "join --on KEY [FLAGS] LEFT RIGHT",
    .summary = "join two files, or a file and a pipe, on a key: exact, in the order of the left",
    .about =
        "Writes the rows of LEFT together with those of RIGHT that have the same key. Keys are compared by their text: "
        "17, \"17\" and a column 17 are one. A row whose key is missing or null matches nothing.\n\n"
        "The smaller side is kept, with a Bloom filter of its keys; the larger one streams through the filter once, "
        "and "
        "only rows of it that match are ever kept. A larger LEFT is not kept at all. One side may be `-`; it "
        "counts as the larger.\n\n"
        "Columns and columns give the left row, the delimiter and the right row. With JSON on either side every line "
        "is "
        "an object: the left's members, then the right's without its key; a name that is there already gets `right.` "
        "before it. A right side of plain lines adds nothing to the left row.",
    .examples = kExamples,
};

using Clock = std::chrono::steady_clock;

std::uint64_t half_of_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) /
         2;
}

std::string temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

// Keys speak of the flag that the main job has for them.
std::string named_after(std::string message, std::string_view flag) {
  constexpr std::string_view kKeyFlag = "--key";
  if (message.starts_with(kKeyFlag)) message.replace(0, kKeyFlag.size(), flag);
  return message;
}

class JoinCommand final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override;
  void operand(const std::string& word) override { paths_.push_back(word); }
  int run() override;

 private:
  struct Side {
    std::string flag = "--on";
    std::string key, path;
    RecordFormat format;
    std::optional<BatchReader> reader;
    KeyContext context;
  };

  void check_options();
  JoinReport report() const;
  void show_report();
  void on_tick();

  std::string on_, right_on_;
  JoinType type_ = JoinType::inner;
  RecordOptions records_;
  OnBadRecord on_bad_ = OnBadRecord::pass;
  std::string output_;
  std::uint64_t memory_ = half_of_memory();
  unsigned threads_ = 1;
  Stats stats_ = Stats::text;
  TalkOptions talk_options_;
  std::vector<std::string> paths_;

  Clock::time_point begin_ = Clock::now();
  Side left_, right_;
  std::unique_ptr<Sink> sink_;
  std::optional<Join> join_;
  std::mutex talk_lock_;
  Talk talk_;
};

std::vector<Flag> JoinCommand::flags() {
  using S = const std::string&;
  const std::string what = "What is joined", out = "Output";
  Flag on = key_flag(on_, what, "the key of both sides, e.g. json:user or col:id");
  on.names = "--on";
  std::vector<Flag> flags = {
      std::move(on),
      {"--right-on", "KEY", what, "the key of the right side, where it is another one",
       "With as many fields as --on has. Its rows are JSON, columns or plain lines, as the key says.",
       [&](S v) { right_on_ = v; }, true},
      {"--type",
       "TYPE",
       what,
       "inner (default), left, semi or anti",
       "inner: every pair of rows with the same key\n"
       "left: and the left rows that match nothing\n"
       "semi: left rows that match, once each, as they stand\n"
       "anti: left rows that match nothing, as they stand",
       [&](S v) { type_ = choice(v, kJoinTypes); },
       true,
       {"inner", "left", "semi", "anti"}},
      {"-o,--output", "FILE", out, "write to FILE instead of standard output; it appears when it is complete", "",
       [&](S v) { output_ = file_name(v); }, true},
      {"--memory", "SIZE", out, "memory for what is kept, e.g. 2G (default: half of the machine's)",
       "Rows beyond it go to a temporary file in $TMPDIR, or /tmp. Keys of the smaller side stay in memory, with up to "
       "130 bytes each.",
       [&](S v) { memory_ = memory_limit(v); }},
      stats_flag(stats_),
      threads_flag(threads_),
  };
  for (Flag& flag : record_flags(records_)) flags.push_back(std::move(flag));
  flags.push_back(on_error_flag(on_bad_, "left rows without a key, for left and anti: pass (default) or drop; or fail",
                                "A row without a key is one whose key is missing or null, or that is broken. It "
                                "matches nothing. `fail` stops at the first one of either side."));
  for (Flag& flag : talk_flags(talk_options_)) flags.push_back(std::move(flag));
  return flags;
}

void JoinCommand::check_options() {
  if (on_.empty()) throw UsageError("what is the key? Say --on KEY, e.g. --on json:user\nSee `nodup join --help`.");
  if (paths_.size() != 2)
    throw UsageError(fmt::format("a join has two inputs, LEFT and RIGHT, and {} given (`-` is standard input)",
                                 paths_.size() == 1 ? "one is" : fmt::format("{} are", paths_.size())));
  if (paths_[0] == "-" && paths_[1] == "-") throw UsageError("standard input (-) can be read only once");
  if (output_ == "-") output_.clear();
  left_.key = on_;
  left_.path = paths_[0];
  if (!right_on_.empty()) right_.flag = "--right-on";
  right_.key = right_on_.empty() ? on_ : right_on_;
  right_.path = paths_[1];
  const RecordFormat format = record_format(records_);
  bool columns_used = false;
  for (Side* const side : {&left_, &right_}) {
    const bool columns = side->key.starts_with("col:");
    columns_used |= columns;
    side->format = columns ? format : RecordFormat{.separator = format.separator};
  }
  if (!columns_used && (format.delimiter != 0 || format.header))
    throw UsageError("--csv, --tsv, --delimiter and --header are for columns: say --on col:COLUMN");
  refuse_same_files({.inputs = paths_, .output = output_, .other_outputs = {}, .state = {}});
}

JoinReport JoinCommand::report() const {
  return {.counts = join_->counts(),
          .seconds = std::chrono::duration<double>(Clock::now() - begin_).count(),
          .type = type_,
          .threads = threads_};
}

void JoinCommand::show_report() {
  if (talk_options_.quiet || stats_ == Stats::none) return;
  std::string text = stats_ == Stats::json ? json_report(report()) : text_report(report());
  text.pop_back();
  talk_.say(text);
}

void JoinCommand::on_tick() {
  const std::lock_guard lock(talk_lock_);
  if (!talk_.shows_progress() || !join_) return;
  talk_.progress(progress_line(report(), left_.reader->share_taken(), right_.reader->share_taken()));
}

int JoinCommand::run() {
  talk_.begin(talk_options_);
  check_options();
  Monitor monitor;  // before any thread, before any file is made
  for (Side* const side : {&left_, &right_})
    side->reader.emplace(
        BatchReader::Options{.paths = {side->path}, .format = side->format, .wake_fd = monitor.wake_fd()});
  std::atomic<bool> running = false;
  monitor.start({.stop =
                     [&] {
                       left_.reader->stop();
                       right_.reader->stop();
                       if (running) join_->stop();
                     },
                 .show_stats =
                     [&] {
                       const std::lock_guard lock(talk_lock_);
                       if (running) show_report();
                     },
                 .tick =
                     [&] {
                       if (running) on_tick();
                     }},
                std::chrono::milliseconds(250));
  // What is wrong with a key or a header is known before anything is written.
  for (Side* const side : {&left_, &right_}) {
    side->context = {.format = side->format, .header = side->reader->header(), .by_text = true};
    try {
      (void)make_key(side->key, side->context);
    } catch (const Error& error) {
      throw UsageError(named_after(error.what(), side->flag));
    }
  }
  if (key_fields(left_.key).size() != key_fields(right_.key).size())
    throw UsageError(
        fmt::format("--on {} and --right-on {} must have the same number of fields", left_.key, right_.key));

  std::random_device random;
  const Hasher hasher(std::uint64_t{random()} << 32 | random());
  sink_ = output_.empty() ? descriptor_sink(STDOUT_FILENO, "standard output")
                          : file_sink(output_, FileMode::replace, left_.format.separator);
  const auto source_of = [](Side& side) {
    return Join::Side{&*side.reader, [&side] { return make_key(side.key, side.context); }};
  };
  const auto shape_of = [](const Side& side) {
    return join_side(side.key, side.format, side.context.header, side.reader->input_name(0));
  };
  join_.emplace(hasher, Join::Options{.type = type_,
                                      .left = source_of(left_),
                                      .right = source_of(right_),
                                      .shape = {.left = shape_of(left_),
                                                .right = shape_of(right_),
                                                .left_only = type_ == JoinType::semi || type_ == JoinType::anti},
                                      .threads = threads_,
                                      .store = {.memory = memory_, .folder = temporary_folder()},
                                      .on_bad = on_bad_,
                                      .sink = sink_.get(),
                                      .separator = left_.format.separator,
                                      .report_bad =
                                          [&](const std::string& text) {
                                            const std::lock_guard lock(talk_lock_);
                                            talk_.bad_record(text);
                                          },
                                      .on_failure = [&] { monitor.wake(); }});
  running = true;
  if (monitor.stop_signal() != 0) join_->stop();  // it may have come before there was anything to stop

  std::string output_closed;
  std::exception_ptr failure;
  try {
    join_->run();
    if (monitor.stop_signal() == 0) sink_->finish();
  } catch (const ClosedOutput& closed) {
    output_closed = closed.what();
  } catch (...) {
    failure = std::current_exception();
  }
  monitor.finish();
  talk_.end_progress();
  const std::string incomplete = output_.empty() ? "the output is incomplete" : "no output is made";
  if (monitor.stop_signal() != 0) {
    talk_.say(fmt::format("nodup: interrupted; {}", incomplete));
    sink_.reset();
    Monitor::die_by(monitor.stop_signal());
  }
  if (!output_closed.empty()) {
    // As others end whose reader has gone: what came out is not all of it.
    talk_.note(fmt::format("{}; stopped, {}", output_closed, incomplete));
    sink_.reset();
    Monitor::die_by(SIGPIPE);
  }
  if (failure) {
    sink_.reset();
    talk_.say(fmt::format("nodup: {}", incomplete));
    std::rethrow_exception(failure);
  }
  show_report();
  return kOk;
}

}  // namespace

std::unique_ptr<Command> make_join() { return std::make_unique<JoinCommand>(); }

}  // namespace nodup::cli
