// SPDX-License-Identifier: Apache-2.0
#include "cli/set_change.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "cli/key_set.hpp"
#include "cli/monitor.hpp"
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

// As many keys of a new set are counted before the set is made, so that it is no larger than it must be: 256 MiB.
constexpr std::size_t kMostGathered = std::size_t{1} << 24;

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
  void take(std::span<const Digest> rows);
  void gather(std::span<const Digest> rows);
  std::uint64_t count_gathered();
  void make_set(std::uint64_t keys);
  void make_of_gathered();
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
  std::optional<KeySet> set_;          // nothing yet: a new one, made when it is known how large
  std::vector<Digest> gathered_;       // keys of a new one
  std::size_t distinct_gathered_ = 0;  // of those, when they were last counted
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
  if (options_.change == Change::remove && !exists)
    throw Error(fmt::format("there is no set {}: `nodup set add` or `nodup set build` make one", typed_.set));
  if (!build && exists) {
    if (options_.error || options_.events || options_.filter || options_.seed)
      throw UsageError(fmt::format(
          "{} is there already: --error, --events, --filter, --erasable and --seed are for new sets", typed_.set));
    set_.emplace(KeySet(*file_.load()));
    refuse_kind();
    set_->use_key(typed_.key, typed_.set);
    seed_ = set_->seed();
    key_ = set_->key();
    return;
  }
  key_ = typed_.key.empty() ? "line" : typed_.key;
  std::random_device random;
  seed_ = options_.seed ? *options_.seed : std::uint64_t{random()} << 32 | random();
  if (!options_.filter) options_.filter = options_.error == 0.0 ? "exact" : build ? kDefaultBuildKind : kDefaultAddKind;
  const Kind& kind = filter_kind(*options_.filter);
  if (kind.ages || kind.forgets)
    throw UsageError(fmt::format("--filter {} forgets keys, and a set must not: take {}, or {} to remove keys again",
                                 kind.name, kDefaultBuildKind, kDefaultAddKind));
  if (options_.error == 0.0 && kind.name != "exact")
    throw UsageError(fmt::format("--error 0 means --filter exact, not {}", kind.name));
}

void SetChange::refuse_kind() const {
  const Kind& kind = set_->kind();
  if (options_.change == Change::remove && !kind.erases)
    throw Error(
        fmt::format("no key can be removed from {}: its filter is {}, which cannot forget one. Sets made by "
                    "`nodup set add` or with --erasable can, and states made with --filter dynamic.",
                    typed_.set, kind.name));
  if (options_.change == Change::add && (kind.ages || kind.forgets))
    throw Error(fmt::format("no key can be added to {}: its filter is {}, which forgets keys, and a set must not",
                            typed_.set, kind.name));
}

// ------------------------------------------------------------------------------------------------ its keys

void SetChange::take(std::span<const Digest> rows) {
  if (!set_ && options_.events) make_set(*options_.events);
  if (!set_) {
    gather(rows);
    return;
  }
  if (options_.change == Change::build)
    set_->insert(rows);
  else
    set_->add(rows);
}

// Many keys come more than once. Where that does not matter (build) only one of each is kept.
void SetChange::gather(std::span<const Digest> rows) {
  gathered_.insert(gathered_.end(), rows.begin(), rows.end());
  if (options_.change == Change::build && gathered_.size() >= std::max<std::size_t>(2 * distinct_gathered_, 1 << 16))
    distinct_gathered_ = count_gathered();
  if (gathered_.size() >= kMostGathered) make_of_gathered();
}

// Leaves them sorted, and those of a set to be built without repetitions.
std::uint64_t SetChange::count_gathered() {
  const auto less = [](const Digest& a, const Digest& b) { return a.lo != b.lo ? a.lo < b.lo : a.hi < b.hi; };
  const auto same = [](const Digest& a, const Digest& b) { return a.lo == b.lo && a.hi == b.hi; };
  std::ranges::sort(gathered_, less);
  if (options_.change == Change::build) {
    const auto repeated = std::ranges::unique(gathered_, same);
    gathered_.erase(repeated.begin(), repeated.end());
    return gathered_.size();
  }
  std::uint64_t distinct = gathered_.empty() ? 0 : 1;
  for (std::size_t i = 1; i < gathered_.size(); ++i) distinct += !same(gathered_[i], gathered_[i - 1]);
  return distinct;
}

