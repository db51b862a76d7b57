// SPDX-License-Identifier: Apache-2.0
//
// Small sets for the tests of what is spread over nodes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nodup/filters/dynamic.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup::testing {

// Filters of 1000 counters that are full with 50 keys: rows get long quickly.
inline const Dynamic::Params kSmallRow{.filter = {.bits = 1000, .probes = 9, .keys = 50}, .error = 1e-2};

inline void insert(Dynamic& set, const std::vector<Digest>& keys) {
  for (const Digest& key : keys) {
    set.make_room(1);
    set.insert(key);
  }
}
inline Dynamic set_of(const std::vector<Digest>& keys) {
  Dynamic set(kSmallRow);
  insert(set, keys);
  return set;
}

// Loads what `value` saves, with every byte damaged in turn and cut off at every length: an Error or a value, never
// more. With `checked`, there is a checksum and no damage passes.
template <class Value>
void expect_safe_to_load(const Value& value, bool checked) {
  const std::string bytes = own_bytes(value);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      try {
        (void)loaded<Value>(damaged);
        EXPECT_FALSE(checked) << "byte " << at << " damaged by " << mask;
      } catch (const Error&) {
      }
    }
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW((void)loaded<Value>(bytes.substr(0, length)), Error) << length;
}

}  // namespace nodup::testing
