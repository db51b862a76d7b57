// SPDX-License-Identifier: Apache-2.0
//
// The key `json`: fields of a JSON record, found by their paths.
//
// simdjson finds the tokens of a record (brackets, commas, colons, the first bytes of strings and scalars) at several
// GB/s; the walk over them is ours. It goes once through the record, in the record's own order, beside the tree of
// wanted paths. So the order of fields does not matter and the first of two equal names wins, neither of which
// simdjson's On-Demand lookups give together; and it is the faster of the two.
//
// Strings are compared unescaped, numbers and compounds by their text: 1 and 1.0 differ, as do {"a":1} and {"a": 1}.
//
// What is checked. In the whole record: UTF-8, control characters in strings, quotes that close, as many brackets
// closed as opened, nothing behind the last (two objects on one line are one broken record). In the objects and arrays
// walked through, up to their last wanted field: commas, colons and names. In wanted values: their spelling. What is
// skipped is only counted for brackets: {"user":1,"x":nonsense} has the key 1. A filter asks for an event's
// identity; whether all of it is well-formed is its consumer's question, and would cost a full parse here.
//
// The time of the event is one more path of the same walk. It has no part in the key.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "nodup/error.hpp"
#include "nodup/stream/keys/json_text.hpp"
#include "nodup/stream/keys/json_tokens.hpp"
#include "nodup/stream/keys/paths.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/time.hpp"

namespace nodup {
namespace {

class JsonKey final : public Key {
 public:
  // The first `key_slots` of the tree are the key; time_slot is any of the tree, or kNone.
  JsonKey(PathTree tree, std::size_t key_slots, std::size_t time_slot, const KeyContext& context)
      : tree_(std::move(tree)),
        key_slots_(key_slots),
        time_slot_(time_slot),
        found_(tree_.names.size()),
        by_lines_(context.format.separator == '\n'),
        by_text_(context.by_text),
        each_field_(context.each_field),
        frame_(context.by_text) {}

  // All records of a batch are indexed at once: that is 20 ns per record of 100 bytes cheaper than one after the other.
  // It gives the same tokens, because a newline is a blank between tokens and an error inside a string. Any error, and
  // any other separator, and it is done record by record, which tells whose error it is.
  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    if (has_key()) make_places(batch, each_field_ ? key_slots_ : 0);
    if (has_time()) batch.ticks.resize(batch.size());
    const char* const bytes = batch.bytes.data();
    const std::size_t mark = batch.size() > 0 ? batch.record(0).size() - batch.row(0).size() : 0;
    const std::string_view block = std::string_view(bytes, batch.bytes.size()).substr(mark);
    const bool together = by_lines_ && batch.size() > 1 && block.size() <= kMostTogether && !tokens_.index(block);
    const bool any_escapes = std::memchr(block.data(), '\\', block.size()) != nullptr;
    Upcoming upcoming = batch.upcoming;
    for (std::size_t i = batch.header; i < batch.size(); ++i) {
      upcoming.ask();
      const std::string_view record = batch.row(i);
      escapes_ = any_escapes && record.find('\\') != std::string_view::npos;
      if (together)
        tokens_.begin_record(static_cast<std::size_t>(record.data() - block.data()),
                             static_cast<std::size_t>(record.data() - block.data()) + record.size());
      Tick tick = 0;
      if ((together || tokens_.index_record(record, reason_)) && walk(record) && frame_found() && read_tick(tick)) {
        if (has_key()) batch.digests[i] = frame_.hash(hasher);
        if (each_field_) frame_.hash_fields(hasher, batch.fields.data() + i * key_slots_);
      } else {
        if (has_key()) batch.digests[i] = {};
        batch.bad.push_back({i, std::move(reason_)});
      }
      if (has_time()) batch.ticks[i] = tick;
    }
  }

 private:
  bool has_key() const { return key_slots_ > 0; }
  bool has_time() const { return time_slot_ != PathNode::kNone; }

  struct Found {
    FieldTag tag = FieldTag::missing;
    std::string_view bytes;
  };

  bool broken(std::string_view how) {
    reason_ = broken_json(how);
    return false;
  }

  // Finds what is wanted, as far as it is there.
  bool walk(std::string_view record) {
    if (record.empty()) return broken("the record is empty");
    if (tokens_.done()) return broken(simdjson::error_message(simdjson::EMPTY));
    ++record_;
    if (escapes_) {
      // All that is unescaped together is no longer than the record: the views of it stay where they are.
      unescaped_.clear();
      unescaped_.reserve(record.size());
    }

    if (!escapes_ && walk_quickly()) return true;
    std::fill(found_.begin(), found_.end(), Found{});
    const char first = tokens_.next();
    if (first != '{' && first != '[') {
      reason_ = "not a JSON object or array";
      return false;
    }
    if (!(first == '{' ? walk_object(tree_.root) : walk_array(tree_.root))) return false;
    return tokens_.done() || broken("something follows the end of the value");
  }

