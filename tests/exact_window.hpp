// SPDX-License-Identifier: Apache-2.0
//
// A sliding window without any error, slack or limit: the time of every key in a hash table. For tests only: the laws
// of windows are run over it as well, so a law that the truth breaks is no law.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/generations.hpp"
#include "nodup/filters/registry.hpp"
#include "tests/oracle.hpp"

namespace nodup::testing {

class ExactWindow {
 public:
  static constexpr std::string_view kName = "exact_window";

  struct Params {
    Window window = {};
    std::uint64_t keys = 1;
  };
  static Params fit(const Goal& goal) { return {goal.window, std::max<std::uint64_t>(goal.keys, 1)}; }
  static std::uint64_t bytes(const Params& p) { return p.keys * 64; }
  static double slack(const Params&) { return 0; }
  static Facts facts(const Params& p) { return {{"capacity", std::to_string(p.keys)}}; }

  explicit ExactWindow(const Params& p) : params_(p), truth_(p.window) {}

  void advance(Tick t) noexcept { now_ = std::max(now_, t); }
  bool insert(Digest d) noexcept { return insert(d, now_); }
  bool insert(Digest d, Tick t) noexcept {
    advance(t);
    const bool is_new = !truth_.contains(d, t);
    truth_.note(d, t, is_new);
    return is_new;
  }
  bool contains(Digest d) const noexcept { return contains(d, now_); }
  bool contains(Digest d, Tick t) const noexcept { return truth_.contains(d, t); }
  void prefetch(Digest) const noexcept {}
  Erased erase(Digest d) noexcept {
    const bool held = contains(d);
    truth_.erase(d);
    return held ? Erased::removed : Erased::absent;
  }

  std::uint64_t keys() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(truth_.latest(), [&](const auto& key) { return truth_.contains(key.first, now_); }));
  }
  std::uint64_t bytes() const { return bytes(params_); }
  Rates rates() const { return {}; }
  Facts facts() const { return facts(params_); }
  WindowReading window() const {
    return {.now = now_, .asked = params_.window.span, .effective = params_.window.span, .dropped_in_slack = 0};
  }

  // window | capacity u64 | now u64 | keys u64 | each, in ascending order: lo, hi, latest u64
  void save(Writer& out) const {
    save_window(out, params_.window);
    out.u64(params_.keys);
    out.u64(now_);
    std::vector<std::pair<Digest, Tick>> sorted(truth_.latest().begin(), truth_.latest().end());
    std::ranges::sort(sorted, {}, [](const auto& key) { return std::pair(key.first.lo, key.first.hi); });
    out.u64(sorted.size());
    for (const auto& [key, latest] : sorted) {
      out.u64(key.lo);
      out.u64(key.hi);
      out.u64(latest);
    }
  }
  static ExactWindow load(Reader& in) {
    Params p;
    p.window = load_window(in);
    p.keys = in.u64("capacity");
    ExactWindow filter(p);
    filter.now_ = in.u64("clock");
    for (std::uint64_t left = in.u64("keys"); left > 0; --left) {
      const std::uint64_t lo = in.u64("key"), hi = in.u64("key");
      filter.truth_.note({lo, hi}, in.u64("time"), true);
    }
    return filter;
  }

 private:
  Params params_;
  WindowOracle truth_;
  Tick now_ = 0;
};

static_assert(Ageing<ExactWindow> && Erasable<ExactWindow>);

inline const Kind& exact_window_kind() {
  static constexpr Kind kKind{.name = ExactWindow::kName,
                              .summary = "for tests",
                              .errors = "none",
                              .grows = false,
                              .stage = false,
                              .merges = false,
                              .ages = true,
                              .forgets = false,
                              .erases = true,
                              .counts = false,
                              .plan =
                                  [](const Goal& goal) {
                                    const ExactWindow::Params p = ExactWindow::fit(goal);
                                    Plan plan;
                                    plan.kind = ExactWindow::kName;
                                    plan.keys = p.keys;
                                    plan.bytes = ExactWindow::bytes(p);
                                    return plan;
                                  },
                              .make = [](const Goal& goal) { return AnyFilter(ExactWindow(ExactWindow::fit(goal))); },
                              .load = [](Reader& in) { return AnyFilter(ExactWindow::load(in)); }};
  return kKind;
}

}  // namespace nodup::testing
