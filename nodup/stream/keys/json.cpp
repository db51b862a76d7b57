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
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "nodup/error.hpp"
#include "nodup/stream/keys/json_text.hpp"
#include "nodup/stream/keys/paths.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/time.hpp"

namespace nodup {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kFirstCapacity = 64 << 10;
constexpr std::size_t kUnusedDepth = 1;  // of simdjson's own second stage, which never runs

// simdjson reads, but never judges by, bytes behind a record.
static_assert(simdjson::SIMDJSON_PADDING <= ByteBuffer::kPadding);

// How a token changes the number of open brackets.
constexpr auto kNesting = [] {
  std::array<std::int8_t, 256> nesting{};
  nesting['{'] = nesting['['] = 1;
  nesting['}'] = nesting[']'] = -1;
  return nesting;
}();

// Tokens that are no scalars.
constexpr auto kMarks = [] {
  std::array<bool, 256> marks{};
  for (const unsigned char mark : {'{', '}', '[', ']', ':', ','}) marks[mark] = true;
  return marks;
}();

// The places of the tokens of a block of records, or of one record, and a walk over those of the record at hand.
class Tokens {
 public:
  // Null, or what is wrong with the bytes. They must stay where they are, with simdjson's padding behind them.
  const char* index(std::string_view bytes) {
    grow(bytes.size());
    const auto error = parser_->stage1(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                       simdjson::stage1_mode::regular);
    if (error) return simdjson::error_message(error);
    bytes_ = bytes.data();
    at_ = parser_->structural_indexes.get();
    return nullptr;
  }
  // The record at hand is [from, limit) of the indexed bytes; records come in ascending order.
  void begin_record(std::size_t from, std::size_t limit) {
    while (*at_ < from) ++at_;
    limit_ = limit;
  }

  // For a walk of one's own: the token at hand, the bytes it points into, the end of the record.
  const std::uint32_t* at() const { return at_; }
  void go_to(const std::uint32_t* at) { at_ = at; }
  const char* bytes() const { return bytes_; }
  std::size_t end() const { return limit_; }

  // simdjson ends its list with the number of bytes, so there is always a place to look at.
  bool done() const { return *at_ >= limit_; }
  // The first byte of the token at hand; at the end one that begins none.
  char peek() const { return done() ? ' ' : bytes_[*at_]; }
  char next() { return done() ? ' ' : bytes_[*at_++]; }
  const char* place() const { return bytes_ + std::min<std::size_t>(*at_, limit_); }
  const char* limit() const { return bytes_ + limit_; }
  void pass() { ++at_; }

  // The whole of the scalar at hand. Tokens reach to the next one, but for the blanks between.
  std::string_view next_scalar() {
    const char* const from = bytes_ + *at_++;
    return without_blanks_behind({from, static_cast<std::size_t>(place() - from)});
  }

  // Passes a value; false when there is none or it never ends.
  bool skip_value() {
    const char c = next();
    if (c == '{' || c == '[') return skip_to_close();
    return c != '}' && c != ']' && c != ',' && c != ':' && c != ' ';
  }
  // The token behind the bracket that closes the one before `at`, or nullptr.
  const std::uint32_t* behind_close(const std::uint32_t* at) const {
    std::int64_t open = 1;
    while (open > 0 && *at < limit_) open += kNesting[static_cast<unsigned char>(bytes_[*at++])];
    return open == 0 ? at : nullptr;
  }
  // Passes all up to the bracket that closes the one just passed.
  bool skip_to_close() {
    const std::uint32_t* const behind = behind_close(at_);
    if (behind != nullptr) at_ = behind;
    return behind != nullptr;
  }

  static std::string_view without_blanks_behind(std::string_view text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n' || text.back() == '\r')) {
      text.remove_suffix(1);
    }
    return text;
  }

 private:
  void grow(std::size_t size) {
    if (parser_ != nullptr && size <= parser_->capacity()) return;
    const std::size_t room =
        std::min<std::size_t>(std::bit_ceil(std::max(size, kFirstCapacity)), simdjson::SIMDJSON_MAXSIZE_BYTES);
    const auto error = parser_ != nullptr ? parser_->allocate(room, kUnusedDepth)
                                          : simdjson::get_active_implementation()->create_dom_parser_implementation(
                                                room, kUnusedDepth, parser_);
    if (error) throw Error(fmt::format("no memory for parsing a JSON record of {} bytes", size));
  }

  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser_;
  const char* bytes_ = nullptr;
  const std::uint32_t* at_ = nullptr;
  std::size_t limit_ = 0;
};

class JsonKey final : public Key {
 public:
  // The first `key_slots` of the tree are the key; time_slot is any of the tree, or kNone.
  JsonKey(PathTree tree, std::size_t key_slots, std::size_t time_slot, char separator)
      : tree_(std::move(tree)),
        key_slots_(key_slots),
        time_slot_(time_slot),
        found_(tree_.names.size()),
        by_lines_(separator == '\n') {}