  bool frame_found() {
    frame_.clear();
    for (std::size_t slot = 0; slot < key_slots_; ++slot) {
      const Found& found = found_[slot];
      if (found.tag == FieldTag::missing) return missing(slot);
      if (by_text_ && found.tag == FieldTag::literal && found.bytes == "null") return is_null(slot);
      frame_.add(found.tag, found.bytes);
    }
    return true;
  }

  bool read_tick(Tick& tick) {
    if (!has_time()) return true;
    const Found& found = found_[time_slot_];
    if (found.tag == FieldTag::missing) return missing(time_slot_);
    if ((found.tag == FieldTag::text || found.tag == FieldTag::number) && read_time(found.bytes, tick)) return true;
    tick = 0;
    reason_ = fmt::format("field {}: {}", tree_.names[time_slot_], no_time(found.bytes));
    return false;
  }

  bool missing(std::size_t slot) {
    reason_ = "no field " + tree_.names[slot];
    return false;
  }

  bool is_null(std::size_t slot) {
    reason_ = fmt::format("the field {} is null: null matches nothing", tree_.names[slot]);
    return false;
  }

  // The record as most are: an object without escapes that has all fields. True if all was found and the record is as
  // sound as the careful walk wants it. False for whatever is unusual or wrong: the careful walk then begins anew and
  // finds the words for it. Worth a third of the time of a JSON key.
  bool walk_quickly() {
    const std::uint32_t* const first = tokens_.at();
    if (tokens_.bytes()[*first] != '{') return false;
    std::size_t found = 0;
    const std::uint32_t* const behind = walk_plain_object(tree_.root, first + 1, found);
    if (behind == nullptr || *behind < tokens_.end() || found != found_.size()) {
      ++record_;  // nothing has been met yet
      return false;
    }
    tokens_.go_to(behind);
    return true;
  }

  // From behind the { to behind the }, or nullptr. Every token that is looked at lies before the end of the record; the
  // list goes on for three places behind its last token, so the check may come after the load. (The last of the three
  // is 0. But before it the number of bytes stands twice, and one byte is not both a quote and a colon.)
  const std::uint32_t* walk_plain_object(PathNode& node, const std::uint32_t* at, std::size_t& found) {
    const char* const bytes = tokens_.bytes();
    const std::size_t end = tokens_.end();
    for (std::size_t unmet = node.children.size(); unmet > 0;) {
      const std::uint32_t* const value = at + 2;
      if (*value >= end || bytes[at[0]] != '"' || bytes[at[1]] != ':') return nullptr;
      const char first = bytes[*value];
      const bool is_compound = kJsonNesting[static_cast<unsigned char>(first)] > 0;
      if (!is_compound && kJsonMarks[static_cast<unsigned char>(first)]) return nullptr;
      const std::uint32_t* const next = is_compound ? tokens_.behind_close(value + 1) : value + 1;
      if (next == nullptr || *next >= end) return nullptr;
      if (PathNode* const child = find_plain(node, bytes + at[0] + 1); child != nullptr && child->met != record_) {
        child->met = record_;
        --unmet;
        if (child->slot == PathNode::kNone) {
          if (first != '{' || walk_plain_object(*child, value + 1, found) != next) return nullptr;
        } else {
          const std::string_view text(bytes + *value, *next - *value);
          if (is_compound)
            found_[child->slot] = {FieldTag::compound, text.substr(0, next[-1] + 1 - *value)};
          else if (!keep_scalar(found_[child->slot], JsonTokens::without_blanks_behind(text)))
            return nullptr;
          ++found;
        }
      }
      at = next + 1;
      if (bytes[*next] == '}') return at;
      if (bytes[*next] != ',') return nullptr;
    }
    return &node == &tree_.root ? tokens_.behind_last(at) : tokens_.behind_close(at);
  }

  // From behind the { to behind the }.
  bool walk_object(PathNode& node) {
    if (tokens_.peek() == '}') return tokens_.next() == '}';
    for (std::size_t unmet = node.children.size(); unmet > 0;) {
      PathNode* child = nullptr;
      if (tokens_.peek() != '"') return broken("a field has no name");
      if (escapes_) {
        if (!find_escaped(node, inside_json_quotes(tokens_.next_scalar()), child)) return false;
      } else {
        child = find_plain(node, tokens_.place() + 1);
        tokens_.pass();
      }
      if (tokens_.next() != ':') return broken("a colon is missing");
      if (child == nullptr || child->met == record_) {
        if (!tokens_.skip_value()) return broken("a value is missing or never ends");
      } else {
        child->met = record_;
        --unmet;
        if (!take(*child)) return false;
      }
      const char c = tokens_.next();
      if (c == '}') return true;
      if (c != ',') return broken("a comma or } is missing");
    }
    return tokens_.skip_to_close() || broken("a { never closes");
  }

