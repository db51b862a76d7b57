// SPDX-License-Identifier: Apache-2.0
#include "cli/set_change.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "cli/key_set.hpp"
#include "cli/monitor.hpp"
#include "cli/new_set.hpp"
#include "cli/report.hpp"
#include "cli/same_files.hpp"
#include "cli/talk.hpp"
#include "nodup/stream/ordered.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/stream/sinks/sinks.hpp"
#include "nodup/stream/splitter.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostNamed = 5;  // of the keys that could not be removed

struct ChangeCounts {
  std::uint64_t records = 0;  // bad ones included, header rows not
  std::uint64_t bad_records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t removed = 0, absent = 0, ambiguous = 0;
};

class SetChange {
 public:
  SetChange(SetOptions set, ChangeOptions options)
      : typed_(std::move(set)), options_(std::move(options)), file_(typed_.set), format_(record_format(typed_)) {}
  int run(Monitor& monitor);

 private:
  void open();
  void refuse_kind() const;
  void finish(Batch& batch);
  void remove(const Batch& batch);
  void name_kept(const Batch& batch);
  void warn_if_past_goal();
  void show();
  void tick();
  std::string text_report() const;
  std::string json_report() const;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  SetOptions typed_;
  ChangeOptions options_;
  Clock::time_point begin_ = Clock::now();
  StateFile file_;
  std::optional<KeySet> set_;  // nothing yet: it is a new one
  std::optional<NewSet> new_set_;
  std::uint64_t seed_ = 0;
  std::string key_;
  RecordFormat format_;
  std::optional<BatchReader> reader_;
  std::unique_ptr<Sink> refused_;
  std::optional<Splitter> splitter_;
  std::vector<Erased> erased_;
  Answers removed_;
  std::mutex lock_;  // of all below: the monitor asks, too
  ChangeCounts counts_;
  Talk talk_;
  std::uint64_t named_ = 0;  // keys that could not be removed
};

std::string_view change_name(Change change) {
  return change == Change::build ? "build" : change == Change::add ? "add" : "remove";
}

// ------------------------------------------------------------------------------------------------ which set

void SetChange::open() {
  const bool build = options_.change == Change::build;
  const bool exists = std::filesystem::exists(file_.path());
  if (build && exists && !options_.force)
    throw Error(fmt::format("{} is there already: --force puts the new set in its place, `nodup set add` adds to it",
                            typed_.set));
  if (build && exists && !is_saved_file(file_.path()))
    throw Error(fmt::format("{} is no set and no state of nodup: --force replaces nothing else", typed_.set));
  if (options_.change == Change::remove && !exists)
    throw Error(fmt::format("there is no set {}: `nodup set add` or `nodup set build` make one", typed_.set));
  if (!build && exists) {
    if (options_.error || options_.events || options_.filter || options_.seed || options_.attributes)
      throw UsageError(
          fmt::format("{} is there already: --error, --events, --filter, --erasable, --attributes and --seed are for "
                      "new sets",
                      typed_.set));
    set_.emplace(KeySet(*file_.load_set()));
    refuse_kind();
    set_->use_key(typed_.key, {}, options_.change == Change::add ? KeySet::Use::add : KeySet::Use::remove, typed_.set);
    seed_ = set_->seed();
    key_ = set_->key();
    return;
  }
  key_ = typed_.key.empty() ? "line" : typed_.key;
  (void)typed_fields(key_);
  std::random_device random;
  seed_ = options_.seed ? *options_.seed : std::uint64_t{random()} << 32 | random();
  const double error = options_.error.value_or(options_.filter == "exact" ? 0 : kDefaultSetError);
  if (options_.attributes && error == 0)
    throw UsageError("--error 0: there are no exact sets with --attributes; give a small one, e.g. 1e-12");
  if (!options_.filter) options_.filter = error == 0 ? "exact" : build ? kDefaultBuildKind : kDefaultAddKind;
  const Kind& kind = filter_kind(*options_.filter);
  if (kind.ages || kind.forgets)
    throw UsageError(fmt::format("--filter {} forgets keys, and a set must not: take {}, or {} to remove keys again",
                                 kind.name, kDefaultBuildKind, kDefaultAddKind));
  if (error == 0 && kind.name != "exact")
    throw UsageError(fmt::format("--error 0 means --filter exact, not {}", kind.name));
  new_set_.emplace(NewSet::Options{.key = key_,
                                   .filter = *options_.filter,
                                   .attributes = options_.attributes,
                                   .error = error,
                                   .events = options_.events,
                                   .seed = seed_,
                                   .for_changes = !build});
}

