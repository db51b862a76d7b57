// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/attenuated.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace nodup {

AttenuatedFilter::AttenuatedFilter(std::vector<BitRow> levels) : levels_(std::move(levels)) {}

AttenuatedFilter AttenuatedFilter::told(const BitRow& own, std::span<const AttenuatedFilter* const> beyond,
                                        std::size_t depth) {
  if (depth < 1 || depth > kMostDepth)
    throw Error(fmt::format("an attenuated filter of {} levels: it takes 1 to {}", depth, kMostDepth));
  std::vector<BitRow> levels{own};
  for (std::size_t hops = 1; hops < depth; ++hops) {
    BitRow& level = levels.emplace_back(own.empty_like());
    for (const AttenuatedFilter* direction : beyond)
      if (hops <= direction->depth()) level.merge(direction->level(hops));
  }
  return AttenuatedFilter(std::move(levels));
}

std::optional<std::size_t> AttenuatedFilter::distance(Digest d) const noexcept {
  const auto found = std::ranges::find_if(levels_, [&](const BitRow& level) { return level.contains(d); });
  if (found == levels_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - levels_.begin()) + 1;
}

std::uint64_t AttenuatedFilter::bytes() const {
  std::uint64_t sum = 0;
  for (const BitRow& level : levels_) sum += level.bytes();
  return sum;
}

void AttenuatedFilter::save(Writer& out) const {
  out.u64(levels_.size());
  for (const BitRow& level : levels_) level.save(out);
}
AttenuatedFilter AttenuatedFilter::load(Reader& in) {
  const std::uint64_t depth = in.u64("number of levels", 1, kMostDepth);
  std::vector<BitRow> levels;
  for (std::uint64_t i = 0; i < depth; ++i) levels.push_back(BitRow::load(in));
  return AttenuatedFilter(std::move(levels));
}

}  // namespace nodup
