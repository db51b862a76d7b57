// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/window_options.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/sets/saved.hpp"
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

// What there is to tell of a filter or of a set of rows.
struct Shown {
  std::string_view kind, errors;
  std::string_view counted = "keys";  // what `keys` are
  std::uint64_t keys = 0, bytes = 0;
  Rates rates;
  Facts more;  // rows of text that only some have
  std::string window_json = "null";
  Facts facts;
};

// What its filter remembers, if it is a window; the state's note tells whether ticks are records or nanoseconds.
std::optional<WindowSpan> window_of(const SavedFilter& saved) {
  const auto it = saved.notes.find("window");
  if (it == saved.notes.end() || !filter_kind(saved.filter.kind()).ages) return std::nullopt;
  return read_window(it->second);
}

Shown shown(const SavedFilter& saved) {
  const AnyFilter& f = saved.filter;
  const Kind& kind = filter_kind(f.kind());
  Shown shown{.kind = kind.name,
              .errors = kind.errors,
              .keys = f.keys(),
              .bytes = f.bytes(),
              .rates = f.rates(),
              .more = {},
              .facts = f.facts()};
  if (kind.forgets) shown.more.emplace_back("forgotten", fmt::format("{:.3g} of the keys", shown.rates.false_negative));
  if (const std::optional<WindowSpan> window = window_of(saved)) {
    const Tick now = f.window().now;
    shown.more.emplace_back("window", window_text(*window));
    if (const Tick held = f.window().effective; held < window->ticks)
      shown.more.emplace_back("", human_ticks(*window, held) + " held, for want of memory");
    shown.more.emplace_back("clock", window->by_count ? fmt::format("record {}", now) : human_time(now));
    shown.window_json = fmt::format("{{{},\"clock\":{}}}", window_members(make_window_report(*window, f)),
                                    window->by_count ? std::to_string(now) : json_string(human_time(now)));
  }
  return shown;
}

Shown shown(const SavedAttributeSet& saved) {
  return {.kind = AttributeSet::kName,
          .errors = AttributeSet::kErrors,
          .counted = "rows",
          .keys = saved.set.keys(),
          .bytes = saved.set.bytes(),
          .rates = saved.set.rates(),
          .more = {},
          .facts = saved.set.facts()};
}

class Info final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    return {{"--json", "", "Output", "one JSON object per file", "", [&](const std::string&) { json_ = true; }, true}};
  }
  void operand(const std::string& word) override { paths_.push_back(word); }
  int run() override {
    if (paths_.empty()) throw UsageError("which file? `nodup info seen.nodup`");
    for (const std::string& path : paths_)
      std::visit([&](const auto& saved) { print(path, shown(saved), saved.seed, saved.notes); }, load_set_file(path));
    return kOk;
  }

 private:
  void print(const std::string& path, const Shown& shown, std::uint64_t seed, const Notes& notes) const;

  std::vector<std::string> paths_;
  bool json_ = false;
};

std::string json_object(const auto& members) {
  std::string object;
  for (const auto& [name, value] : members)
    object += fmt::format("{}{}:{}", object.empty() ? "" : ",", json_string(name), json_string(value));
  return "{" + object + "}";
}

void Info::print(const std::string& path, const Shown& shown, std::uint64_t seed, const Notes& notes) const {
  if (json_) {
    fmt::print(
        "{{\"file\":{},\"filter\":{},\"keys\":{},\"memory_bytes\":{},\"error\":{:.6g},\"false_negative\":{:.6g},"
        "\"seed\":{},\"parameters\":{},\"notes\":{},\"window\":{}}}\n",
        json_string(path), json_string(shown.kind), shown.keys, shown.bytes, shown.rates.false_positive,
        shown.rates.false_negative, seed, json_object(shown.facts), json_object(notes), shown.window_json);
    return;
  }
  const auto row = [](std::string_view name, const std::string& value) { fmt::print("{:<14}{}\n", name, value); };
  row("file", path);
  row("filter", std::string(shown.kind));
  row("errors", std::string(shown.errors));
  row(shown.counted, std::to_string(shown.keys));
  row("memory", human_bytes(shown.bytes));
  row("error now", fmt::format("{:.3g}", shown.rates.false_positive));
  for (const auto& [name, value] : shown.more) row(name, value);
  row("seed", std::to_string(seed));
  for (const auto& [name, value] : shown.facts) row("", fmt::format("{}: {}", name, value));
  for (const auto& [name, value] : notes) row("note", fmt::format("{}: {}", name, value));
}

}  // namespace

std::unique_ptr<Command> make_info() { return std::make_unique<Info>(); }

}  // namespace nodup::cli
