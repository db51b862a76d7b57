// SPDX-License-Identifier: Apache-2.0
#include "cli/dedup_options.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/filter_choice.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

std::string time_key(const std::string& value) {
  if (value.empty()) throw Error("where does the time stand? Write e.g. json:ts or col:3");
  return value;
}

double audit_share(const std::string& value) {
  if (value == "off") return 0;
  double share = 0;
  try {
    share = read_probability(value);
  } catch (const Error&) {
    throw Error(fmt::format("`{}` is no share of the keys: write e.g. 1/1024, 0.001 or 0.1%, or off", value));
  }
  if (share == 0) throw Error(fmt::format("a share of {} would follow no key: write e.g. 1/1024, or off", value));
  return share;
}

std::string filter_details() {
  std::string text;
  for (const Kind& kind : filter_kinds())
    text += fmt::format("{}: {}; errors: {}\n", kind.name, kind.summary, kind.errors);
  return text;
}

std::vector<std::string> filter_names() {
  std::vector<std::string> names;
  for (const Kind& kind : filter_kinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace

// THE list of the main job's flags: parser, help, man page and completions follow it.
std::vector<Flag> dedup_flags(DedupOptions& o) {
  using S = const std::string&;
  const std::string what = "What is the same", window = "Window", out = "Output", error = "Error and memory",
                    state = "State", talk = "Reporting";
  std::vector<Flag> flags = {
      key_flag(o.key, what, "what makes two events the same (default: the whole line)"),
      {"-w,--window", "SPAN", window,
       "only events of the last SPAN count: a time (24h, 90s) or a number of records (10M)",
       "An event is a duplicate if its key was passed at most SPAN before it. A bare number and k, M, G are records; "
       "ms, "
       "s, m, h, d, w are times. Times are those of arrival, unless --time is given.",
       [&](S v) { o.window = read_window(v); }, true},
      {"--time", "KEY", window, "the window goes by the events' own time, e.g. json:ts or col:3",
       "Seconds, milliseconds, microseconds or nanoseconds since 1970, or RFC 3339. A time beyond the clock of this "
       "machine plus --lateness makes a bad record.",
       [&](S v) { o.time = time_key(v); }, true},
      {"--refresh", "", window, "the window counts from when a key was last seen, not from when it passed", "",
       [&](S) { o.refresh = true; }},
      {"--lateness", "TIME", window, "with --time: judge events up to this much out of order (default 0)",
       "By their own time: the filter keeps SPAN plus TIME.", [&](S v) { o.lateness = read_duration(v); }},
      {"--late",
       "POLICY",
       window,
       "new events later than that: pass (default) or drop",
       "A late event whose key is still known is a duplicate under either. `drop` does not remember what it drops.",
       [&](S v) {
         o.late = choice<OnLate>(v, {{"pass", OnLate::pass}, {"drop", OnLate::drop}});
       },
       false,
       {"pass", "drop"}},
      {"--slack", "SHARE", window, "keys may be remembered longer than SPAN by this share of it (default 8%)",
       "Less slack takes more memory.", [&](S v) { o.slack = read_slack(v); }},
      {"--rate", "RATE", window, "how many events to expect per time, e.g. 50k/s",
       "With SPAN it sizes the filter of a window of time.",
       [&](S v) {
         o.rate = read_rate(v);
         if (*o.rate <= 0) throw Error("a rate of 0 would have nothing to hold");
       }},
      {"--compact", "", window, "the least memory instead of the best speed", "", [&](S) { o.compact = true; }},
  };
  std::ranges::move(record_flags(o), std::back_inserter(flags));
  std::ranges::move(
      std::vector<Flag>{
          on_error_flag(o.on_bad, "records without a key: pass (default), drop or fail",
                        "Broken JSON, a missing field, a short row. They are counted, and the first few are shown with "
                        "their place. "
                        "`pass` never loses an event."),
          {"-o,--output", "FILE", out, "write to FILE instead of standard output",
           "Without --state FILE appears when the run has ended, also by Ctrl-C; a run that fails leaves none. With a "
           "state it is appended to.",
           [&](S v) { o.output = file_name(v); }, true},
          {"-D,--dropped", "FILE", out, "write what is not passed on to FILE", "",
           [&](S v) { o.dropped = file_name(v); }, true},
          {"-i,--invert", "", out, "pass the duplicates, drop the first occurrences", "", [&](S) { o.invert = true; }},
          {"-c,--count", "", out, "print only the number of records that would pass", "", [&](S) { o.count = true; }},
          {"-e,--error", "RATE", error, "chance that a new event is dropped, at the worst moment (default 1e-6)",
           "A probability: 1e-6, 0.1%, 1/1000. 0 means exact. A duplicate never passes, unless --memory makes the "
           "filter "
           "forget.",
           [&](S v) { o.error = error_rate(v); }, true},
          {"-n,--events", "COUNT", error, "how many events to expect, e.g. 10M or 1e9",
           "Sizes the filter. Regular files tell by their size; without either the filter grows as it must. With a "
           "window "
           "of time: how many within the window.",
           [&](S v) { o.events = read_count(v); }},
          {"-m,--memory", "SIZE", error, "a hard ceiling for the filter, e.g. 512M",
           "The error is kept for a stream of any length: when the filter is full it forgets the oldest keys, and "
           "their "
           "duplicates pass. Nothing is forgotten where --events tells how many come and all of them fit. With "
           "--window "
           "the window shrinks, and a warning says so. With --filter NAME a goal that does not fit is refused.",
           [&](S v) { o.memory = memory_limit(v); }, true},
          {"--degrade", "", error, "with --memory: never forget, but go on with a higher error", "",
           [&](S) { o.degrade = true; }},
          {"--filter", "NAME", error,
           fmt::format("the filter to use (default: {}; with --window {}, with --memory {})", kDefaultKind,
                       kDefaultWindowKind, kDefaultEndlessKind),
           filter_details(), [&](S v) { o.filter = filter_kind(v).name; }, false, filter_names()},
          {"--state", "FILE", state, "go on where the last run with FILE stopped; saved at the end and on Ctrl-C",
           "Output first, state second: after a crash no event is lost, duplicates of the time since the last "
           "checkpoint "
           "may pass again.",
           [&](S v) { o.state = file_name(v); }, true},
          {"--checkpoint", "TIME", state, "how often the state is saved (default 30s)",
           "Stretched, if need be, so that saving takes less than a twentieth of the time.",
           [&](S v) { o.checkpoint = read_duration(v); }},
          {"--seed", "NUMBER", state, "the seed of the hash; default: 0, or random for a new state", "",
           [&](S v) { o.seed = read_count(v); }},
          {"--audit", "SHARE", talk,
           "follow this share of the keys exactly and report the measured error rates, e.g. 1/1024",
           "Both rates, lost events and duplicates that passed, with 95 % intervals. Takes 6.3 MiB. On at 1/1024 for "
           "filters "
           "that forget by themselves; off otherwise, or with `off`. Not with a --state of an earlier run: the audit "
           "must "
           "see "
           "all events.",
           [&](S v) { o.audit = audit_share(v); }, true},
          threads_flag(o.threads),
          stats_flag(o.stats),
      },
      std::back_inserter(flags));
  std::ranges::move(talk_flags(o.talk), std::back_inserter(flags));
  return flags;
}

}  // namespace nodup::cli
