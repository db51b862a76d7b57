// SPDX-License-Identifier: Apache-2.0
#include "cli/filter_choice.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "nodup/filters/registry.hpp"
#include "nodup/plan/plan.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr double kDefaultError = 1e-6;

// Of a stream whose length nobody knows: 40 MiB at the default error. Smaller would make every key of a long stream be
// looked up in one stage more. A state is written again and again, small ones, too: half of that.
constexpr std::uint64_t kFirstKeys = 8'000'000;
constexpr std::uint64_t kFirstKeysOfState = kFirstKeys / 2;

// Of a window of time at an unknown rate: less, because tables that were too small go when their keys are forgotten.
constexpr std::uint64_t kFirstWindowKeys = 150'000;
constexpr std::uint64_t kMostFirstWindowKeys = 200'000'000;  // under --memory: about a gigabyte

// Speed is worth this much memory, as a factor.
constexpr double kDearer = 1.15;

// Of a filter that forgets, for a file: room for 5 million keys at the default error.
constexpr std::uint64_t kLeastOfAFile = 16 << 20;

std::string rate(double error) { return fmt::format("{:.2g}", error); }

// How bytes become records and columns, as far as it decides what a key is.
std::string records_note(const DedupOptions& options) {
  const RecordFormat format = record_format(options);
  std::string text = format.separator == '\0' ? "null" : "lines";
  if (format.delimiter != 0) text += fmt::format(" delimiter {:#04x}", static_cast<unsigned char>(format.delimiter));
  return format.quoted ? text + " quoted" : text;
}

std::uint64_t number(const std::map<std::string, std::string>& notes, const std::string& name) {
  std::uint64_t value = 0;
  if (const auto it = notes.find(name); it != notes.end())
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  return value;
}

double noted_error(const SavedFilter& state) {
  const auto it = state.notes.find("error");
  return it == state.notes.end() ? kDefaultError : read_probability(it->second);
}

// "1e-9 for 1e9 events needs X, you gave Y; Y gives these rates"
[[noreturn]] void refuse(const Goal& goal, const Plan& needed, const Plan& possible) {
  if (goal.error == 0)
    throw Error(
        fmt::format("an exact set of {} events needs up to {}, --memory allows {}.\n"
                    "  Give more memory, an --error above 0, or add --degrade to try: it fails only when more are "
                    "distinct than fit.",
                    human_count(goal.keys), human_bytes(needed.bytes), human_bytes(goal.bytes)));
  throw Error(
      fmt::format("an error of {:g} for {} events needs {} ({}), --memory allows {}.\n"
                  "  With {} a new event would be dropped with probability {} at the end.\n"
                  "  Give more memory, accept a larger --error, add --degrade to go on with that, or take --filter {}, "
                  "which keeps the error and lets duplicates of long ago pass.",
                  goal.error, human_count(goal.keys), human_bytes(needed.bytes), needed.kind, human_bytes(goal.bytes),
                  human_bytes(possible.bytes), rate(possible.rates.false_positive), kDefaultEndlessKind));
}

// Kinds that forget take any number of keys in the memory there is: nothing to refuse. If COUNT is told they are fitted
// for that many; a guess from the size of a file will not do, since more may come than was guessed.
ChosenFilter choose_endless_filter(const DedupOptions& options, const Kind& kind, BatchReader& reader) {
  if (!options.memory && !options.events)
    throw UsageError(
        fmt::format("--filter {} forgets, to stay within its memory: add --memory SIZE or --events COUNT", kind.name));
  Goal goal{.keys = options.events.value_or(0),
            .error = options.error.value_or(kDefaultError),
            .bytes = options.memory.value_or(0)};
  const auto bytes_for = [&](std::uint64_t keys) { return kind.plan({.keys = keys, .error = goal.error}).bytes; };
  std::vector<std::string> warnings;
  if (const auto guess = options.events ? options.events : reader.estimated_records();
      options.memory && guess && bytes_for(*guess) > *options.memory)
    warnings.push_back(
        fmt::format("{} cannot hold {} events at this error: should most of them be distinct, duplicates of events "
                    "long ago will pass. {} would hold all.",
                    human_bytes(*options.memory), human_count(*guess), human_bytes(bytes_for(*guess))));
  // Of a small file no more memory is taken than it can ever need, and a little more, should it still grow.
  if (!options.events && options.state.empty() && options.paths.size() == 1)
    if (const auto most = reader.most_distinct())
      goal.bytes = std::min(goal.bytes, std::max(bytes_for(*most), kLeastOfAFile));
  return {.filter = kind.make(goal), .goal = goal, .warnings = std::move(warnings)};
}

