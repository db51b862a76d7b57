// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "nodup/filters/registry.hpp"

namespace nodup {

// What each kind of filter would cost for a goal, the best first: the kinds that hold a sliding window, if the goal has
// one, otherwise those that keep every key. Takes no memory.
std::vector<Plan> ranked_plans(const Goal& goal);

// The most keys that `kind` holds within the goal's bytes at its error; 0 if not even one.
std::uint64_t most_keys(const Kind& kind, const Goal& goal);

}  // namespace nodup