  // From behind the [ to behind the ].
  bool walk_array(PathNode& node) {
    if (tokens_.peek() == ']') return tokens_.next() == ']';
    std::size_t unmet = 0;
    for (const PathNode& child : node.children) unmet += child.index != PathNode::kNone;
    for (std::uint64_t index = 0; unmet > 0; ++index) {
      // No two children stand for one element: parse_paths sees to it.
      const auto child = std::find_if(node.children.begin(), node.children.end(),
                                      [&](const PathNode& candidate) { return candidate.index == index; });
      if (child == node.children.end()) {
        if (!tokens_.skip_value()) return broken("a value is missing or never ends");
      } else {
        --unmet;
        if (!take(*child)) return false;
      }
      const char c = tokens_.next();
      if (c == ']') return true;
      if (c != ',') return broken("a comma or ] is missing");
    }
    return tokens_.skip_to_close() || broken("a [ never closes");
  }

  // The child whose name stands at `name`, behind the opening quote. Without a backslash in the record the next quote
  // closes the name, so no length has to be found first.
  PathNode* find_plain(PathNode& node, const char* name) const {
    std::uint64_t start;
    std::memcpy(&start, name, sizeof start);  // the padding makes it readable
    for (PathNode& child : node.children) {
      if (((start ^ child.start) & child.start_mask) != 0 || !child.plain_name) continue;
      const std::size_t length = child.name.size();
      if (length < sizeof start) return &child;
      const auto room = static_cast<std::size_t>(tokens_.limit() - name);
      if (length < room && name[length] == '"' && std::memcmp(name, child.name.data(), length) == 0) return &child;
    }
    return nullptr;
  }
  bool find_escaped(PathNode& node, std::string_view name, PathNode*& found) {
    if (name.find('\\') != std::string_view::npos) {
      name_.clear();
      if (!append_unescaped(name, name_)) return broken("a name has a wrong escape");
      name = name_;
    }
    for (PathNode& child : node.children) {
      if (!child.by_index_only && child.name == name) {
        found = &child;
        break;
      }
    }
    return true;
  }

  // Passes the value at hand and keeps what is wanted of it.
  bool take(PathNode& node) {
    const bool leaf = node.slot != PathNode::kNone;
    const char first = tokens_.peek();
    if (first == '{' || first == '[') {
      const char* const from = tokens_.place();
      tokens_.next();
      if (!leaf) return first == '{' ? walk_object(node) : walk_array(node);
      if (!tokens_.skip_to_close()) return broken("a value never ends");
      const std::string_view text(from, static_cast<std::size_t>(tokens_.place() - from));
      found_[node.slot] = {FieldTag::compound, JsonTokens::without_blanks_behind(text)};
      return true;
    }
    if (tokens_.done() || first == ',' || first == ':' || first == '}' || first == ']') {
      return broken("a value is missing");
    }
    const std::string_view text = tokens_.next_scalar();
    return !leaf || keep_scalar(found_[node.slot], text);  // a path through a scalar leads nowhere
  }

  bool keep_scalar(Found& found, std::string_view text) {
    if (text[0] == '"') {
      found = {FieldTag::text, inside_json_quotes(text)};
      if (!escapes_ || found.bytes.find('\\') == std::string_view::npos) return true;
      const std::size_t from = unescaped_.size();
      if (!append_unescaped(found.bytes, unescaped_)) return broken("a string has a wrong escape");
      found.bytes = std::string_view(unescaped_).substr(from);
      return true;
    }
    if (is_json_literal(text)) {
      found = {FieldTag::literal, text};
      return true;
    }
    if (!is_json_number(text)) return broken("a value is no string, number, true, false or null");
    found = {FieldTag::number, text};
    return true;
  }

  // Indexes of larger blocks would take more memory than it pays: they hold a few long records.
  static constexpr std::size_t kMostTogether = std::size_t{4} << 20;

  PathTree tree_;
  std::size_t key_slots_, time_slot_;
  std::vector<Found> found_;  // by slot
  bool by_lines_, by_text_, each_field_;
  JsonTokens tokens_;
  KeyFrame frame_;
  std::uint64_t record_ = 0;  // counts records, to tell which nodes were met in this one
  bool escapes_ = false;      // the record has a backslash somewhere
  std::string unescaped_;
  std::string name_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Key> make_json_key(const Wanted& wanted, const KeyContext& context) {
  PathTree tree;
  if (!wanted.key.empty()) tree = parse_paths(wanted.key, "--key");
  const std::size_t key_slots = tree.names.size();
  if (wanted.time.empty()) return std::make_unique<JsonKey>(std::move(tree), key_slots, PathNode::kNone, context);

  const PathTree time = parse_paths(wanted.time, "--time");
  if (time.names.size() > 1) throw Error(fmt::format("--time json:{}: a time is one field", wanted.time));
  if (const std::size_t time_slot = add_path(tree, time); time_slot != PathNode::kNone) {
    return std::make_unique<JsonKey>(std::move(tree), key_slots, time_slot, context);
  }
  return key_and_time(std::make_unique<JsonKey>(std::move(tree), key_slots, PathNode::kNone, context),
                      std::make_unique<JsonKey>(time, 0, 0, context));
}

std::vector<std::string> json_key_fields(std::string_view paths) { return parse_paths(paths, "--key").names; }

}  // namespace nodup
