// SPDX-License-Identifier: Apache-2.0
//
// nodup: remove duplicates from event streams. The one header most programs include.
#pragma once

#include "nodup/error.hpp"             // IWYU pragma: export
#include "nodup/filters/blocked.hpp"   // IWYU pragma: export
#include "nodup/filters/dynamic.hpp"   // IWYU pragma: export
#include "nodup/filters/exact.hpp"     // IWYU pragma: export
#include "nodup/filters/filter.hpp"    // IWYU pragma: export
#include "nodup/filters/format.hpp"    // IWYU pragma: export
#include "nodup/filters/growing.hpp"   // IWYU pragma: export
#include "nodup/filters/registry.hpp"  // IWYU pragma: export
#include "nodup/filters/standard.hpp"  // IWYU pragma: export
#include "nodup/hash/hasher.hpp"       // IWYU pragma: export
#include "nodup/plan/plan.hpp"         // IWYU pragma: export
#include "nodup/sets/saved.hpp"        // IWYU pragma: export
