// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/plan.hpp"

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/window_options.hpp"
#include "nodup/plan/forecast.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup plan --events 1e9 --error 1e-6", "what a billion events cost"},
    {"nodup plan --rate 50k/s --time 24h --error 0.01%", "a day of a stream"},
    {"nodup plan --events 1e9 --memory 1G", "how wrong a gigabyte would be"},
    {"nodup plan --memory 64M --distinct 600M --events 1e9", "what an endless stream loses and passes in 64 MiB"},
    {"nodup plan --memory 64M --distinct 600M --events 1e9 --error 5%", "the same, if 5 % of new events may be lost"},
    {"nodup plan --window 24h --rate 50k/s --error 1e-4", "a sliding window of a day"},
    {"nodup plan --window 10M", "of ten million records"},
};

constexpr CommandText kText = {
    .name = "plan",
    .usage = "plan (--events COUNT | --rate RATE --time TIME | --window SPAN) [FLAGS]",
    .summary = "what a filter will cost before you run it",
    .about =
        "Ranks the filters for a goal, the best first, with memory, error and cache lines touched per event. The "
        "error is the chance that a new event is dropped once all events are in; all events are taken as distinct. "
        "With --window: the filters that hold a sliding window, for the events within it, and their slack: by how much "
        "longer than the window a key may be remembered. With --distinct and --memory: what each filter that keeps "
        "within the memory would lose and pass over the whole of a long stream.",
    .examples = kExamples,
};

constexpr const char* kDistinctDetail =
    "Every filter but those for windows, made as for --events COUNT and tried on a stream and in a memory that are "
    "smaller "
    "in the same proportion; duplicates come at any distance. Shown are the shares of new events that are lost, of "
    "duplicates that pass, and of all events that are judged wrongly. First come the filters that lose no more than "
    "--error, by the duplicates they pass; then the others, by their wrong judgements.";

class PlanCommand final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    using S = const std::string&;
    return {
        {"-n,--events", "COUNT", "Goal", "how many events; all distinct, but for --distinct", "",
         [&](S v) { events_ = read_count(v); }, true},
        {"--rate", "RATE", "Goal", "or: how many per time, e.g. 50k/s", "", [&](S v) { rate_ = read_rate(v); }, true},
        {"--time", "TIME", "Goal", "and for how long, e.g. 24h", "",
         [&](S v) { time_ = std::chrono::duration<double>(read_duration(v)).count(); }, true},
        {"--distinct", "COUNT", "Goal", "so many of the events are distinct: the rates of each filter within --memory",
         kDistinctDetail, [&](S v) { distinct_ = read_count(v); }, true},
        {"-w,--window", "SPAN", "Goal", "a sliding window: a time (24h; with --rate or --events) or records (10M)", "",
         [&](S v) { window_ = read_window(v); }, true},
        {"--slack", "SHARE", "Goal", "keys may be remembered longer than SPAN by this share of it (default 8%)", "",
         [&](S v) { slack_ = read_slack(v); }},
        {"--lateness", "TIME", "Goal", "of a window of time: events may be this much out of order (default 0)", "",
         [&](S v) { lateness_ = read_duration(v); }},
        {"--compact", "", "Goal", "with --window: the least memory instead of the best speed", "",
         [&](S) { compact_ = true; }},
        {"-e,--error", "RATE", "Goal", "chance that a new event is dropped (default 1e-6)", "",
         [&](S v) {
           error_ = read_probability(v);
           if (*error_ >= 1) throw Error("out of range: from 0 (exact) to below 1");
         },
         true},
        {"-m,--memory", "SIZE", "Goal", "no more than this", "", [&](S v) { memory_ = read_bytes(v); }, true},
        {"--json", "", "Output", "one JSON array, the best first", "", [&](S) { json_ = true; }, true}};
  }
  int run() override;

 private:
  double error() const { return error_.value_or(1e-6); }
  Goal goal() const;
  LongStream long_stream(const Goal& goal) const;
  int print_plans(Goal goal) const;
  int print_forecasts(const Goal& goal, const LongStream& stream) const;

  std::optional<std::uint64_t> events_;
  std::optional<std::uint64_t> distinct_;
  std::optional<double> rate_, time_;
  std::optional<WindowSpan> window_;
  std::optional<double> slack_;
  std::optional<std::chrono::nanoseconds> lateness_;
  bool compact_ = false;
  std::optional<double> error_;
  std::uint64_t memory_ = 0;
  bool json_ = false;
};

