// SPDX-License-Identifier: Apache-2.0
#include "cli/match_run.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>

#include <fmt/format.h>

#include "cli/key_set.hpp"
#include "cli/monitor.hpp"
#include "cli/report.hpp"
#include "cli/same_files.hpp"
#include "cli/talk.hpp"
#include "nodup/stream/match.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/stream/sinks/sinks.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

using S = const std::string&;
using Clock = std::chrono::steady_clock;

std::vector<std::string> names_in(const std::string& value) {
  // As the fields of a key: escapes stay, and an escaped comma does not part names.
  std::vector<std::string> names(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == ',') {
      names.emplace_back();
      continue;
    }
    names.back() += value[i];
    if (value[i] == '\\' && i + 1 < value.size()) names.back() += value[++i];
  }
  if (std::ranges::any_of(names, &std::string::empty))
    throw Error(fmt::format("`{}` lacks a name; write e.g. user,day", value));
  return names;
}

class MatchRun {
 public:
  MatchRun(SetOptions set, MatchOptions options)
      : typed_(std::move(set)), options_(std::move(options)), set_(load_set_file(typed_.set)) {}
  int run();

 private:
  OnBadRecord on_bad() const {
    return options_.on_bad.value_or(options_.invert ? OnBadRecord::pass : OnBadRecord::drop);
  }
  void open_sinks();
  void warn_of_missing();
  std::string_view answered_by() const;
  void show(bool interrupted);
  std::string text_report(const MatchCounts& counts) const;
  std::string json_report(const MatchCounts& counts, bool interrupted) const;
  std::string progress() const;
  std::uint64_t passed(const MatchCounts& c) const {
    const std::uint64_t bad = on_bad() == OnBadRecord::pass ? c.bad_records : 0;
    return (options_.invert ? c.rows - c.bad_records - c.matched : c.matched) + bad;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  SetOptions typed_;
  MatchOptions options_;
  KeySet set_;
  RecordFormat format_;
  Clock::time_point begin_ = Clock::now();
  std::optional<BatchReader> reader_;
  std::unique_ptr<Sink> passed_, dropped_;
  std::optional<Match> match_;
  std::mutex talk_lock_;  // bad records come from the threads that match, progress from the monitor
  Talk talk_;
};

// A filter lets rows pass that are not in the set. How many of the rows that passed, or with --invert of those that did
// not: each row that was told apart stands for 1 / (1 - error) that are not in the set.
double expected_false(const MatchCounts& counts, double error) {
  return static_cast<double>(counts.rows - counts.bad_records - counts.matched) * error /
         (1 - std::min(error, 0.999999));
}

void MatchRun::open_sinks() {
  if (options_.count) return;
  passed_ = options_.output.empty() ? descriptor_sink(STDOUT_FILENO, "standard output")
                                    : file_sink(options_.output, FileMode::replace, format_.separator);
  if (!options_.dropped.empty()) dropped_ = file_sink(options_.dropped, FileMode::replace, format_.separator);
}

void MatchRun::warn_of_missing() {
  if (set_.ages())
    talk_.note(fmt::format(
        "warning: {} holds the keys of a window: rows whose keys are older are taken for rows not in the set",
        typed_.set));
  if (const double lost = set_.rates().false_negative; set_.forgets() && lost > 0)
    talk_.note(
        fmt::format("warning: {} is of a kind that forgets ({}): of the rows whose keys it was told, {:.2g} % are "
                    "taken for rows not "
                    "in the set",
                    typed_.set, set_.kind(), 100 * lost));
}

std::string_view MatchRun::answered_by() const { return set_.asks_part() ? "values" : set_.unit(); }

std::string MatchRun::text_report(const MatchCounts& c) const {
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  const double error = set_.rates().false_positive;
  const std::uint64_t pass = passed(c);
  row("rows", fmt::format("{}  ({}/s)", c.rows, human_count(per_second(c.rows, seconds()))));
  row("in the set", fmt::format("{}  ({:.2f} %)", c.matched, share(c.matched, c.rows)));
  row("passed", fmt::format("{}  ({:.2f} %)", pass, share(pass, c.rows)));
  if (c.bad_records > 0) row("bad records", fmt::format("{}  ({:.2f} %)", c.bad_records, share(c.bad_records, c.rows)));
  row("bytes", fmt::format("{}  ({}/s)", human_bytes(c.bytes), human_bytes(per_second(c.bytes, seconds()))));
  row("bytes passed", fmt::format("{}  ({:.2f} %)", human_bytes(c.bytes_passed), share(c.bytes_passed, c.bytes)));
  row("time", human_seconds(seconds()));
  row("key", set_.key());
  row("set",
      fmt::format("{}: {}, {} {}, {}", typed_.set, set_.kind(), set_.keys(), set_.unit(), human_bytes(set_.bytes())));
  if (set_.asks_part()) row("", "asked for each value alone: those of a row may stand in different rows of the set");
  row("error", fmt::format("{:.3g} (chance that a row that is not in the set is taken for one that is)", error));
  row("likely false", fmt::format("{:.3g} of the rows in the set", expected_false(c, error)));
  return text;
}

std::string MatchRun::json_report(const MatchCounts& c, bool interrupted) const {
  const Rates rates = set_.rates();
  return fmt::format(
      "{{\"rows\":{},\"matched\":{},\"passed\":{},\"bad_records\":{},\"bytes\":{},\"bytes_passed\":{},\"seconds\":{:."
      "6f},"
      "\"rows_per_second\":{},\"bytes_per_second\":{},\"key\":{},\"threads\":{},\"set\":{},\"answered_by\":{},"
      "\"filter\":{},"
      "\"filter_keys\":{},\"memory_bytes\":{},\"error\":{:.6g},\"false_negative\":{:.6g},\"expected_false\":{:.6g},"
      "\"interrupted\":{}}}\n",
      c.rows, c.matched, passed(c), c.bad_records, c.bytes, c.bytes_passed, seconds(), per_second(c.rows, seconds()),
      per_second(c.bytes, seconds()), json_string(set_.key()), typed_.threads, json_string(typed_.set),
      json_string(answered_by()), json_string(set_.kind()), set_.keys(), set_.bytes(), rates.false_positive,
      rates.false_negative, expected_false(c, rates.false_positive), interrupted);
}

void MatchRun::show(bool interrupted) {
  if (typed_.talk.quiet || typed_.stats == Stats::none) return;
  const MatchCounts counts = match_->counts();
  std::string text = typed_.stats == Stats::json ? json_report(counts, interrupted) : text_report(counts);
  text.pop_back();
  talk_.say(text);
}

std::string MatchRun::progress() const {
  const MatchCounts c = match_->counts();
  std::string line = fmt::format("{} rows  {}/s  {}/s  {:.1f} % in the set", human_count(c.rows),
                                 human_count(per_second(c.rows, seconds())),
                                 human_bytes(per_second(c.bytes, seconds())), share(c.matched, c.rows));
  return line + time_left(seconds(), reader_->share_taken());
}

int MatchRun::run() {
  talk_.begin(typed_.talk);
  if (options_.output == "-") options_.output.clear();
  if (options_.dropped == "-")
    throw UsageError("--dropped - would mix both outputs: name a file, or pass those rows with --invert");
  if (options_.count && !(options_.output.empty() && options_.dropped.empty()))
    throw UsageError("--count writes no records: leave --output and --dropped out");
  format_ = record_format(typed_);
  set_.use_key(typed_.key, options_.where, KeySet::Use::ask, typed_.set);
  std::vector<std::string> read = typed_.paths;
  read.push_back(typed_.set);
  refuse_same_files({.inputs = read, .output = options_.output, .other_outputs = {options_.dropped}, .state = {}});
  Monitor monitor;
  reader_.emplace(BatchReader::Options{.paths = typed_.paths, .format = format_, .wake_fd = monitor.wake_fd()});
  std::atomic<bool> running = false;
  std::atomic<bool> stats_wanted = false;
  const auto tick = [&] {
    if (!running) return;
    const std::lock_guard lock(talk_lock_);
    if (stats_wanted.exchange(false)) show(false);
    if (talk_.shows_progress() && match_->counts().rows > 0) talk_.progress(progress());
  };
  monitor.start({.stop = [&] { reader_->stop(); },
                 .show_stats =
                     [&] {
                       stats_wanted = true;
                       tick();
                     },
                 .tick = tick},
                std::chrono::milliseconds(250));
  const KeyContext context = set_.context(format_, reader_->header());
  check_key(set_.key(), context);
  warn_of_missing();
  open_sinks();
  const Hasher hasher(set_.seed());
  match_.emplace(
      *reader_, hasher,
      Match::Options{.threads = typed_.threads,
                     .on_bad = on_bad(),
                     .invert = options_.invert,
                     .passed = passed_.get(),
                     .dropped = dropped_.get(),
                     .separator = format_.separator,
                     .make_key = [&] { return make_key(set_.key(), context); },
                     .ask = [&](const Batch& batch, bool* seen) { set_.contains(set_.rows_of(batch), seen); },
                     .report_bad =
                         [&](const std::string& text) {
                           const std::lock_guard lock(talk_lock_);
                           talk_.bad_record(text);
                         },
                     .on_failure = [&] { monitor.wake(); }});
  running = true;
  std::exception_ptr failure;
  try {
    match_->run();
  } catch (...) {
    failure = std::current_exception();
  }
  monitor.finish();
  talk_.end_progress();
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const ClosedOutput& closed) {
    // As others end whose reader has gone: what came out is not all of it.
    talk_.note(fmt::format("{}; stopped, the output is incomplete", closed.what()));
    Monitor::die_by(SIGPIPE);
  }
  // Whoever joins what came out relies on it that no row is missing: so half of the rows do not become a file.
  if (monitor.stop_signal() != 0) {
    talk_.note(fmt::format("interrupted: the output is incomplete{}",
                           options_.output.empty() ? "" : ", and " + options_.output + " was not written"));
    show(true);
    passed_.reset();
    dropped_.reset();
    Monitor::die_by(monitor.stop_signal());
  }
  if (passed_) passed_->finish();
  if (dropped_) dropped_->finish();
  const MatchCounts counts = match_->counts();
  if (options_.count) fmt::print("{}\n", passed(counts));
  if (counts.rows > 0 && counts.bad_records == counts.rows) talk_.note(set_.no_key_hint());
  show(false);
  return kOk;
}

}  // namespace

