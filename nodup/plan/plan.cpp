// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/plan.hpp"

#include <algorithm>

#include "nodup/theory/solve.hpp"

namespace nodup {

std::vector<Plan> ranked_plans(const Goal& goal) {
  std::vector<Plan> plans;
  for (const Kind& kind : filter_kinds())
    if (kind.ages != goal.window.endless() && !kind.forgets) plans.push_back(kind.plan(goal));
  std::ranges::stable_sort(plans, [&](const Plan& a, const Plan& b) { return better_plan(a, b, goal); });
  return plans;
}

std::uint64_t most_keys(const Kind& kind, const Goal& goal) {
  // No filter needs less than one bit per key.
  return greatest_where(0, goal.bytes * 8, [&](std::uint64_t keys) {
    Goal fewer = goal;
    fewer.keys = keys;
    const Plan plan = kind.plan(fewer);
    return plan.bytes <= goal.bytes && plan.rates.false_positive <= goal.error;
  });
}

}  // namespace nodup