// What --memory alone means: a filter that forgets rather than lose events. Only who tells how many will come gets one
// that forgets nothing, if these fit: a guess from the size of a file may be far off, and a state sees other inputs.
bool needs_endless(const DedupOptions& options, const Kind& kind) {
  if (!options.memory || options.filter || options.degrade || options.error == 0.0) return false;
  if (!options.events) return true;
  const Goal free{.keys = *options.events, .error = options.error.value_or(kDefaultError)};
  return kind.plan(free).bytes > *options.memory;
}

// The notes of a state about its window, in the order they are compared; those that do not apply are left out.
constexpr std::pair<std::string_view, std::string_view> kWindowNotes[] = {{"window", "--window"},
                                                                          {"time", "--time"},
                                                                          {"lateness", "--lateness"},
                                                                          {"refresh", "--refresh"},
                                                                          {"slack", "--slack"}};

std::map<std::string, std::string> window_notes(const DedupOptions& options) {
  std::map<std::string, std::string> notes;
  if (!options.window) return notes;
  const Window window = asked_window(options);
  notes["window"] = window_text(*options.window);
  notes["slack"] = fmt::format("{}", window.slack);
  if (!options.time.empty()) notes["time"] = options.time;
  if (window.lateness > 0) notes["lateness"] = duration_text(window.lateness);
  if (window.refresh) notes["refresh"] = "on";
  return notes;
}

// The flags of the window are to be given every time, but for the slack, which is the filter's own.
void check_resumed_window(const DedupOptions& options, const std::map<std::string, std::string>& saved) {
  const std::map<std::string, std::string> asked = window_notes(options);
  for (const auto& [name, flag] : kWindowNotes) {
    const auto of = [name = std::string(name)](const auto& notes) {
      const auto it = notes.find(name);
      return it == notes.end() ? std::string() : it->second;
    };
    if (of(saved) == of(asked) || (name == "slack" && !options.slack && options.window)) continue;
    const auto shown = [flag = flag](const std::string& value) {
      return value.empty()   ? fmt::format("without {}", flag)
             : value == "on" ? fmt::format("with {}", flag)
                             : fmt::format("with {} {}", flag, value);
    };
    throw Error(fmt::format("the state {} was made {}, this run is {}: give the same flags, or another --state",
                            options.state, shown(of(saved)), shown(of(asked))));
  }
}

// In whole ticks: a window of three records can only be exact.
bool is_more_slack(double slack, const Window& asked) {
  return slack > 1.001 * asked.slack && slack * static_cast<double>(asked.span) > 1.5;
}

// --compact, or so little slack that the default cannot keep to it, or only with much more memory.
std::string_view window_kind(const DedupOptions& options) {
  const Goal goal{.keys = 1'000'000,
                  .error = options.error.value_or(kDefaultError),
                  .window = asked_window(options),
                  .compact = options.compact};
  const Plan usual = filter_kind(kDefaultWindowKind).plan(goal), other = filter_kind(kCompactWindowKind).plan(goal);
  const bool too_dear = static_cast<double>(usual.bytes) > kDearer * static_cast<double>(other.bytes);
  return options.compact || is_more_slack(usual.slack, goal.window) || too_dear ? kCompactWindowKind
                                                                                : kDefaultWindowKind;
}

std::string kind_for(const DedupOptions& options) {
  if (options.error == 0.0) {
    if (options.filter && *options.filter != "exact")
      throw UsageError(fmt::format("--error 0 means --filter exact, not {}", *options.filter));
    return "exact";
  }
  if (options.filter) return *options.filter;
  return std::string(options.window ? window_kind(options) : kDefaultKind);
}

// How many keys the window may have to hold, as far as the flags tell.
std::optional<std::uint64_t> keys_within(const DedupOptions& options) {
  const WindowSpan& span = *options.window;
  if (options.rate) return events_in(*options.rate, static_cast<double>(span.ticks) / 1e9, "--window");
  if (span.by_count) return std::min(span.ticks, options.events.value_or(span.ticks));
  return options.events;
}

