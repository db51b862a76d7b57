// SPDX-License-Identifier: Apache-2.0
//
// The main job at the shell: what the options say, put together; signals, checkpoints and the report around it.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/dedup_options.hpp"
#include "cli/filter_choice.hpp"
#include "cli/monitor.hpp"
#include "cli/report.hpp"
#include "cli/same_files.hpp"
#include "cli/talk.hpp"
#include "nodup/stream/pipeline.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/stream/sinks/sinks.hpp"
#include "nodup/stream/state.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup access.log > distinct.log", "whole lines, order kept, the first occurrence passes"},
    {"zcat clicks.ndjson.gz | nodup --key json:user,ad.id -D dropped.ndjson > new.ndjson",
     "two JSON fields are the key"},
    {"nodup --csv --header --key col:email,phone customers.csv -o unique.csv", "columns by name"},
    {"tail -F app.log | nodup --state seen.nodup", "goes on where the last run stopped"},
    {"tail -F app.log | nodup --window 24h", "duplicates of the last 24 hours"},
    {"nodup --window 1h --time json:ts --key json:id in.ndjson", "of an hour, by the events' own times"},
    {"nodup --window 10M access.log", "of the last ten million records"},
    {"nodup --memory 64M --key json:url crawl.ndjson", "any length of stream in 64 MiB"},
    {"nodup --error 0 ids.txt", "exact: no event is lost, at 20 bytes and more per distinct key"},
};

constexpr CommandText kText = {
    .name = "",
    .usage = "[FLAGS] [FILE...]",
    .summary = "remove duplicates from event streams, in little memory, at the speed of the machine",
    .about =
        "Reads events from files or standard input (`-`), gzip and zstd recognised, and writes each event once, in "
        "input "
        "order. A new event is dropped with the probability --error at most. A duplicate never passes, unless --window "
        "or "
        "--memory limit what is remembered.",
    .examples = kExamples,
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Dedup final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override { return dedup_flags(options_); }
  void operand(const std::string& word) override { options_.paths.push_back(word); }
  int run() override;

 private:
  TimeBase time_base() const {
    if (!options_.window) return TimeBase::none;
    if (options_.window->by_count) return TimeBase::records;
    return options_.time.empty() ? TimeBase::arrival : TimeBase::event;
  }
  void load_state();
  void open_sinks();
  void on_tick();
  void save_state(const Counts& counts);
  void show(const Counts& counts, bool interrupted);
  Report report(const Counts& counts);
  void warn_if_past_goal();
  void warn_if_shrunk(const Counts& counts);
  void finish_outputs();

  DedupOptions options_;
  RecordFormat format_;
  Clock::time_point begin_ = Clock::now();
  std::optional<StateFile> state_file_;
  std::optional<SavedFilter> resumed_;
  std::map<std::string, std::string> notes_before_;  // of the state we go on with
  std::uint64_t seed_ = 0;
  std::optional<BatchReader> reader_;
  std::optional<ChosenFilter> chosen_;
  std::optional<Audit> audit_;
  std::unique_ptr<Sink> passed_, dropped_;
  std::optional<Pipeline> pipeline_;
  std::uint64_t events_saved_ = 0;  // events the last checkpoint covers
  Talk talk_;
  bool warned_ = false;
  bool warned_of_window_ = false;
  bool stats_wanted_ = false;          // by SIGUSR1; the monitor's own
  std::atomic<bool> running_ = false;  // the pipeline is there to be asked
};

void Dedup::load_state() {
  if (!options_.state.empty()) {
    state_file_.emplace(options_.state);
    resumed_ = state_file_->load();
  }
  if (resumed_) {
    check_resumed(options_, *resumed_);
    seed_ = resumed_->seed;
    notes_before_ = resumed_->notes;
  } else if (options_.seed) {
    seed_ = *options_.seed;
  } else if (state_file_) {
    // Two states with different seeds do not make the same mistakes.
    std::random_device random;
    seed_ = std::uint64_t{random()} << 32 | random();
  }
}

