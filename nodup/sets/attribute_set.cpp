// SPDX-License-Identifier: Apache-2.0
#include "nodup/sets/attribute_set.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "nodup/hash/hasher.hpp"
#include "nodup/text/quoted.hpp"

namespace nodup {

namespace {

// Of names and of rows made of digests. The values' digests carry the seed already.
const Hasher kUnseeded(0);

// Many rows of the same attributes.
struct Rows {
  std::span<const std::size_t> attributes;
  std::span<const Digest> values;

  // One of them: a range of Attribute.
  class Row {
   public:
    struct Iterator {
      const Row* row;
      std::size_t column;
      Attribute operator*() const { return {row->attributes_[column], row->values_[column]}; }
      Iterator& operator++() {
        ++column;
        return *this;
      }
      bool operator!=(const Iterator& other) const { return column != other.column; }
    };

    Row(std::span<const std::size_t> attributes, const Digest* values) : attributes_(attributes), values_(values) {}
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size()}; }
    std::size_t size() const { return attributes_.size(); }

   private:
    std::span<const std::size_t> attributes_;
    const Digest* values_;
  };

  std::size_t count() const { return values.size() / attributes.size(); }
  Row row(std::size_t i) const { return {attributes, values.data() + i * attributes.size()}; }
  Digest at(std::size_t i, std::size_t column) const { return values[i * attributes.size() + column]; }
};

// Digests and answers of so many rows fit on the stack, and prefetching is rarely idle.
constexpr std::size_t kPiece = 512;