// Within --memory the error is kept, and the window shrinks if it must: a stream that has no end cannot be refused.
ChosenFilter choose_window_filter(const DedupOptions& options, const Kind& kind, BatchReader& reader) {
  const WindowSpan& span = *options.window;
  const std::optional<std::uint64_t> told = keys_within(options);
  if (!told && !kind.grows)
    throw UsageError(
        fmt::format("--filter {} has a fixed size and the number of events within {} is unknown: add --rate RATE, e.g. "
                    "1k/s, or --events COUNT",
                    kind.name, window_text(span)));
  Goal goal{.keys = told.value_or(kFirstWindowKeys),
            .error = options.error.value_or(kDefaultError),
            .bytes = options.memory.value_or(0),
            .window = asked_window(options),
            .compact = options.compact};
  // A guess, so only for kinds that can make it good. A state will see other inputs.
  if (kind.grows && !options.rate && !options.events && options.state.empty())
    goal.keys = std::min(goal.keys, reader.estimated_records().value_or(goal.keys));
  goal.keys = std::max<std::uint64_t>(goal.keys, 1);

  Goal fit = goal;
  std::vector<std::string> warnings;
  // At an unknown rate the whole of the memory, up to a size from where growing is soon enough.
  if (options.memory)
    fit.keys = std::clamp<std::uint64_t>(most_keys(kind, goal), 1, told ? goal.keys : kMostFirstWindowKeys);
  if (told && fit.keys < goal.keys && kind.keeps_window)
    throw Error(
        fmt::format("{} keys at an error of {:g} do not fit --memory {}, and {} would not shorten the window but lose "
                    "events: give more "
                    "memory or a larger --error, or take --filter {}",
                    human_count(goal.keys), goal.error, human_bytes(*options.memory), kind.name, kDefaultWindowKind));
  if (told && fit.keys < goal.keys) {
    const double share = static_cast<double>(fit.keys) / static_cast<double>(goal.keys);
    warnings.push_back(
        fmt::format("{} hold {} keys at this error, the window may have {}: it will then shrink to about {} of {}. "
                    "More --memory or "
                    "a larger --error would keep it.",
                    human_bytes(*options.memory), human_count(fit.keys), human_count(goal.keys),
                    human_ticks(span, static_cast<Tick>(share * static_cast<double>(span.ticks))), window_text(span)));
  }
  const double slack = kind.plan(fit).slack;
  if (is_more_slack(slack, goal.window))
    warnings.push_back(
        fmt::format("keys will be remembered up to {:.3g} % longer than the window, not {:.3g} % as asked: {} cannot "
                    "tell apart more "
                    "pieces of SPAN and --lateness",
                    100 * slack, 100 * goal.window.slack, kind.name));
  return {kind.make(fit), goal, slack, std::move(warnings)};
}

}  // namespace

ChosenFilter choose_filter(const DedupOptions& options, BatchReader& reader, std::optional<SavedFilter> resumed) {
  if (resumed) {
    Goal goal{.error = noted_error(*resumed), .bytes = options.memory.value_or(0), .window = asked_window(options)};
    ChosenFilter chosen{std::move(resumed->filter), goal};
    if (options.memory && chosen.filter.bytes() > *options.memory)
      throw Error(fmt::format("the state's filter holds {}, more than --memory {}", human_bytes(chosen.filter.bytes()),
                              human_bytes(*options.memory)));
    chosen.filter.limit_memory(goal.bytes);
    return chosen;
  }

  const Kind& kind = filter_kind(kind_for(options));
  if (options.window) return choose_window_filter(options, kind, reader);
  if (kind.forgets) return choose_endless_filter(options, kind, reader);
  const bool exact = kind.name == "exact";
  Goal goal{.error = options.error.value_or(kDefaultError), .bytes = options.memory.value_or(0)};
  if (exact) goal.error = options.error.value_or(0);
  const std::optional<std::uint64_t> known = options.events ? options.events : reader.estimated_records();
  if (needs_endless(options, kind)) return choose_endless_filter(options, filter_kind(kDefaultEndlessKind), reader);
  if (!known && !kind.grows)
    throw UsageError(
        fmt::format("--filter {} has a fixed size and the number of events is unknown: add --events COUNT", kind.name));
  goal.keys = std::max<std::uint64_t>(known.value_or(options.state.empty() ? kFirstKeys : kFirstKeysOfState), 1);

  Goal fit = goal;  // exact has no use for a rate, but every plan wants one inside its range
  if (exact) fit.error = kDefaultError;
  if (options.memory) {
    const Plan possible = kind.plan(fit);
    Goal free = fit;
    free.bytes = 0;
    const Plan needed = kind.plan(free);
    if (known && needed.bytes > *options.memory && !options.degrade) refuse(goal, needed, possible);
    // Without a known length: a first stage that keeps the error, as many keys as that may be.
    if (!known && needed.bytes > *options.memory) fit.keys = most_keys(kind, fit);
    fit.keys = std::max<std::uint64_t>(fit.keys, 1);
  }
  // An exact set grows from small: the number of events says little about the number of distinct keys.
  if (exact) fit.keys = 1;
  return {kind.make(fit), goal};
}

