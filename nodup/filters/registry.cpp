// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/registry.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "nodup/filters/age_partitioned.hpp"
#include "nodup/filters/age_partitioned_blocked.hpp"
#include "nodup/filters/aged_lines.hpp"
#include "nodup/filters/aged_table.hpp"
#include "nodup/filters/automatic.hpp"
#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/blocked.hpp"
#include "nodup/filters/counting.hpp"
#include "nodup/filters/dynamic.hpp"
#include "nodup/filters/exact.hpp"
#include "nodup/filters/fingerprint.hpp"
#include "nodup/filters/growing.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/partitioned.hpp"
#include "nodup/filters/reservoir.hpp"
#include "nodup/filters/stable.hpp"
#include "nodup/filters/standard.hpp"
#include "nodup/filters/timer.hpp"
#include "nodup/theory/cost.hpp"

namespace nodup {

namespace {

template <class F>
concept KeepsWindow = F::kKeepsWindow;

template <Filter F>
constexpr Kind kind_of() {
  return {.name = F::kName,
          .summary = F::kSummary,
          .errors = F::kErrors,
          .grows = Growable<F>,
          .stage = !Growable<F> && !Ageing<F> && !Forgetting<F> && !Erasable<F>,
          .merges = Mergeable<F>,
          .ages = Ageing<F>,
          .forgets = Forgetting<F>,
          .erases = Erasable<F>,
          .counts = Countable<F>,
          .keeps_window = KeepsWindow<F>,
          .plan =
              [](const Goal& goal) {
                const typename F::Params p = F::fit(goal);
                const std::uint64_t keys = std::max<std::uint64_t>(goal.keys, 1);
                Plan plan{.kind = F::kName,
                          .keys = keys,
                          .bytes = F::bytes(p),
                          .rates = F::rates(p, keys),
                          .lines_per_event = F::lines_per_event(p),
                          .facts = F::facts(p)};
                if constexpr (Ageing<F>) plan.slack = F::slack(p);
                return plan;
              },
          .make = [](const Goal& goal) { return AnyFilter(F(F::fit(goal))); },
          .load = [](Reader& in) { return AnyFilter(F::load(in)); }};
}

// THE list of filters.
constexpr Kind kKinds[] = {
    kind_of<Growing>(),  // the default
    kind_of<Blocked>(),
    kind_of<Fingerprint>(),
    kind_of<Standard>(),
    kind_of<Partitioned>(),
    kind_of<Exact>(),
    // Keys can be taken out again.
    kind_of<Dynamic>(),
    kind_of<Counting>(),
    // Sliding windows.
    kind_of<AgedLines>(),  // the default for them
    kind_of<AgedTable>(),
    kind_of<AgePartitionedBlocked>(),
    kind_of<AgePartitioned>(),
    kind_of<Timer>(),
    // Any number of keys in fixed memory.
    kind_of<Automatic>(),  // the default for it
    // The same, forgetting at random.
    kind_of<Stable>(),
    kind_of<Reservoir>(),
    kind_of<Biased>(),
    kind_of<BiasedSingle>(),
    kind_of<LoadBalanced>(),
};

}  // namespace

std::span<const Kind> filter_kinds() { return kKinds; }

const Kind& filter_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &Kind::name);
  if (found != std::end(kKinds)) return *found;
  std::string known;
  for (const Kind& kind : kKinds) known += (known.empty() ? "" : ", ") + std::string(kind.name);
  throw Error("no filter is called " + std::string(name) + "; there are: " + known);
}

const Kind& best_stage(const Goal& goal) {
  const Kind* best = nullptr;
  Plan best_plan;
  for (const Kind& kind : kKinds) {
    if (!kind.stage) continue;
    Plan plan = kind.plan(goal);
    if (best != nullptr && !better_plan(plan, best_plan, goal)) continue;
    best = &kind;
    best_plan = std::move(plan);
  }
  return *best;
}

bool better_plan(const Plan& a, const Plan& b, const Goal& goal) {
  const auto fits = [&](const Plan& plan) { return goal.bytes == 0 || plan.bytes <= goal.bytes; };
  if (fits(a) != fits(b)) return fits(a);
  const double a_error = std::max(a.rates.false_positive, goal.error);
  const double b_error = std::max(b.rates.false_positive, goal.error);
  if (a_error != b_error) return a_error < b_error;
  if (goal.compact) return a.bytes < b.bytes;
  return cost(a.bytes, a.lines_per_event) < cost(b.bytes, b.lines_per_event);
}

}  // namespace nodup
