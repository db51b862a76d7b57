// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/contender.hpp"

namespace nodup::bench {

Contender std_unordered_set();
Contender absl_flat_hash_set();  // where NODUP_BENCH_ABSL is defined

}  // namespace nodup::bench