void SetChange::refuse_kind() const {
  if (options_.change == Change::remove && !set_->erases())
    throw Error(
        fmt::format("no key can be removed from {}: its filter is {}, which cannot forget one. Sets made by "
                    "`nodup set add` with an --error above 0, or with --erasable, can, and states made with --filter "
                    "dynamic.",
                    typed_.set, set_->kind()));
  if (options_.change == Change::add && (set_->ages() || set_->forgets()))
    throw Error(fmt::format("no key can be added to {}: its filter is {}, which forgets keys, and a set must not",
                            typed_.set, set_->kind()));
}

void SetChange::remove(const Batch& batch) {
  const std::size_t keys = batch.digests.size();
  erased_.resize(keys);
  set_->erase(set_->rows_of(batch), erased_.data());
  counts_.removed += static_cast<std::uint64_t>(std::ranges::count(erased_, Erased::removed));
  counts_.absent += static_cast<std::uint64_t>(std::ranges::count(erased_, Erased::absent));
  counts_.ambiguous += static_cast<std::uint64_t>(std::ranges::count(erased_, Erased::ambiguous));
  name_kept(batch);
  if (!splitter_) return;
  bool* const removed = removed_.room_for(keys);
  std::ranges::transform(erased_, removed, [](Erased answer) { return answer == Erased::removed; });
  splitter_->write(batch, removed, true);
}

// The first few, with their place.
void SetChange::name_kept(const Batch& batch) {
  auto bad = batch.bad.begin();
  std::size_t keyed = 0;
  for (std::size_t record = batch.header; record < batch.size() && named_ <= kMostNamed; ++record) {
    if (bad != batch.bad.end() && bad->index == record) {
      ++bad;
      continue;
    }
    const Erased answer = erased_[keyed++];
    if (answer == Erased::removed) continue;
    if (++named_ > kMostNamed)
      talk_.note("further keys that stay are only counted");
    else
      talk_.note(reader_->describe(
          batch, {record, answer == Erased::absent
                              ? "not removed: its key is not in the set"
                              : "not removed: its key cannot be told from others in the set (ambiguous)"}));
  }
}

// ------------------------------------------------------------------------------------------------ the run

void SetChange::finish(Batch& batch) {
  const std::lock_guard lock(lock_);
  if (!batch.bad.empty() && options_.fail_on_bad)
    throw Error(fmt::format("{}; nothing was changed, --on-error drop would leave such records out",
                            reader_->describe(batch, batch.bad.front())));
  for (const BadRecord& bad : batch.bad) talk_.bad_record(reader_->describe(batch, bad));
  if (options_.change == Change::remove)
    remove(batch);
  else if (new_set_)
    new_set_->take(batch, *reader_);
  else
    set_->add(set_->rows_of(batch));
  counts_.records += batch.size() - batch.header;
  counts_.bad_records += batch.bad.size();
  counts_.bytes += batch.bytes.size();
}

void SetChange::warn_if_past_goal() {
  const double goal = set_->error_goal(), reached = set_->rates().false_positive;
  if (options_.change == Change::remove || goal == 0 || reached <= 1.05 * goal) return;
  talk_.note(
      fmt::format("warning: {} is full: a key that is not in it now looks as if it were with probability {:.2g}, above "
                  "the {:g} it was made for. Build it anew with a larger --events.",
                  typed_.set, reached, goal));
}

std::string SetChange::text_report() const {
  const ChangeCounts& c = counts_;
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  row("records", fmt::format("{}  ({}/s)", c.records, human_count(per_second(c.records, seconds()))));
  if (options_.change == Change::remove) {
    row("removed", std::to_string(c.removed));
    row("absent", fmt::format("{}  (not in the set)", c.absent));
    row("ambiguous", fmt::format("{}  (not to be told from others: they stay)", c.ambiguous));
  } else {
    row("added", std::to_string(c.records - c.bad_records));
  }
  if (c.bad_records > 0) row("bad records", std::to_string(c.bad_records));
  row("time", human_seconds(seconds()));
  row("key", key_);
  row("set", fmt::format("{}: {}, {} {}, {} on disk", typed_.set, set_->kind(), set_->keys(), set_->unit(),
                         human_bytes(std::filesystem::file_size(file_.path()))));
  row("error", fmt::format("{:.3g} (chance that a key looks as if it were in the set)", set_->rates().false_positive));
  return text;
}

