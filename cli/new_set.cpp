// SPDX-License-Identifier: Apache-2.0
#include "cli/new_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

// Digests; 256 MiB.
constexpr std::size_t kMostGathered = std::size_t{1} << 24;

// A set that will be changed has room for as many keys again as it begins with, and for so many at least (half a
// megabyte at the default error): every filter that it must append later is one more to look into.
constexpr std::uint64_t kLeastForChanges = 1 << 16;

}  // namespace

NewSet::NewSet(Options options)
    : options_(std::move(options)), width_(options_.attributes ? key_fields(options_.key).size() : 1) {}

void NewSet::take(const Batch& batch, BatchReader& reader) {
  const std::span<const Digest> rows = options_.attributes ? batch.fields : batch.digests;
  if (!set_ && options_.events && !gathers_all()) set_.emplace(make(*options_.events));
  if (set_)
    put(rows);
  else
    gather(rows, reader);
}

// Many keys come more than once. Where that does not matter only one of each is kept.
void NewSet::gather(std::span<const Digest> rows, BatchReader& reader) {
  gathered_.insert(gathered_.end(), rows.begin(), rows.end());
  if (!options_.for_changes && gathered_.size() >= std::max<std::size_t>(2 * distinct_, 1 << 16)) {
    (void)count_gathered();
    distinct_ = gathered_.size();
  }
  if (gathers_all() || gathered_.size() < kMostGathered) return;
  const std::uint64_t keys = count_gathered();
  const std::optional<std::uint64_t> guess = reader.estimated_records();
  if (!options_.attributes && !guess && !filter_kind(options_.filter).grows)
    throw UsageError(fmt::format(
        "--filter {} has a fixed size and there are more than {} keys: add --events COUNT, the number of distinct keys",
        options_.filter, human_count(keys)));
  set_.emplace(make(std::max(4 * keys, guess.value_or(0))));
  put_gathered();
}

// How many are distinct. Sorts them; where each shall count once only one of each stays.
std::uint64_t NewSet::count_gathered() {
  if (options_.attributes) {
    if (!options_.for_changes) keep_distinct_rows();
    return gathered_.size() / width_;
  }
  std::ranges::sort(gathered_);
  if (!options_.for_changes) {
    gathered_.erase(std::unique(gathered_.begin(), gathered_.end()), gathered_.end());
    return gathered_.size();
  }
  std::uint64_t distinct = gathered_.empty() ? 0 : 1;
  for (std::size_t i = 1; i < gathered_.size(); ++i) distinct += gathered_[i] != gathered_[i - 1];
  return distinct;
}

void NewSet::keep_distinct_rows() {
  const auto row = [&](std::size_t i) { return std::span(gathered_).subspan(i * width_, width_); };
  std::vector<std::size_t> order(gathered_.size() / width_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order,
                    [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(row(a), row(b)); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](std::size_t a, std::size_t b) { return std::ranges::equal(row(a), row(b)); }),
              order.end());
  std::vector<Digest> kept;
  kept.reserve(order.size() * width_);
  std::ranges::for_each(order, [&](std::size_t i) { kept.insert(kept.end(), row(i).begin(), row(i).end()); });
  gathered_ = std::move(kept);
}

KeySet NewSet::make(std::uint64_t keys) const {
  keys = std::max<std::uint64_t>(keys, 1);
  if (options_.attributes) {
    KeySet set = KeySet::make_of_rows({.rows = keys, .error = options_.error}, options_.seed, options_.key);
    set.use_key(options_.key, {}, KeySet::Use::add, "the new set");
    return set;
  }
  // An exact set has no use for a rate, but every plan wants one inside its range.
  const Goal goal{.keys = keys, .error = options_.error > 0 ? options_.error : 0.5};
  return KeySet::make(filter_kind(options_.filter), goal, options_.error, options_.seed, options_.key);
}

// In pieces: the answers of all at once would be as many again.
void NewSet::put_gathered() {
  const std::vector<Digest> rows = std::exchange(gathered_, {});
  const std::size_t piece = 65536 * width_;
  for (std::size_t from = 0; from < rows.size(); from += piece)
    put(std::span(rows).subspan(from, std::min(piece, rows.size() - from)));
}

void NewSet::put(std::span<const Digest> rows) {
  if (options_.for_changes || gathers_all())
    set_->add(rows);
  else
    set_->insert(rows);
}

KeySet NewSet::finish() {
  if (!set_) {
    const std::uint64_t keys = count_gathered();
    set_.emplace(make(options_.events        ? *options_.events
                      : options_.for_changes ? std::max(2 * keys, kLeastForChanges)
                                             : keys));
    put_gathered();
  }
  return std::move(*set_);
}

}  // namespace nodup::cli
