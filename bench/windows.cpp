// SPDX-License-Identifier: Apache-2.0
//
// What a sliding window costs: every filter that ages, and what people use today, side by side in one run.
//
//   windows                  64 and 512 MB
//   windows --small          a quick look: 4 MB
//   windows --rounds N       rounds per size (default 7)
//   windows --only TEXT      only rows whose name holds TEXT; may be given several times
//   windows --megabytes N    one size only
//
// A count window as long as the memory allows. Each contender is first brought to a full window of distinct events that
// has moved on by a third: that is where its memory is planned for, and there its error is measured, with new keys.
// Then streams half of whose events repeat one of the last window; the clock is read every 64 Ki events, the contenders
// take turns, and the fastest such piece of each counts. At last the same with distinct events only, the dearest
// stream.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.hpp"
#include "bench/window_peers.hpp"
#include "nodup/filters/age_partitioned_blocked.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup::bench {
namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kTimed = std::size_t{64} << 10;  // events between two looks at the clock

struct Options {
  std::vector<std::uint64_t> megabytes = {64, 512};
  std::uint64_t rounds = 7;
  std::vector<std::string> only;

  bool wants(const std::string& name) const {
    return only.empty() ||
           std::ranges::any_of(only, [&](const std::string& text) { return name.find(text) != std::string::npos; });
  }
};

class FilterTable final : public WindowTable {
 public:
  explicit FilterTable(AnyFilter filter) : filter_(std::move(filter)) {}
  void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) override {
    filter_.make_room(keys.size());
    filter_.insert_all(keys, ticks, is_new);
  }
  void contains_all(std::span<const Digest> keys, bool* seen) const override { filter_.contains_all(keys, seen); }
  Tick effective() const override { return filter_.window().effective; }

 private:
  AnyFilter filter_;
};

// A row: a table, and the window, memory and errors it was made for.
struct Made {
  std::unique_ptr<WindowTable> table;
  Plan plan;
};
struct Contender {
  std::string name;
  std::function<Made(std::uint64_t bytes)> make;
};

Goal window_of(std::uint64_t keys, double error, bool compact) {
  return {.keys = keys, .error = error, .window = {.span = keys, .by_count = true}, .compact = compact};
}

// A kind fitted for the longest count window that the bytes allow.
Contender fitted(std::string_view name, double error, bool compact = false) {
  return {fmt::format("{}{}, {:g}", name, compact ? " compact" : "", error), [=](std::uint64_t bytes) {
            const Kind& kind = filter_kind(name);
            const std::uint64_t keys = greatest_where(1, bytes * 8, [&](std::uint64_t candidate) {
              return kind.plan(window_of(candidate, error, compact)).bytes <= bytes;
            });
            const Goal goal = window_of(keys, error, compact);
            return Made{std::make_unique<FilterTable>(kind.make(goal)), kind.plan(goal)};
          }};
}

// age_partitioned_blocked of given slices, whatever error and slack follow.
Contender blocked_ages(std::uint64_t probes, std::uint64_t generations, std::uint64_t bits) {
  return {fmt::format("age_partitioned_blocked, k={} l={} of {} bits", probes, generations - 1, bits),
          [=](std::uint64_t bytes) {
            AgeParams p;
            p.probes = probes;
            p.generations = generations;
            p.bits = bits;
            p.cells = bytes / 64 / p.slices();
            // A line is full with about 512 / bits * ln 2 keys, of k generations.
            p.quota = static_cast<std::uint64_t>(static_cast<double>(p.cells) * 512 / static_cast<double>(bits) * 0.69 /
                                                 static_cast<double>(probes));
            p.keys = p.quota * (generations - 1);
            p.window = {.span = p.keys, .by_count = true};
            using F = AgePartitionedBlocked;
            return Made{std::make_unique<FilterTable>(AnyFilter(F(p))), Plan{.kind = F::kName,
                                                                             .keys = p.keys,
                                                                             .bytes = F::bytes(p),
                                                                             .rates = F::rates(p, p.keys),
                                                                             .lines_per_event = F::lines_per_event(p),
                                                                             .slack = F::slack(p),
                                                                             .facts = {}}};
          }};
}

