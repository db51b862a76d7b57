// SPDX-License-Identifier: Apache-2.0
//
// Sets on disk: a filter or a set of rows with attributes, in the frame of filters/format.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "nodup/filters/format.hpp"
#include "nodup/sets/attribute_set.hpp"

namespace nodup {

struct SavedAttributeSet {
  AttributeSet set;
  std::uint64_t seed = 0;
  Notes notes;
};

using SavedSet = std::variant<SavedFilter, SavedAttributeSet>;

void save_set(Writer& out, const AttributeSet& set, std::uint64_t seed, const Notes& notes);
SavedSet load_set(Reader& in);

// Written and read as save_file and load_file do.
void save_set_file(const std::string& path, const AttributeSet& set, std::uint64_t seed, const Notes& notes);
SavedSet load_set_file(const std::string& path);

}  // namespace nodup
