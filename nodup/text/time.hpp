// SPDX-License-Identifier: Apache-2.0
//
// Points in time as events carry them, in nanoseconds since 1970 (a Tick of a time window), up to the year 2554.
//
//   epoch       1700000000, 1700000000.123, 1.7e9   the unit shows in the size: seconds below 1e11, milliseconds below
//                                                   1e14, microseconds below 1e17, else nanoseconds
//   RFC 3339    2026-11-15T04:43:29.5Z              Z or an offset: +02:00, +0200, +02; T and Z in either case, T may
//   be
//                                                   a blank
//
// By size: 1e11 is the year 5138 in seconds and 1973 in milliseconds, so only milliseconds before March 1973 are taken
// for something else. Digits finer than a nanosecond are cut, and no digit goes through floating point. A leap second
// (:60) is the second after it. A date without an offset is refused: it could mean any of 26 hours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nodup {

// False for anything else, also when something is left over; `time` then means nothing. It is asked for every record:
// so it does not throw, and gives no std::optional, which costs more than the reading (28 ns in place of 12).
bool read_time(std::string_view text, std::uint64_t& time);

// What to tell the user about a text that read_time did not take.
std::string no_time(std::string_view text);

// RFC 3339 with as many digits as it takes: 2026-11-15T04:43:29Z, 2026-11-15T04:43:29.25Z.
std::string human_time(std::uint64_t nanoseconds);

}  // namespace nodup
