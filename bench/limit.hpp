// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "nodup/hash/digest.hpp"

namespace nodup::bench {

// How memory is asked for before it is used.
struct Asking {
  std::uint64_t keys_ahead = 0;
  bool to_second_level = false;
};

// What the machine can do: for every key the 64-byte line that its digest falls on is read, changed and written back
// as a whole, with the line of a later key asked for. No answer, no mask. No structure that touches one random line per
// key can be faster.
void touch_lines(void* table, std::uint64_t lines, std::span<const Digest> keys, Asking asking);

}  // namespace nodup::bench
