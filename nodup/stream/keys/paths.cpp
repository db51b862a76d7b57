// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/keys/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "nodup/error.hpp"

namespace nodup {
namespace {

// The walk over a record recurses once per step.
constexpr std::size_t kMaxSteps = 256;

struct Step {
  std::string name;
  std::uint64_t index = PathNode::kNone;
  bool by_index_only = false;
};

std::uint64_t parse_index(std::string_view digits) {
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return PathNode::kNone;
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) return PathNode::kNone;
  return index;
}

// The child for the step that is `like` this one (a Step or a node), or nullptr. `clash`: a child that may or may not
// be the same, as [0] and .0 may.
template <class Like>
PathNode* find_child(PathNode& parent, const Like& like, bool& clash) {
  for (PathNode& node : parent.children) {
    if (node.by_index_only == like.by_index_only) {
      if (like.by_index_only ? node.index == like.index : node.name == like.name) return &node;
    } else if (node.index != PathNode::kNone && node.index == like.index) {
      clash = true;
      return nullptr;
    }
  }
  return nullptr;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view flag) : text_(text), flag_(flag) {}

  PathTree parse() {
    do {
      const std::size_t from = at_;
      std::vector<Step> steps = parse_path();
      add(steps, std::string(text_.substr(from, at_ - from)));
    } while (take(','));
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(fmt::format("{} json:{}: {}", flag_, text_, reason));
  }
  bool at_end() const { return at_ == text_.size(); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::vector<Step> parse_path() {
    std::vector<Step> steps;
    if (at_end() || text_[at_] != '[') steps.push_back(parse_name());
    while (!at_end() && text_[at_] != ',') {
      if (take('[')) {
        steps.push_back(parse_brackets());
      } else if (take('.')) {
        steps.push_back(parse_name());
      } else {
        fail(fmt::format("after ] comes a dot, a [ or a comma, not '{}'", text_[at_]));
      }
      if (steps.size() > kMaxSteps) fail(fmt::format("a path may have {} steps at most", kMaxSteps));
    }
    return steps;
  }

  Step parse_name() {
    Step step;
    bool escaped = false;
    for (; !at_end(); ++at_) {
      char c = text_[at_];
      if (c == '.' || c == ',' || c == '[') break;
      if (c == '\\') {
        if (++at_ == text_.size()) fail("a backslash at the end stands for nothing; write \\\\ for a backslash");
        c = text_[at_];
        if (c != '.' && c != ',' && c != '[' && c != '\\') {
          fail(fmt::format("\\{} is unknown; there are \\. \\, \\[ and \\\\", c));
        }
        escaped = true;
      }
      step.name += c;
    }
    if (step.name.empty()) fail("a name is empty; paths look like user,ad.id,tags[0]");
    if (!escaped) step.index = parse_index(step.name);
    return step;
  }

  Step parse_brackets() {
    const std::size_t close = text_.find(']', at_);
    if (close == std::string_view::npos) fail("a [ is never closed; write \\[ if it belongs to the name");
    Step step;
    step.by_index_only = true;
    step.index = parse_index(text_.substr(at_, close - at_));
    if (step.index == PathNode::kNone) fail("between [ and ] stands the number of an element, from 0");
    at_ = close + 1;
    return step;
  }

  void add(const std::vector<Step>& steps, std::string typed) {
    PathNode* node = &tree_.root;
    for (const Step& step : steps) {
      if (node->slot != PathNode::kNone) {
        fail(fmt::format("{} already holds {}; name one of the two", tree_.names[node->slot], typed));
      }
      node = &child(*node, step);
    }
    if (node->slot != PathNode::kNone) fail(fmt::format("{} is named twice", typed));
    if (!node->children.empty()) fail(fmt::format("{} already holds a path named before it", typed));
    node->slot = tree_.names.size();
    tree_.names.push_back(std::move(typed));
  }

  PathNode& child(PathNode& parent, const Step& step) {
    bool clash = false;
    if (PathNode* const node = find_child(parent, step, clash)) return *node;
    if (clash) fail(fmt::format("[{0}] and .{0} may be the same element; write one of the two", step.index));
    PathNode& added = parent.children.emplace_back();
    added.name = step.name;
    added.index = step.index;
    added.by_index_only = step.by_index_only;
    added.plain_name = !step.by_index_only && step.name.find('"') == std::string::npos;
    const std::string quoted = step.name + '"';
    const std::size_t counting = std::min<std::size_t>(quoted.size(), sizeof added.start);
    std::memcpy(&added.start, quoted.data(), counting);
    std::memset(&added.start_mask, 0xff, counting);
    return added;
  }

  std::string_view text_, flag_;
  std::size_t at_ = 0;
  PathTree tree_;
};

}  // namespace

PathTree parse_paths(std::string_view specification, std::string_view flag) {
  return Parser(specification, flag).parse();
}

std::size_t add_path(PathTree& tree, const PathTree& other) {
  PathNode* node = &tree.root;
  const PathNode* step = &other.root;
  while (step->slot == PathNode::kNone) {
    if (node->slot != PathNode::kNone) return PathNode::kNone;
    step = &step->children[0];
    bool clash = false;
    PathNode* const child = find_child(*node, *step, clash);
    if (clash) return PathNode::kNone;
    if (child == nullptr) {
      // The rest of the path is new.
      node = &node->children.emplace_back(*step);
      while (!node->children.empty()) node = &node->children[0];
      node->slot = tree.names.size();
      tree.names.push_back(other.names[0]);
      return node->slot;
    }
    node = child;
  }
  return node->slot;  // kNone if the key's paths go on from here
}

}  // namespace nodup
