// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace nodup {

// A number as JSON spells it. Only the spelling counts: keys may have more digits than any machine type.
bool is_json_number(std::string_view text);

// Appends what the inside of a JSON string means. False when an escape is none, or when half a surrogate pair stands
// alone: it has no UTF-8.
bool append_unescaped(std::string_view inside, std::string& out);

}  // namespace nodup
