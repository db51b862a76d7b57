// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace nodup {

// A number as JSON spells it. Only the spelling counts: keys may have more digits than any machine type.
bool is_json_number(std::string_view text);

inline bool is_json_literal(std::string_view text) { return text == "true" || text == "false" || text == "null"; }

// A string's token is followed by blanks or another token, so without blanks it ends in its quote.
inline std::string_view inside_json_quotes(std::string_view text) {
  return text.size() < 2 ? std::string_view() : text.substr(1, text.size() - 2);
}

// Appends what the inside of a JSON string means. False when an escape is none, or when half a surrogate pair stands
// alone: it has no UTF-8.
bool append_unescaped(std::string_view inside, std::string& out);

}  // namespace nodup