// Calls digest_of for each row and visit(first row, digests) for each piece.
template <class DigestOf, class Visit>
void in_pieces(std::size_t count, DigestOf&& digest_of, Visit&& visit) {
  std::array<Digest, kPiece> digests;
  for (std::size_t from = 0; from < count; from += kPiece) {
    const std::size_t size = std::min(kPiece, count - from);
    for (std::size_t i = 0; i < size; ++i) digests[i] = digest_of(from + i);
    visit(from, std::span<const Digest>(digests).first(size));
  }
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

AttributeSet::AttributeSet(const Params& params)
    : max_bytes_(params.max_bytes), rows_(Dynamic::fit({.keys = params.rows, .error = params.error})) {
  if (max_bytes_ != 0 && bytes() > max_bytes_)
    throw Error(fmt::format("a set of {} rows needs {} bytes for the rows and as many for each attribute, more than {}",
                            params.rows, bytes(), max_bytes_));
}

std::optional<std::size_t> AttributeSet::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t AttributeSet::attribute(std::string_view name) {
  if (const auto known = find(name)) return *known;
  if (name.empty() || name.size() > kLongestName)
    throw Error(fmt::format("an attribute's name has 1 to {} bytes, not {}", kLongestName, name.size()));
  if (names_.size() == kMostAttributes)
    throw Error(fmt::format("{} would be attribute {}: a set has at most {}", quoted(name), names_.size() + 1,
                            kMostAttributes));
  if (max_bytes_ != 0 && bytes() + Dynamic::bytes(rows_.params()) > max_bytes_)
    throw Error(fmt::format("no memory for the attribute {}: with its filter the set takes {} bytes, more than {}",
                            quoted(name), bytes() + Dynamic::bytes(rows_.params()), max_bytes_));
  adopt(std::string(name), Dynamic(rows_.params()));
  return names_.size() - 1;
}

void AttributeSet::adopt(std::string name, Dynamic values) {
  values_.push_back(std::move(values));
  name_digests_.push_back(kUnseeded(name));
  index_.emplace(name, names_.size());
  names_.push_back(std::move(name));
}

void AttributeSet::make_room(std::uint64_t rows) {
  const auto grow = [&](Dynamic& filter) {
    // Whoever comes first takes what is left; the others then err more often.
    if (max_bytes_ != 0) filter.limit_memory(filter.bytes() + max_bytes_ - std::min(bytes(), max_bytes_));
    filter.make_room(rows);
    filter.limit_memory(0);  // the limit is of all together
  };
  grow(rows_);
  for (Dynamic& values : values_) grow(values);
}

// A value under its name: equal values of different attributes are different.
Digest AttributeSet::marked(const Attribute& attribute) const noexcept {
  const std::array<Digest, 2> pair = {name_digests_[attribute.index], attribute.value};
  return kUnseeded(bytes_of(pair));
}

// A sum does not depend on the order. Hashed once more it is as even as the digest of any key.
template <class Row>
Digest AttributeSet::whole(const Row& row) const noexcept {
  std::array<std::uint64_t, 3> sum = {row.size(), 0, 0};
  for (const Attribute& attribute : row) {
    const Digest value = marked(attribute);
    sum[1] += value.lo;
    sum[2] += value.hi;
  }
  return kUnseeded(bytes_of(sum));
}

bool AttributeSet::add(std::span<const Attribute> row) noexcept {
  for (const Attribute& attribute : row) values_[attribute.index].add(attribute.value);
  return rows_.add(whole(row));
}

bool AttributeSet::contains_row(std::span<const Attribute> row) const noexcept { return rows_.contains(whole(row)); }

bool AttributeSet::contains_part(std::span<const Attribute> part) const noexcept {
  return std::ranges::all_of(
      part, [&](const Attribute& attribute) { return values_[attribute.index].contains(attribute.value); });
}

template <class Row>
Erased AttributeSet::erase(const Row& row, Digest whole_row) noexcept {
  Erased answer = rows_.erasable(whole_row);
  for (const Attribute& attribute : row) {
    if (answer == Erased::absent) return answer;
    const Erased one = values_[attribute.index].erasable(attribute.value);
    if (one != Erased::removed) answer = one;
  }
  if (answer != Erased::removed) return answer;
  rows_.erase(whole_row);
  for (const Attribute& attribute : row) values_[attribute.index].erase(attribute.value);
  return answer;
}
Erased AttributeSet::erase(std::span<const Attribute> row) noexcept { return erase(row, whole(row)); }

void AttributeSet::add_rows(std::span<const std::size_t> attributes, std::span<const Digest> values,
                            bool* is_new) noexcept {
  const Rows rows{attributes, values};
  std::array<bool, kPiece> ignored;
  for (std::size_t column = 0; column < attributes.size(); ++column)
    in_pieces(
        rows.count(), [&](std::size_t i) { return rows.at(i, column); },
        [&](std::size_t, auto digests) { add_all(values_[attributes[column]], digests, ignored.data()); });
  in_pieces(
      rows.count(), [&](std::size_t i) { return whole(rows.row(i)); },
      [&](std::size_t from, auto digests) { add_all(rows_, digests, is_new + from); });
}

void AttributeSet::contains_rows(std::span<const std::size_t> attributes, std::span<const Digest> values,
                                 bool* seen) const noexcept {
  const Rows rows{attributes, values};
  in_pieces(
      rows.count(), [&](std::size_t i) { return whole(rows.row(i)); },
      [&](std::size_t from, auto digests) { contains_all(rows_, digests, seen + from); });
}

void AttributeSet::contains_parts(std::span<const std::size_t> attributes, std::span<const Digest> values,
                                  bool* seen) const noexcept {
  const Rows rows{attributes, values};
  std::fill_n(seen, rows.count(), true);
  std::array<bool, kPiece> occurred;
  for (std::size_t column = 0; column < attributes.size(); ++column)
    in_pieces(
        rows.count(), [&](std::size_t i) { return rows.at(i, column); },
        [&](std::size_t from, auto digests) {
          contains_all(values_[attributes[column]], digests, occurred.data());
          for (std::size_t i = 0; i < digests.size(); ++i) seen[from + i] &= occurred[i];
        });
}

void AttributeSet::erase_rows(std::span<const std::size_t> attributes, std::span<const Digest> values,
                              Erased* answers) noexcept {
  const Rows rows{attributes, values};
  in_pieces(
      rows.count(), [&](std::size_t i) { return whole(rows.row(i)); },
      [&](std::size_t from, auto digests) {
        visit_prefetched(
            digests.size(),
            [&](std::size_t i) {
              rows_.prefetch(digests[i]);
              for (const Attribute& attribute : rows.row(from + i)) values_[attribute.index].prefetch(attribute.value);
            },
            [&](std::size_t i) { answers[from + i] = erase(rows.row(from + i), digests[i]); });
      });
}

void AttributeSet::merge(const AttributeSet& other) {
  // First all that can be refused.
  std::vector<std::size_t> ours;
  std::vector<Dynamic::Union> plans;
  Dynamic::Union row_plan = rows_.plan_union(other.rows_);
  for (const std::string& name : other.names_) ours.push_back(attribute(name));
  for (std::size_t i = 0; i < ours.size(); ++i) plans.push_back(values_[ours[i]].plan_union(other.values_[i]));
  std::uint64_t fresh = row_plan.fresh.size();
  for (const Dynamic::Union& plan : plans) fresh += plan.fresh.size();
  if (const std::uint64_t needed = bytes() + fresh * Dynamic::bytes(rows_.params());
      max_bytes_ != 0 && needed > max_bytes_)
    throw Error(
        fmt::format("the union of two sets takes {} bytes, more than the {} that it may have", needed, max_bytes_));
  rows_.unite(other.rows_, std::move(row_plan));
  for (std::size_t i = 0; i < ours.size(); ++i) values_[ours[i]].unite(other.values_[i], std::move(plans[i]));
}

std::uint64_t AttributeSet::bytes() const {
  std::uint64_t sum = rows_.bytes();
  for (const Dynamic& values : values_) sum += values.bytes();
  return sum;
}

Facts AttributeSet::facts() const {
  Facts facts = rows_.facts();
  facts.emplace_back("attributes", std::to_string(names_.size()));
  for (std::size_t i = 0; i < names_.size(); ++i) {
    facts.emplace_back("attribute " + names_[i],
                       fmt::format("filters={} saturated={} error={:.3g}", values_[i].filters(), values_[i].saturated(),
                                   values_[i].rates().false_positive));
  }
  return facts;
}

void AttributeSet::save(Writer& out) const {
  rows_.save(out);
  out.u64(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out.text(names_[i]);
    values_[i].save(out);
  }
}

AttributeSet AttributeSet::load(Reader& in) {
  AttributeSet set(Dynamic::load(in));
  const std::uint64_t count = in.u64("number of attributes", 0, kMostAttributes);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name = in.text("name of an attribute", kLongestName);
    if (name.empty()) in.damaged("an attribute without a name");
    if (set.find(name)) in.damaged(fmt::format("the attribute {} stands there twice", quoted(name)));
    Dynamic values = Dynamic::load(in);
    if (values.params() != set.rows_.params()) in.damaged("its filters are not equal");
    set.adopt(std::move(name), std::move(values));
  }
  return set;
}

}  // namespace nodup