void Dedup::open_sinks() {
  const FileMode mode = state_file_ ? FileMode::append : FileMode::replace;
  if (options_.count) return;
  if (!options_.output.empty())
    passed_ = file_sink(options_.output, mode, format_.separator);
  else if (state_file_)
    passed_ = continued_sink(STDOUT_FILENO, "standard output", format_.separator);
  else
    passed_ = descriptor_sink(STDOUT_FILENO, "standard output");
  if (!options_.dropped.empty()) dropped_ = file_sink(options_.dropped, mode, format_.separator);
}

void Dedup::warn_if_past_goal() {
  const double reached = chosen_->filter.rates().false_positive;
  // An error of 0 asks for exact, whose hash collisions are nothing to warn of. A filter filled as planned may measure
  // itself a few percent above its goal.
  if (warned_ || chosen_->goal.error == 0 || reached <= 1.05 * chosen_->goal.error) return;
  warned_ = true;
  talk_.note(fmt::format(
      "warning: the filter is full; a new event is now dropped with probability {:.2g}, above the {:g} "
      "asked for ({} keys in {}). More --memory or a larger --error would have prevented it.",
      reached, chosen_->goal.error, human_count(chosen_->filter.keys()), human_bytes(chosen_->filter.bytes())));
}

// Only what has left this process is covered by a checkpoint: a crash later may let duplicates pass, never lose an
// event.
void Dedup::save_state(const Counts& counts) {
  if (passed_) passed_->sync();
  if (dropped_) dropped_->sync();
  state_file_->save(chosen_->filter, seed_, state_notes(options_, *chosen_, notes_before_, counts));
  events_saved_ = counts.events;
}

void Dedup::warn_if_shrunk(const Counts& counts) {
  if (warned_of_window_ || !options_.window || counts.narrowest >= options_.window->ticks) return;
  warned_of_window_ = true;
  talk_.note(fmt::format(
      "warning: the window has shrunk to {} of {} ({} keys in {}): older events are taken for new. {} would have "
      "prevented it.",
      human_ticks(*options_.window, counts.narrowest), window_text(*options_.window),
      human_count(chosen_->filter.keys()), human_bytes(chosen_->filter.bytes()),
      options_.memory ? "More --memory" : "A larger --rate or --events"));
}

Report Dedup::report(const Counts& counts) {
  Report report = make_report(counts, chosen_->filter, options_.window);
  report.seconds = seconds_since(begin_);
  report.key = options_.key;
  report.threads = options_.threads;
  report.error_goal = chosen_->goal.error;
  if (audit_) report.audit = audit_->reading();
  return report;
}

void Dedup::show(const Counts& counts, bool interrupted) {
  if (options_.talk.quiet || options_.stats == Stats::none) return;
  Report shown = report(counts);
  shown.interrupted = interrupted;
  std::string text = options_.stats == Stats::json ? json_report(shown) : text_report(shown);
  text.pop_back();
  talk_.say(text);
}

void Dedup::on_tick() {
  pipeline_->soon_between_batches([&](const Counts& counts, AnyFilter&) {
    if (stats_wanted_) show(counts, false);
    stats_wanted_ = false;
    if (state_file_ && counts.events > events_saved_ && !pipeline_->remembers_unwritten() &&
        state_file_->due(options_.checkpoint)) {
      try {
        save_state(counts);
      } catch (const ClosedOutput&) {
        // The run itself will meet the closed output and end.
      } catch (const Error& error) {
        talk_.note(fmt::format("warning: no checkpoint: {}", error.what()));
      }
    }
    warn_if_past_goal();
    warn_if_shrunk(counts);
    if (!talk_.shows_progress() || counts.events == 0) return;
    talk_.progress(progress_line(report(counts), reader_->share_taken()));
  });
}

void Dedup::finish_outputs() {
  if (passed_) passed_->finish();
  if (dropped_) dropped_->finish();
}