Contender rotating(double error) {
  return {fmt::format("two rotating Bloom filters, {:g}", error), [=](std::uint64_t bytes) {
            const std::uint64_t keys = greatest_where(1, bytes * 8, [&](std::uint64_t candidate) {
              return 2 * Blocked::bytes(RotatingBloom::fit(candidate, error)) <= bytes;
            });
            const Blocked::Params p = RotatingBloom::fit(keys, error);
            return Made{std::make_unique<RotatingBloom>(keys, error),
                        Plan{.kind = "",
                             .keys = keys,
                             .bytes = 2 * Blocked::bytes(p),
                             .rates = {.false_positive = 2 * Blocked::rates(p, keys).false_positive},
                             .lines_per_event = 2 * Blocked::lines_per_event(p),
                             .slack = 1,
                             .facts = {}}};
          }};
}

Contender exact() {
  return {"exact table with times and queue", [](std::uint64_t bytes) {
            const std::uint64_t keys =
                greatest_where(1, bytes, [&](std::uint64_t candidate) { return ExactAges::bytes(candidate) <= bytes; });
            return Made{std::make_unique<ExactAges>(keys), Plan{.kind = "",
                                                                .keys = keys,
                                                                .bytes = ExactAges::bytes(keys),
                                                                .rates = {},
                                                                .lines_per_event = 4,
                                                                .facts = {}}};
          }};
}

std::vector<Contender> contenders() {
  std::vector<Contender> list;
  for (const double error : {1e-2, 1e-3, 1e-4, 1e-6}) {
    list.push_back(fitted("aged_lines", error));
    list.push_back(fitted("aged_table", error));
    list.push_back(fitted("aged_table", error, true));
  }
  for (const double error : {1e-2, 1e-4, 1e-6}) list.push_back(fitted("age_partitioned_blocked", error));
  list.push_back(blocked_ages(2, 4, 8));
  list.push_back(blocked_ages(2, 4, 16));
  list.push_back(blocked_ages(2, 6, 8));
  list.push_back(blocked_ages(3, 4, 8));
  list.push_back(blocked_ages(1, 3, 16));
  for (const double error : {1e-2, 1e-6}) list.push_back(fitted("age_partitioned", error));
  for (const double error : {1e-2, 1e-6}) list.push_back(fitted("timer", error));
  for (const double error : {1e-2, 1e-6}) list.push_back(rotating(error));
  list.push_back(exact());
  return list;
}

class Runner {
 public:
  Runner(const Contender& contender, std::uint64_t bytes) : Runner(contender.name, contender.make(bytes)) {}

  std::string name;
  Plan plan;
  double half = kNever, distinct = kNever;  // seconds per event
  double error = 0;                         // measured

  Tick effective() const { return table_->effective(); }

  void fill() {
    run(plan.keys + plan.keys / 3, 0, nullptr);
    constexpr std::uint64_t kProbes = 1 << 22;
    std::uint64_t wrong = 0;
    std::vector<Digest> keys(kBatch);
    for (std::uint64_t done = 0; done < kProbes; done += kBatch) {
      for (std::size_t i = 0; i < kBatch; ++i) keys[i] = digest_of(~(done + i));
      table_->contains_all(keys, verdicts_.get());
      wrong += static_cast<std::uint64_t>(std::count(verdicts_.get(), verdicts_.get() + kBatch, true));
    }
    error = static_cast<double>(wrong) / kProbes;
  }
  // `repeats`: the share of events that repeat one of the last window.
  void run(std::uint64_t events, double repeats, double* best) {
    std::vector<Digest> keys(kTimed);
    std::vector<Tick> ticks(kTimed);
    for (std::uint64_t done = 0; done < events; done += kTimed) {
      for (std::size_t i = 0; i < kTimed; ++i) {
        std::uint64_t number = now_;
        if (is_repeat(number, repeats)) {
          number -= fastrange(digest_of(number).hi, std::min(now_, plan.keys));
          while (number > 1 && is_repeat(number, repeats)) --number;
        }
        keys[i] = digest_of(number);
        ticks[i] = now_++;
      }
      const auto begin = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < kTimed; i += kBatch)
        table_->insert_all(std::span(keys).subspan(i, kBatch), ticks.data() + i, verdicts_.get());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (best != nullptr) *best = std::min(*best, took.count() / static_cast<double>(kTimed));
    }
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  Runner(std::string row, Made made)
      : name(std::move(row)), plan(std::move(made.plan)), table_(std::move(made.table)) {}
  // The event of this number repeats an earlier one.
  static bool is_repeat(std::uint64_t number, double repeats) {
    return static_cast<double>(digest_of(number).lo >> 11) * 0x1p-53 < repeats;
  }

