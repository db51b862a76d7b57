// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/plan.hpp"

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup plan --events 1e9 --error 1e-6", "what a billion events cost"},
    {"nodup plan --rate 50k/s --time 24h --error 0.01%", "a day of a stream"},
    {"nodup plan --events 1e9 --memory 1G", "how wrong a gigabyte would be"},
};

constexpr CommandText kText = {
    .name = "plan",
    .usage = "plan (--events COUNT | --rate RATE --time TIME) [--error RATE] [--memory SIZE] [--json]",
    .summary = "what a filter will cost before you run it",
    .about =
        "Ranks the filters for a goal, the best first, with memory, error and cache lines touched per event. The "
        "error is the chance that a new event is dropped once all events are in; all events are taken as distinct.",
    .examples = kExamples,
};

class PlanCommand final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    using S = const std::string&;
    return {
        {"-n,--events", "COUNT", "Goal", "how many distinct events", "", [&](S v) { events_ = read_count(v); }, true},
        {"--rate", "RATE", "Goal", "or: how many per time, e.g. 50k/s", "", [&](S v) { rate_ = read_rate(v); }, true},
        {"--time", "TIME", "Goal", "and for how long, e.g. 24h", "",
         [&](S v) { time_ = std::chrono::duration<double>(read_duration(v)).count(); }, true},
        {"-e,--error", "RATE", "Goal", "chance that a new event is dropped (default 1e-6)", "",
         [&](S v) {
           error_ = read_probability(v);
           if (error_ >= 1) throw Error("out of range: from 0 (exact) to below 1");
         },
         true},
        {"-m,--memory", "SIZE", "Goal", "no more than this", "", [&](S v) { memory_ = read_bytes(v); }, true},
        {"--json", "", "Output", "one JSON array, the best first", "", [&](S) { json_ = true; }, true}};
  }
  int run() override;

 private:
  std::optional<std::uint64_t> events_;
  std::optional<double> rate_, time_;
  double error_ = 1e-6;
  std::uint64_t memory_ = 0;
  bool json_ = false;
};

std::string facts_text(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

int PlanCommand::run() {
  if (rate_ && time_ && !events_) {
    const double events = *rate_ * *time_;
    if (events > 1e18) throw UsageError("--rate times --time is more than 1e18 events");
    events_ = static_cast<std::uint64_t>(events);
  }
  if (!events_) throw UsageError("how many events? Give --events COUNT, or --rate and --time");
  Goal goal{.keys = *events_, .error = error_, .bytes = memory_};
  std::vector<Plan> plans;
  if (error_ == 0) {
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
          "\"cache_lines_per_event\":{:.4g},\"reaches_goal\":{},\"parameters\":{}}}",
          out.empty() ? "[" : ",\n ", json_string(plan.kind), plan.keys, plan.bytes, plan.rates.false_positive,
          8.0 * static_cast<double>(plan.bytes) / static_cast<double>(plan.keys), plan.lines_per_event, reaches(plan),
          json_string(facts_text(plan.facts)));
    fmt::print("{}]\n", out);
    return kOk;
  }
  fmt::print("{} distinct events, error {:g}{}\n\n", human_count(goal.keys), error_,
             memory_ == 0 ? "" : fmt::format(", at most {}", human_bytes(memory_)));
  fmt::print("{:<14}{:>12}{:>13}{:>12}{:>13}   {}\n", "filter", "memory", "bits/event", "error", "lines/event",
             "parameters");
  for (const Plan& plan : plans)
    fmt::print("{:<14}{:>12}{:>13.1f}{:>12.2g}{:>13.1f}   {}{}\n", plan.kind, human_bytes(plan.bytes),
               8.0 * static_cast<double>(plan.bytes) / static_cast<double>(plan.keys), plan.rates.false_positive,
               plan.lines_per_event, reaches(plan) ? "" : "MISSES THE GOAL  ", facts_text(plan.facts));
  return kOk;
}

}  // namespace

std::unique_ptr<Command> make_plan() { return std::make_unique<PlanCommand>(); }

}  // namespace nodup::cli