std::string facts_text(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

Goal PlanCommand::goal() const {
  Goal goal{.error = error(), .bytes = memory_, .compact = compact_};
  if (!window_) {
    if (slack_ || lateness_ || compact_)
      throw UsageError("--slack, --lateness and --compact are about a window: add --window SPAN, e.g. --window 1h");
    if (!events_ && !(rate_ && time_)) throw UsageError("how many events? Give --events COUNT, or --rate and --time");
    goal.keys = events_ ? *events_ : events_in(*rate_, *time_, "--time");
    return goal;
  }
  if (time_) throw UsageError("--time says how long an endless filter runs, --window how long one remembers: give one");
  if (error() == 0) throw UsageError("window filters are not exact: give an --error above 0, e.g. 1e-15");
  if (window_->by_count && (rate_ || lateness_))
    throw UsageError(fmt::format("--window {} counts records: leave --rate and --lateness out", window_->ticks));
  if (window_->by_count)
    goal.keys = std::min(window_->ticks, events_.value_or(window_->ticks));
  else if (!events_ && !rate_)
    throw UsageError(fmt::format("how many events come within {}? Give --rate RATE, e.g. 50k/s, or --events COUNT",
                                 window_text(*window_)));
  else
    goal.keys = events_ ? *events_ : events_in(*rate_, static_cast<double>(window_->ticks) / 1e9, "--window");
  goal.window.span = window_->ticks;
  goal.window.slack = slack_.value_or(goal.window.slack);
  goal.window.lateness = static_cast<Tick>(lateness_.value_or(std::chrono::nanoseconds(0)).count());
  return goal;
}

LongStream PlanCommand::long_stream(const Goal& goal) const {
  if (window_) throw UsageError("--distinct is about a stream without a window: leave it or --window out");
  if (memory_ == 0)
    throw UsageError(
        "how much memory? --distinct asks what a long stream loses and passes within it: add --memory SIZE");
  if (*distinct_ == 0 || *distinct_ > goal.keys)
    throw UsageError(
        fmt::format("--distinct {} of --events {}: from 1 to all of them can be distinct", *distinct_, goal.keys));
  if (error() == 0) throw UsageError("an endless stream in fixed memory cannot be exact: give an --error above 0");
  return {.events = goal.keys, .distinct = *distinct_};
}

int PlanCommand::run() {
  Goal goal = this->goal();
  if (!distinct_) return print_plans(goal);
  const LongStream stream = long_stream(goal);
  goal.keys = stream.distinct;
  return print_forecasts(goal, stream);
}

int PlanCommand::print_forecasts(const Goal& goal, const LongStream& stream) const {
  const std::vector<Forecast> forecasts = ranked_forecasts(goal, stream);
  const auto misses = [&](const Forecast& f) { return f.false_positive > goal.error; };
  if (json_) {
    std::string out;
    for (const Forecast& f : forecasts)
      out += fmt::format(
          "{}{{\"filter\":{},\"events\":{},\"distinct\":{},\"memory_bytes\":{},\"false_positive\":{:.4g},"
          "\"false_negative\":{:.4g},\"false_negative_below\":{},\"wrong\":{:.4g},\"cache_lines_per_event\":{:.4g},"
          "\"reaches_goal\":{},\"parameters\":{}}}",
          out.empty() ? "[" : ",\n ", json_string(f.plan.kind), stream.events, stream.distinct, f.plan.bytes,
          f.false_positive, f.false_negative, f.none_below > 0 ? fmt::format("{:.4g}", f.none_below) : "null", f.wrong,
          f.plan.lines_per_event, !misses(f), json_string(facts_text(f.plan.facts)));
    fmt::print("{}]\n", out);
    return kOk;
  }
  // A million events tell no more digits.
  const auto rate = [](double share) { return fmt::format("{:.{}g}", share, share > 0.01 ? 3 : 2); };
  fmt::print("{} events, {} of them distinct, in {}\n\n", human_count(stream.events), human_count(stream.distinct),
             human_bytes(memory_));
  fmt::print("{:<16}{:>12}{:>13}{:>13}{:>13}{:>13}   {}\n", "filter", "memory", "new lost", "dup. passed",
             "judged wrong", "lines/event", "parameters");
  for (const Forecast& f : forecasts)
    fmt::print("{:<16}{:>12}{:>13}{:>13}{:>13}{:>13.1f}   {}{}\n", f.plan.kind, human_bytes(f.plan.bytes),
               rate(f.false_positive), f.none_below > 0 ? "< " + rate(f.none_below) : rate(f.false_negative),
               rate(f.wrong), f.plan.lines_per_event, error_ && misses(f) ? "MISSES THE GOAL  " : "",
               facts_text(f.plan.facts));
  return kOk;
}

int PlanCommand::print_plans(Goal goal) const {
  std::vector<Plan> plans;
  if (error() == 0) {
    goal.error = 1e-6;
    plans.push_back(filter_kind("exact").plan(goal));
  } else {
    plans = ranked_plans(goal);
  }
  const auto reaches = [&](const Plan& plan) {
    return plan.rates.false_positive <= goal.error && (memory_ == 0 || plan.bytes <= memory_);
  };
  if (json_) {
    std::string out;
    for (const Plan& plan : plans)
      out += fmt::format(
          "{}{{\"filter\":{},\"events\":{},\"memory_bytes\":{},\"error\":{:.6g},\"bits_per_event\":{:.4g},"
          "\"cache_lines_per_event\":{:.4g},\"reaches_goal\":{},\"window\":{},\"slack\":{},\"parameters\":{}}}",
          out.empty() ? "[" : ",\n ", json_string(plan.kind), plan.keys, plan.bytes, plan.rates.false_positive,
          8.0 * static_cast<double>(plan.bytes) / static_cast<double>(plan.keys), plan.lines_per_event, reaches(plan),
          !window_            ? "null"
          : window_->by_count ? window_text(*window_)
                              : json_string(window_text(*window_)),
          window_ ? fmt::format("{:.4g}", plan.slack) : "null", json_string(facts_text(plan.facts)));
    fmt::print("{}]\n", out);
    return kOk;
  }
  const auto slack = [&](const std::string& text) { return window_ ? fmt::format("{:>9}", text) : ""; };
  // The names of window filters are longer.
  const int width = window_ ? 25 : 14;
  fmt::print("{} distinct events{}, error {:g}{}\n\n", human_count(goal.keys),
             window_ ? fmt::format(" within {}", human_ticks(*window_, window_->ticks)) : "", error(),
             memory_ == 0 ? "" : fmt::format(", at most {}", human_bytes(memory_)));
  fmt::print("{:<{}}{:>12}{:>13}{:>12}{:>13}{}   {}\n", "filter", width, "memory", "bits/event", "error", "lines/event",
             slack("slack"), "parameters");
  for (const Plan& plan : plans)
    fmt::print("{:<{}}{:>12}{:>13.1f}{:>12.2g}{:>13.1f}{}   {}{}\n", plan.kind, width, human_bytes(plan.bytes),
               8.0 * static_cast<double>(plan.bytes) / static_cast<double>(plan.keys), plan.rates.false_positive,
               plan.lines_per_event, slack(fmt::format("{:.1f} %", 100 * plan.slack)),
               reaches(plan) ? "" : "MISSES THE GOAL  ", facts_text(plan.facts));
  return kOk;
}

}  // namespace

std::unique_ptr<Command> make_plan() { return std::make_unique<PlanCommand>(); }

}  // namespace nodup::cli
