// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace nodup {

// What was typed or read, for a complaint about it: `abc`. Odd bytes must not reach a terminal through it.
inline std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out = "`";
  for (const char c : text.substr(0, kShown)) out += (c >= ' ' && c <= '~') ? c : '?';
  return out + (text.size() > kShown ? "...`" : "`");
}

}  // namespace nodup
