// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/window_options.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/text/time.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {{"nodup info seen.nodup", "what is in a saved state"},
                                 {"nodup info --json seen.nodup | jq .keys", "for programs"}};

constexpr CommandText kText = {
    .name = "info",
    .usage = "info [--json] FILE...",
    .summary = "what is in a saved state",
    .about = "Loads the file as a run would, so a damaged one is told here. Nothing is changed.",
    .examples = kExamples,
};

class Info final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    return {{"--json", "", "Output", "one JSON object per file", "", [&](const std::string&) { json_ = true; }, true}};
  }
  void operand(const std::string& word) override { paths_.push_back(word); }
  int run() override {
    if (paths_.empty()) throw UsageError("which file? `nodup info seen.nodup`");
    for (const std::string& path : paths_) print(path, load_file(path));
    return kOk;
  }

 private:
  void print(const std::string& path, const SavedFilter& saved) const;

  std::vector<std::string> paths_;
  bool json_ = false;
};

// What its filter remembers, if it is a window; the state's note tells whether ticks are records or nanoseconds.
std::optional<WindowSpan> window_of(const SavedFilter& saved) {
  const auto it = saved.notes.find("window");
  if (it == saved.notes.end() || !filter_kind(saved.filter.kind()).ages) return std::nullopt;
  return read_window(it->second);
}

void Info::print(const std::string& path, const SavedFilter& saved) const {
  const AnyFilter& f = saved.filter;
  const Rates rates = f.rates();
  const std::optional<WindowSpan> window = window_of(saved);
  const Tick now = f.window().now;
  if (json_) {
    std::string parameters, notes;
    for (const auto& [name, value] : f.facts())
      parameters += fmt::format("{}{}:{}", parameters.empty() ? "" : ",", json_string(name), json_string(value));
    for (const auto& [name, value] : saved.notes)
      notes += fmt::format("{}{}:{}", notes.empty() ? "" : ",", json_string(name), json_string(value));
    fmt::print(
        "{{\"file\":{},\"filter\":{},\"keys\":{},\"memory_bytes\":{},\"error\":{:.6g},\"false_negative\":{:.6g},"
        "\"seed\":{},"
        "\"parameters\":{{{}}},\"notes\":{{{}}},\"window\":{}}}\n",
        json_string(path), json_string(f.kind()), f.keys(), f.bytes(), rates.false_positive, rates.false_negative,
        saved.seed, parameters, notes,
        window ? fmt::format("{{{},\"clock\":{}}}", window_members(make_window_report(*window, f)),
                             window->by_count ? std::to_string(now) : json_string(human_time(now)))
               : "null");
    return;
  }
  const auto row = [](std::string_view name, const std::string& value) { fmt::print("{:<14}{}\n", name, value); };
  row("file", path);
  row("filter", std::string(f.kind()));
  row("errors", std::string(filter_kind(f.kind()).errors));
  row("keys", std::to_string(f.keys()));
  row("memory", human_bytes(f.bytes()));
  row("error now", fmt::format("{:.3g}", rates.false_positive));
  if (filter_kind(f.kind()).forgets) row("forgotten", fmt::format("{:.3g} of the keys", rates.false_negative));
  if (window) {
    row("window", window_text(*window));
    if (const Tick held = f.window().effective; held < window->ticks)
      row("", human_ticks(*window, held) + " held, for want of memory");
    row("clock", window->by_count ? fmt::format("record {}", now) : human_time(now));
  }
  row("seed", std::to_string(saved.seed));
  for (const auto& [name, value] : f.facts()) row("", fmt::format("{}: {}", name, value));
  for (const auto& [name, value] : saved.notes) row("note", fmt::format("{}: {}", name, value));
}

}  // namespace

std::unique_ptr<Command> make_info() { return std::make_unique<Info>(); }

}  // namespace nodup::cli
