// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "nodup/hash/digest.hpp"

namespace nodup::bench {

// What the machine can do: for every key the 64-byte line that its digest falls on is read, changed and written back
// as a whole, with the line of the key `ahead` places later asked for. No answer, no mask. No structure that touches
// one random line per key can be faster.
void touch_lines(void* table, std::uint64_t lines, std::span<const Digest> keys, std::uint64_t ahead);

}  // namespace nodup::bench