void SetOptions::operand(const std::string& word) {
  if (!set.empty()) {
    paths.push_back(word);
    return;
  }
  if (word.empty() || word == "-") throw UsageError(fmt::format("`{}` is no name of a set: it is a file", word));
  set = word;
}

void SetOptions::settle_paths(std::string_view command) {
  if (set.empty()) throw UsageError(fmt::format("which set? `nodup {} FILE [INPUT...]`", command));
  if (paths.empty()) paths.push_back("-");
  if (std::ranges::count(paths, "-") > 1) throw UsageError("standard input (-) can be read only once");
}

std::vector<Flag> set_input_flags(SetOptions& o) {
  std::vector<Flag> flags = {
      key_flag(o.key, "Input", "where the key stands in a record (default: as noted in the set)")};
  std::ranges::move(record_flags(o), std::back_inserter(flags));
  return flags;
}

std::vector<Flag> set_report_flags(SetOptions& o) {
  std::vector<Flag> flags = {threads_flag(o.threads), stats_flag(o.stats)};
  std::ranges::move(talk_flags(o.talk), std::back_inserter(flags));
  return flags;
}

std::vector<Flag> match_flags(MatchOptions& o, const std::string& out) {
  return {
      {"--where", "NAME[,NAME...]", out, "of a set with attributes: ask only for these",
       "One for each field of --key, in the same order; without --key the fields are those of the set. Each value is "
       "asked for alone: a row passes if all of them are in the set, maybe in different rows of it.",
       [&](S v) { o.where = names_in(v); }},
      {"-o,--output", "FILE", out, "write to FILE instead of standard output",
       "FILE appears when all input has been read; a run that fails or is interrupted leaves none.",
       [&](S v) { o.output = file_name(v); }, true},
      {"-D,--dropped", "FILE", out, "write the rows that do not pass to FILE", "",
       [&](S v) { o.dropped = file_name(v); }, true},
      {"-i,--invert", "", out, "pass the rows that are surely not in the set", "", [&](S) { o.invert = true; }, true},
      {"-c,--count", "", out, "print only the number of rows that would pass", "", [&](S) { o.count = true; }, true},
  };
}

int run_match(SetOptions set, MatchOptions options) { return MatchRun(std::move(set), std::move(options)).run(); }

}  // namespace nodup::cli
