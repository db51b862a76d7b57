// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nodup/filters/filter.hpp"

namespace nodup {

// What a filter of some kind would cost and give, before any memory is taken.
struct Plan {
  std::string_view kind;
  std::uint64_t keys = 0;      // it is fitted for
  std::uint64_t bytes = 0;     // memory
  Rates rates;                 // with `keys` held: the worst moment
  double lines_per_event = 0;  // cache lines an insert touches, on average
  double slack = 0;  // of kinds that age: how much longer than the span a key may be remembered, as a share of it
  Facts facts;       // its parameters
};

// One kind of filter, as everything else sees it: the command, the planner, the laws, the benchmarks.
struct Kind {
  std::string_view name;
  std::string_view summary;
  std::string_view errors;    // in a user's words: which mistakes it makes
  bool grows;                 // takes any number of keys
  bool stage;                 // may be a stage of `growing`
  bool merges;                // two of the same parameters make their union
  bool ages;                  // holds a sliding window
  bool forgets;               // takes any number of keys in fixed memory: duplicates may pass
  bool erases;                // can forget one key
  bool counts;                // can count a key more than once
  bool keeps_window = false;  // ages, and under a limit on memory its error rises; the others shorten their window
  Plan (*plan)(const Goal&);
  AnyFilter (*make)(const Goal&);
  AnyFilter (*load)(Reader&);
};

// THE list of filters (registry.cpp).
std::span<const Kind> filter_kinds();

// Throws Error naming the known kinds.
const Kind& filter_kind(std::string_view name);

// Of the kinds a growing filter may use as a stage, the best for this goal.
const Kind& best_stage(const Goal& goal);

// Orders plans: those within the goal's memory first; then those that reach its error, the lower error first among the
// others; then by the cost of memory and cache lines together (theory/cost.hpp).
bool better_plan(const Plan& a, const Plan& b, const Goal& goal);

}  // namespace nodup