  // All records of a batch are indexed at once: that is 20 ns per record of 100 bytes cheaper than one after the other.
  // It gives the same tokens, because a newline is a blank between tokens and an error inside a string. Any error, and
  // any other separator, and it is done record by record, which tells whose error it is.
  void extract(Batch& batch, const Hasher& hasher) override {
    batch.bad.clear();
    if (has_key()) batch.digests.resize(batch.size());
    if (has_time()) batch.ticks.resize(batch.size());
    const char* const bytes = batch.bytes.data();
    const std::size_t mark = byte_order_mark(batch);
    const std::string_view block = std::string_view(bytes, batch.bytes.size()).substr(mark);
    const bool together = by_lines_ && batch.size() > 1 && block.size() <= kMostTogether && !tokens_.index(block);
    const bool any_escapes = std::memchr(block.data(), '\\', block.size()) != nullptr;
    for (std::size_t i = batch.header; i < batch.size(); ++i) {
      std::string_view record = batch.record(i);
      if (i == 0) record.remove_prefix(mark);
      escapes_ = any_escapes && record.find('\\') != std::string_view::npos;
      if (together)
        tokens_.begin_record(static_cast<std::size_t>(record.data() - block.data()),
                             static_cast<std::size_t>(record.data() - block.data()) + record.size());
      Tick tick = 0;
      if ((together || index_alone(record)) && walk(record) && frame_found() && read_tick(tick)) {
        if (has_key()) batch.digests[i] = hasher(frame_.bytes());
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
    reason_ = fmt::format("broken JSON: {}", how);
    return false;
  }

  // The length of the byte order mark that an input may begin with.
  static std::size_t byte_order_mark(const Batch& batch) {
    const bool has = batch.size() > 0 && batch.first_record == 1 && batch.record(0).starts_with(kByteOrderMark);
    return has ? kByteOrderMark.size() : 0;
  }

  bool index_alone(std::string_view record) {
    if (record.size() > simdjson::SIMDJSON_MAXSIZE_BYTES) {
      reason_ = "longer than 4 GiB, more than the JSON parser can take";
      return false;
    }
    if (record.empty()) return broken("the record is empty");
    if (const char* const wrong = tokens_.index(record)) return broken(wrong);
    tokens_.begin_record(0, record.size());
    return true;
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
      if (found_[slot].tag == FieldTag::missing) return missing(slot);
      frame_.add(found_[slot].tag, found_[slot].bytes);
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
  // list goes on for three places behind its last token, so the check may come after the load.
  const std::uint32_t* walk_plain_object(PathNode& node, const std::uint32_t* at, std::size_t& found) {
    const char* const bytes = tokens_.bytes();
    const std::size_t end = tokens_.end();
    for (std::size_t unmet = node.children.size(); unmet > 0;) {
      const std::uint32_t* const value = at + 2;
      if (at[1] >= end || *value >= end || bytes[at[0]] != '"' || bytes[at[1]] != ':') return nullptr;
      const char first = bytes[*value];
      const std::uint32_t* next = value + 1;
      if (first == '{' || first == '[')
        next = tokens_.behind_close(next);
      else if (kMarks[static_cast<unsigned char>(first)])
        return nullptr;
      if (next == nullptr || *next >= end) return nullptr;
      if (PathNode* const child = find_plain(node, bytes + at[0] + 1); child != nullptr && child->met != record_) {
        child->met = record_;
        --unmet;
        if (child->slot == PathNode::kNone) {
          if (first != '{' || walk_plain_object(*child, value + 1, found) != next) return nullptr;
        } else {
          const std::string_view text =
              Tokens::without_blanks_behind({bytes + *value, static_cast<std::size_t>(*next - *value)});
          if (first == '{' || first == '[')
            found_[child->slot] = {FieldTag::compound, text};
          else if (!keep_scalar(found_[child->slot], text))
            return nullptr;
          ++found;
        }
      }
      at = next + 1;
      if (bytes[*next] == '}') return at;
      if (bytes[*next] != ',') return nullptr;
    }
    return tokens_.behind_close(at);
  }

  // A string's token is followed by blanks or another token, so without blanks it ends in its quote.
  static std::string_view inside_quotes(std::string_view text) {
    return text.size() < 2 ? std::string_view() : text.substr(1, text.size() - 2);
  }

  // From behind the { to behind the }.
  bool walk_object(PathNode& node) {
    if (tokens_.peek() == '}') return tokens_.next() == '}';
    for (std::size_t unmet = node.children.size(); unmet > 0;) {
      PathNode* child = nullptr;
      if (tokens_.peek() != '"') return broken("a field has no name");
      if (escapes_) {
        if (!find_escaped(node, inside_quotes(tokens_.next_scalar()), child)) return false;
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
      found_[node.slot] = {FieldTag::compound, Tokens::without_blanks_behind(text)};
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
      found = {FieldTag::text, inside_quotes(text)};
      if (!escapes_ || found.bytes.find('\\') == std::string_view::npos) return true;
      const std::size_t from = unescaped_.size();
      if (!append_unescaped(found.bytes, unescaped_)) return broken("a string has a wrong escape");
      found.bytes = std::string_view(unescaped_).substr(from);
      return true;
    }
    if (text == "true" || text == "false" || text == "null") {
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
  bool by_lines_;
  Tokens tokens_;
  KeyFrame frame_;
  std::uint64_t record_ = 0;  // counts records, to tell which nodes were met in this one
  bool escapes_ = false;      // the record has a backslash somewhere
  std::string unescaped_;
  std::string name_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Key> make_json_key(const Wanted& wanted, const KeyContext& context) {
  const char separator = context.format.separator;
  PathTree tree;
  if (!wanted.key.empty()) tree = parse_paths(wanted.key, "--key");
  const std::size_t key_slots = tree.names.size();
  if (wanted.time.empty()) return std::make_unique<JsonKey>(std::move(tree), key_slots, PathNode::kNone, separator);

  const PathTree time = parse_paths(wanted.time, "--time");
  if (time.names.size() > 1) throw Error(fmt::format("--time json:{}: a time is one field", wanted.time));
  if (const std::size_t time_slot = add_path(tree, time); time_slot != PathNode::kNone) {
    return std::make_unique<JsonKey>(std::move(tree), key_slots, time_slot, separator);
  }
  return key_and_time(std::make_unique<JsonKey>(std::move(tree), key_slots, PathNode::kNone, separator),
                      std::make_unique<JsonKey>(time, 0, 0, separator));
}

}  // namespace nodup