std::string SetChange::json_report() const {
  const ChangeCounts& c = counts_;
  return fmt::format(
      "{{\"change\":{},\"records\":{},\"added\":{},\"removed\":{},\"absent\":{},\"ambiguous\":{},\"bad_records\":{},"
      "\"bytes\":{},\"seconds\":{:.6f},\"key\":{},\"threads\":{},\"set\":{},\"filter\":{},\"filter_keys\":{},"
      "\"memory_bytes\":{},\"file_bytes\":{},\"error\":{:.6g}}}\n",
      json_string(change_name(options_.change)), c.records,
      options_.change == Change::remove ? 0 : c.records - c.bad_records, c.removed, c.absent, c.ambiguous,
      c.bad_records, c.bytes, seconds(), json_string(key_), typed_.threads, json_string(typed_.set),
      json_string(set_->kind()), set_->keys(), set_->bytes(), std::filesystem::file_size(file_.path()),
      set_->rates().false_positive);
}

void SetChange::show() {
  if (typed_.talk.quiet || typed_.stats == Stats::none) return;
  std::string text = typed_.stats == Stats::json ? json_report() : text_report();
  text.pop_back();
  talk_.say(text);
}

void SetChange::tick() {
  const std::lock_guard lock(lock_);
  if (!talk_.shows_progress() || counts_.records == 0) return;
  talk_.progress(fmt::format("{} records  {}/s{}", human_count(counts_.records),
                             human_count(per_second(counts_.records, seconds())),
                             time_left(seconds(), reader_->share_taken())));
}

int SetChange::run(Monitor& monitor) {
  talk_.begin(typed_.talk);
  open();
  reader_.emplace(BatchReader::Options{.paths = typed_.paths, .format = format_, .wake_fd = monitor.wake_fd()});
  monitor.start({.stop = [&] { reader_->stop(); }, .show_stats = [&] { tick(); }, .tick = [&] { tick(); }},
                std::chrono::milliseconds(250));
  const KeyContext context =
      set_ ? set_->context(format_, reader_->header()) : new_set_->context(format_, reader_->header());
  check_key(key_, context);
  if (!options_.refused.empty()) {
    refused_ = file_sink(options_.refused, FileMode::replace, format_.separator);
    splitter_.emplace(Splitter::Options{.dropped = refused_.get(), .separator = format_.separator, .bad_pass = false});
  }
  const Hasher hasher(seed_);
  OrderedBatches batches(*reader_, {.threads = typed_.threads,
                                    .make_steps = [&]() -> OrderedBatches::Steps {
                                      return {
                                          .prepare =
                                              [&, key = std::shared_ptr<Key>(make_key(key_, context))](Batch& batch) {
                                                key->extract(batch, hasher);
                                                keep_keyed(batch);
                                              },
                                          .finish = [&](Batch& batch) { finish(batch); }};
                                    },
                                    .on_failure = [&] { monitor.wake(); }});
  std::exception_ptr failure;
  try {
    batches.run();
  } catch (...) {
    failure = std::current_exception();
  }
  monitor.finish();
  talk_.end_progress();
  if (failure) std::rethrow_exception(failure);
  if (monitor.stop_signal() != 0) {
    talk_.note(fmt::format("interrupted: {} is unchanged", typed_.set));
    return kFailure;
  }
  if (new_set_) set_.emplace(new_set_->finish());
  set_->save(file_);
  if (refused_) refused_->finish();  // last: it tells what has become of the set
  if (counts_.records > 0 && counts_.bad_records == counts_.records) talk_.note(set_->no_key_hint());
  warn_if_past_goal();
  show();
  return kOk;
}

}  // namespace

int change_set(SetOptions set, ChangeOptions options) {
  refuse_same_files({.inputs = set.paths, .output = {}, .other_outputs = {options.refused}, .state = set.set});
  Monitor monitor;  // before any thread, before any file is made
  int code = kOk;
  {
    SetChange change(std::move(set), std::move(options));
    code = change.run(monitor);
  }  // gives the lock back
  if (monitor.stop_signal() != 0) Monitor::die_by(monitor.stop_signal());
  return code;
}

}  // namespace nodup::cli
