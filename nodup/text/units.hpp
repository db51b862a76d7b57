// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people write and read them. Every number may be written 1000000, 1_000_000, 1e6 or 2.5e3; one
// space may stand before the unit, so that what the human_ functions print can be read again.
//
//   count        k K M G B T               decimal: 10M = 10 000 000; B and G are both 10^9
//   bytes        K M G T, KB MB.., KiB..   ALL binary, in any case: 64M = 64MB = 64MiB = 64 * 2^20
//   duration     ns us ms s m min h d w    a plain number is in seconds; `m` is a minute
//   rate         50k/s, 1M/h, 0.5/min      a count per unit of time; a plain number is per second
//   probability  1e-6, 0.1%, 1/1000, 1/1M  within 0..1
//
// Bytes are binary under every spelling because the number is a limit on memory, where no other tool counts
// in thousands. Counts take no lower-case m: it would be a million here and a minute in the next option.
//
// All reading functions throw Error, with an example of what to write instead, on anything else: negative,
// not finite, too large, a fraction where only whole numbers make sense, anything left over.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace nodup {

std::uint64_t read_count(std::string_view text);                // whole: 2.5k is one, 2.5 is not
std::uint64_t read_bytes(std::string_view text);                // rounded down to whole bytes
std::chrono::nanoseconds read_duration(std::string_view text);  // rounded down; at most 292 years
double read_rate(std::string_view text);                        // events per second
double read_probability(std::string_view text);

// For people: one digit after the point, none when it would be 0 or the number has three digits before it.
std::string human_bytes(std::uint64_t bytes);  // 1.5 KiB
std::string human_count(std::uint64_t count);  // 12.3 M
std::string human_seconds(double seconds);     // 250 ms, 1.5 s, 2 min 5 s, 3 h 20 min, 4 d 6 h

// Exactly, as it would be typed, in the largest unit of which it is a whole number: 90s, 24h, 7d. read_duration reads
// it again.
std::string duration_text(std::uint64_t nanoseconds);

}  // namespace nodup
