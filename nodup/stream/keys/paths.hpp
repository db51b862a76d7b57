// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nodup {

// The paths of a JSON key, merged into one tree so that a record is walked once, in its own order of fields.
//
//   user,ad.id,ad.name,tags[0].x
//
//   root ─ user            slot 0
//        ─ ad   ─ id       slot 1
//               ─ name     slot 2
//        ─ tags ─ [0] ─ x  slot 3
struct PathNode {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::string name;             // the field it stands for, unless by_index_only
  std::uint64_t index = kNone;  // the array element it stands for; .0 may be either, [0] is an element only
  bool by_index_only = false;
  // The first eight bytes of the name with its closing quote, as they stand in a record without escapes, and a mask for
  // those that count: most names are recognised by one comparison.
  std::uint64_t start = 0, start_mask = 0;
  bool plain_name = false;   // a name without quotes: it stands in a record as it is, or with escapes
  std::size_t slot = kNone;  // a leaf: its place in the key; a time has the place behind. Leaves have no children.
  std::vector<PathNode> children;

  // For the walk: the number of the last record in which it was met. The first of two equal names wins.
  std::uint64_t met = 0;
};

struct PathTree {
  PathNode root;
  std::vector<std::string> names;  // by slot, as typed, for messages
};

// Steps are separated by dots, paths by commas; \. \, \[ and \\ stand for themselves. Throws Error when the
// list is wrong, when a path is named twice, and when one lies inside another (the text of `ad` already holds
// ad.id). `flag` is what it was typed behind, for messages.
PathTree parse_paths(std::string_view specification, std::string_view flag);

// Adds the one path of `other` and gives its slot, which may be that of an equal path. kNone, and nothing added, when
// one lies inside the other or may do so.
std::size_t add_path(PathTree& tree, const PathTree& other);

}  // namespace nodup
