// SPDX-License-Identifier: Apache-2.0
//
// Changes a set of keys in a file: `nodup set build`, `add` and `remove`.
//
// All or nothing: the keys go into the set in memory, and the file is replaced once, at the end. Whatever ends the run
// before that (a failure, a bad record under --on-error fail, Ctrl-C, kill -9) leaves the file as it was. Half of a
// change would be worse than none: keys are counted, so the same change cannot simply be made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/match_run.hpp"

namespace nodup::cli {

enum class Change { build, add, remove };

struct ChangeOptions {
  Change change = Change::add;
  bool fail_on_bad = false;
  std::string refused;  // where records go whose key was not removed; empty: nowhere

  // Of a new set.
  std::optional<double> error;
  std::optional<std::uint64_t> events;
  std::optional<std::string> filter;
  std::optional<std::uint64_t> seed;
  bool attributes = false;  // of rows, with a filter for each field of the key
  bool force = false;       // build: in the place of one that is there
};

// The chance that a key looks as if it were in the set. A set is asked about keys that are mostly not in it, and its
// false answers cost a row too many, not an event: a thousandth of the other rows is little beside the memory that less
// would take (each further factor of ten: 4.8 bits per key).
inline constexpr double kDefaultSetError = 1e-3;
inline constexpr std::string_view kDefaultBuildKind = "growing";
inline constexpr std::string_view kDefaultAddKind = "dynamic";

int change_set(SetOptions set, ChangeOptions options);

}  // namespace nodup::cli