void SetChange::make_of_gathered() {
  std::uint64_t keys = count_gathered();
  const bool more_will_come = gathered_.size() >= kMostGathered;
  if (more_will_come && !filter_kind(*options_.filter).grows && !reader_->estimated_records())
    throw UsageError(fmt::format(
        "--filter {} has a fixed size and there are more than {} keys: add --events COUNT, the number of distinct keys",
        *options_.filter, human_count(keys)));
  if (more_will_come) keys = std::max(4 * keys, reader_->estimated_records().value_or(0));
  make_set(keys);
  const std::vector<Digest> keys_so_far = std::exchange(gathered_, {});
  // In pieces: the answers of all at once would be as many again.
  constexpr std::size_t kPiece = 1 << 16;
  for (std::size_t from = 0; from < keys_so_far.size(); from += kPiece)
    take(std::span(keys_so_far).subspan(from, std::min(kPiece, keys_so_far.size() - from)));
}

void SetChange::make_set(std::uint64_t keys) {
  const Kind& kind = filter_kind(*options_.filter);
  const bool exact = kind.name == "exact";
  // exact has no use for a rate, but every plan wants one inside its range.
  const Goal goal{.keys = std::max<std::uint64_t>(keys, 1),
                  .error = exact ? kDefaultSetError : options_.error.value_or(kDefaultSetError)};
  set_.emplace(KeySet::make(kind, goal, exact ? 0 : goal.error, seed_, key_));
}

void SetChange::remove(const Batch& batch) {
  const std::size_t keys = batch.digests.size();
  erased_.resize(keys);
  set_->erase(batch.digests, erased_.data());
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
    throw Error(fmt::format("{}; {} is unchanged, --on-error drop would leave such records out",
                            reader_->describe(batch, batch.bad.front()), typed_.set));
  for (const BadRecord& bad : batch.bad) talk_.bad_record(reader_->describe(batch, bad));
  if (options_.change == Change::remove)
    remove(batch);
  else
    take(batch.digests);
  counts_.records += batch.size() - batch.header;
  counts_.bad_records += batch.bad.size();
  counts_.bytes += batch.bytes.size();
}

void SetChange::warn_if_past_goal() {
  const double goal = set_->error_goal(), reached = set_->filter().rates().false_positive;
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
  const AnyFilter& filter = set_->filter();
  row("set", fmt::format("{}: {}, {} keys, {} on disk", typed_.set, filter.kind(), filter.keys(),
                         human_bytes(std::filesystem::file_size(file_.path()))));
  row("error", fmt::format("{:.3g} (chance that a key looks as if it were in the set)", filter.rates().false_positive));
  return text;
}

std::string SetChange::json_report() const {
  const ChangeCounts& c = counts_;
  const AnyFilter& filter = set_->filter();
  return fmt::format(
      "{{\"change\":{},\"records\":{},\"added\":{},\"removed\":{},\"absent\":{},\"ambiguous\":{},\"bad_records\":{},"
      "\"bytes\":{},\"seconds\":{:.6f},\"key\":{},\"threads\":{},\"set\":{},\"filter\":{},\"filter_keys\":{},"
      "\"memory_bytes\":{},\"file_bytes\":{},\"error\":{:.6g}}}\n",
      json_string(change_name(options_.change)), c.records,
      options_.change == Change::remove ? 0 : c.records - c.bad_records, c.removed, c.absent, c.ambiguous,
      c.bad_records, c.bytes, seconds(), json_string(key_), typed_.threads, json_string(typed_.set),
      json_string(filter.kind()), filter.keys(), filter.bytes(), std::filesystem::file_size(file_.path()),
      filter.rates().false_positive);
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
      set_ ? set_->context(format_, reader_->header()) : KeySet::context_by_text(format_, reader_->header());
  check_key(key_, context);
  if (!options_.refused.empty()) {
    refused_ = file_sink(options_.refused, FileMode::replace, format_.separator);
    splitter_.emplace(Splitter::Options{.dropped = refused_.get(), .separator = format_.separator, .bad_pass = false});
  }
  const Hasher hasher(seed_);
  OrderedBatches(*reader_, {.threads = typed_.threads,
                            .make_prepare = [&]() -> OrderedBatches::Step {
                              return [&, key = std::shared_ptr<Key>(make_key(key_, context))](Batch& batch) {
                                key->extract(batch, hasher);
                                keep_keyed(batch);
                              };
                            },
                            .finish = [&](Batch& batch) { finish(batch); },
                            .on_failure = [&] { monitor.wake(); }})
      .run();
  monitor.finish();
  talk_.end_progress();
  if (monitor.stop_signal() != 0) {
    talk_.note(fmt::format("interrupted: {} is unchanged", typed_.set));
    return kFailure;
  }
  if (!set_) make_of_gathered();
  if (refused_) refused_->finish();
  set_->save(file_);
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