  std::unique_ptr<WindowTable> table_;
  std::unique_ptr<bool[]> verdicts_ = std::make_unique<bool[]>(kBatch);
  std::uint64_t now_ = 1;
};

void measure(std::uint64_t bytes, const Options& options) {
  // One at a time is filled and then kept: all together they would not fit a small machine.
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Contender& c : contenders()) {
    if (!options.wants(c.name)) continue;
    runners.push_back(std::make_unique<Runner>(c, bytes));
    runners.back()->fill();
  }
  const std::uint64_t piece = std::min<std::uint64_t>(16, bytes >> 20) * kTimed;
  for (std::uint64_t round = 0; round < options.rounds; ++round)
    for (auto& r : runners) r->run(piece, 0, &r->distinct);
  for (auto& r : runners) r->run(r->plan.keys / 2, 0.5, nullptr);  // towards the steady state of half repeats
  for (std::uint64_t round = 0; round < options.rounds; ++round)
    for (auto& r : runners) r->run(piece, 0.5, &r->half);

  fmt::print(
      "\n### {} MB\n\n"
      "| filter | MB | window, M events | bits per event | error planned | measured | slack | lines per event | ns, "
      "half "
      "repeats | ns, all distinct |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      bytes >> 20);
  for (const auto& r : runners)
    fmt::print("| {} | {:.1f} | {:.2f}{} | {:.2f} | {:.2g} | {:.2g} | {:.3f} | {:.1f} | {:.1f} | {:.1f} |\n", r->name,
               static_cast<double>(r->plan.bytes) / 0x1p20, static_cast<double>(r->plan.keys) / 1e6,
               r->effective() < r->plan.keys ? " SHRUNK" : "",
               8.0 * static_cast<double>(r->plan.bytes) / static_cast<double>(r->plan.keys),
               r->plan.rates.false_positive, r->error, r->plan.slack, r->plan.lines_per_event, r->half * 1e9,
               r->distinct * 1e9);
  std::fflush(stdout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw Error(fmt::format("{} needs a value", flag));
      return argv[i];
    };
    if (flag == "--small")
      options.megabytes = {4};
    else if (flag == "--megabytes")
      options.megabytes = {std::max<std::uint64_t>(1, std::stoull(value()))};
    else if (flag == "--rounds")
      options.rounds = std::max<std::uint64_t>(1, std::stoull(value()));
    else if (flag == "--only")
      options.only.push_back(value());
    else
      throw Error(fmt::format("unknown flag {}; there are --small, --megabytes N, --rounds N, --only TEXT", flag));
  }
  return options;
}

void run(const Options& options) {
  fmt::print("## Sliding windows\n\n{}, {:%F}, one thread, batches of {} through AnyFilter.\n", machine(),
             fmt::localtime(std::time(nullptr)), kBatch);
  for (const std::uint64_t megabytes : options.megabytes) measure(megabytes << 20, options);
}

}  // namespace
}  // namespace nodup::bench

int main(int argc, char** argv) {
  try {
    nodup::bench::run(nodup::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "windows: {}\n", e.what());
    return 1;
  }
}