int Dedup::run() {
  talk_.begin(options_.talk);
  if (options_.paths.empty()) options_.paths.push_back("-");
  if (options_.output == "-") options_.output.clear();
  if (options_.dropped == "-")
    throw UsageError("--dropped - would mix both outputs: name a file, or pass the duplicates with --invert");
  format_ = record_format(options_);
  if (options_.count && !(options_.output.empty() && options_.dropped.empty()))
    throw UsageError("--count writes no records: leave --output and --dropped out");
  check_window(options_);
  if (std::ranges::count(options_.paths, "-") > 1) throw UsageError("standard input (-) can be read only once");
  refuse_same_files({.inputs = options_.paths,
                     .output = options_.output,
                     .other_outputs = {options_.dropped},
                     .state = options_.state});
  Monitor monitor;  // before any thread, before any file is made
  load_state();
  reader_.emplace(BatchReader::Options{.paths = options_.paths, .format = format_, .wake_fd = monitor.wake_fd()});
  // From here on: the header may be long in coming.
  monitor.start({.stop = [&] { reader_->stop(); },
                 .show_stats =
                     [&] {
                       stats_wanted_ = true;
                       if (running_) on_tick();
                     },
                 .tick =
                     [&] {
                       if (running_) on_tick();
                     }},
                std::chrono::milliseconds(250));
  const KeyContext context{.format = format_, .header = reader_->header(), .time = options_.time};
  check_key(options_.key, context);
  const bool goes_on = resumed_.has_value();
  chosen_.emplace(choose_filter(options_, *reader_, std::move(resumed_)));
  for (const std::string& warning : chosen_->warnings) talk_.note("warning: " + warning);
  if (time_base() == TimeBase::arrival && reader_->bytes_total())
    talk_.note(
        fmt::format("warning: --window {} goes by the time of arrival, and a file arrives all at once; --time KEY goes "
                    "by the events' own times",
                    window_text(*options_.window)));
  if (const auto audit = choose_audit(options_, *chosen_, goes_on)) audit_.emplace(*audit);
  open_sinks();

  const Hasher hasher(seed_);
  pipeline_.emplace(*reader_, chosen_->filter, hasher,
                    Pipeline::Options{.threads = options_.threads,
                                      .on_bad = options_.on_bad,
                                      .invert = options_.invert,
                                      .clock = {.base = time_base(), .lateness = chosen_->goal.window.lateness},
                                      .on_late = options_.late.value_or(OnLate::pass),
                                      .passed = passed_.get(),
                                      .dropped = dropped_.get(),
                                      .audit = audit_ ? &*audit_ : nullptr,
                                      .separator = format_.separator,
                                      .make_key = [&] { return make_key(options_.key, context); },
                                      .report_bad = [&](const std::string& text) { talk_.bad_record(text); },
                                      .on_failure = [&] { monitor.wake(); }});
  running_ = true;

  std::string output_closed;
  std::exception_ptr failure;
  try {
    pipeline_->run();
  } catch (const ClosedOutput& closed) {
    output_closed = closed.what();
  } catch (...) {
    failure = std::current_exception();
  }
  monitor.finish();
  talk_.end_progress();
  if (!output_closed.empty()) {
    talk_.note(
        fmt::format("{}; stopped{}", output_closed, state_file_ ? ", the last checkpoint of the state stays" : ""));
    return kOk;
  }

  // After a failure to read or a bad record under --on-error fail, what came before is written: keep it if there is a
  // state to go on with, drop it where the output should be complete or absent.
  Counts counts;
  pipeline_->between_batches([&](const Counts& now, AnyFilter&) { counts = now; });
  if (failure && (!state_file_ || pipeline_->remembers_unwritten())) std::rethrow_exception(failure);
  finish_outputs();
  if (state_file_) save_state(counts);
  if (failure) std::rethrow_exception(failure);

  if (options_.count) {
    const std::uint64_t bad = options_.on_bad == OnBadRecord::pass ? counts.bad_records : 0;
    fmt::print("{}\n", (options_.invert ? counts.duplicates : counts.distinct) + bad);
  }
  warn_if_past_goal();
  warn_if_shrunk(counts);
  show(counts, monitor.stop_signal() != 0);
  if (monitor.stop_signal() != 0) {
    state_file_.reset();  // gives the lock back
    std::fflush(stdout);
    Monitor::die_by(monitor.stop_signal());
  }
  return kOk;
}

}  // namespace

std::unique_ptr<Command> make_dedup() { return std::make_unique<Dedup>(); }

}  // namespace nodup::cli