// On by itself for filters that forget: there the rates depend on the stream, and no theory knows it.
std::optional<Audit::Options> choose_audit(const DedupOptions& options, const ChosenFilter& chosen, bool resumed) {
  const double share = options.audit.value_or(filter_kind(chosen.filter.kind()).forgets ? Audit::kDefaultRate : 0);
  if (share == 0) return std::nullopt;
  if (resumed && options.audit)
    throw UsageError(
        fmt::format("--audit must see all events from the first on, and the state {} knows keys of earlier runs: leave "
                    "--audit out, or start a new --state",
                    options.state));
  if (resumed) return std::nullopt;
  Audit::Options audit{.rate = share, .window = chosen.goal.window};
  audit.window.slack = std::max(audit.window.slack, chosen.slack);
  return audit;
}

void check_resumed(const DedupOptions& options, const SavedFilter& state) {
  const auto differs = [&](std::string_view what, const std::string& saved, const std::string& asked,
                           std::string_view flag) {
    throw Error(fmt::format("the state {} was made with {} {}, this run asks for {}: give {} {}, or another --state",
                            options.state, what, saved, asked, flag, saved));
  };
  const auto key = state.notes.find("key");
  if (key == state.notes.end())
    throw Error(fmt::format("{} is a saved filter but not the state of a stream", options.state));
  if (state.notes.contains("compare"))
    throw Error(fmt::format(
        "{} is a set made by `nodup set`, which compares keys in another way than a stream does: ask it with "
        "`nodup match`, or give another --state",
        options.state));
  if (key->second != options.key) differs("the key", key->second, options.key, "--key");
  const auto records = state.notes.find("records");
  if (records == state.notes.end() || records->second != records_note(options))
    throw Error(
        fmt::format("the state {} was made for records of the form `{}`, this run reads `{}`: give the same --csv, "
                    "--tsv, --delimiter and --null, or another --state",
                    options.state, records == state.notes.end() ? "unknown" : records->second, records_note(options)));
  check_resumed_window(options, state.notes);
  const double error = noted_error(state);
  if (options.error && *options.error != error)
    differs("the error", fmt::format("{:g}", error), fmt::format("{:g}", *options.error), "--error");
  if (options.filter && *options.filter != state.filter.kind())
    differs("the filter", std::string(state.filter.kind()), *options.filter, "--filter");
  if (options.seed && *options.seed != state.seed)
    differs("the seed", std::to_string(state.seed), std::to_string(*options.seed), "--seed");
}

std::map<std::string, std::string> state_notes(const DedupOptions& options, const ChosenFilter& chosen,
                                               const std::map<std::string, std::string>& before, const Counts& counts) {
  std::map<std::string, std::string> notes = window_notes(options);
  // The slack may have been left to the state.
  if (const auto it = before.find("slack"); it != before.end()) notes["slack"] = it->second;
  notes.merge(std::map<std::string, std::string>{
      {"key", options.key},
      {"records", records_note(options)},
      {"error", fmt::format("{}", chosen.goal.error)},  // the shortest text that reads as the same number
      {"version", NODUP_VERSION},
      {"events", std::to_string(number(before, "events") + counts.events)},
      {"distinct", std::to_string(number(before, "distinct") + counts.distinct)},
      {"duplicates", std::to_string(number(before, "duplicates") + counts.duplicates)},
      {"bad_records", std::to_string(number(before, "bad_records") + counts.bad_records)}});
  if (options.window) notes["late"] = std::to_string(number(before, "late") + counts.late);
  return notes;
}

}  // namespace nodup::cli
