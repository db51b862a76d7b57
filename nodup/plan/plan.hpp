// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "nodup/filters/registry.hpp"

namespace nodup {

// What each kind of filter would cost for a goal, the best first. Takes no memory.
std::vector<Plan> ranked_plans(const Goal& goal);

// The most keys that `kind` holds within `bytes` at `error`; 0 if not even one.
std::uint64_t most_keys(const Kind& kind, std::uint64_t bytes, double error);

}  // namespace nodup
