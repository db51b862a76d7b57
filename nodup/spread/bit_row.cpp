// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/bit_row.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nodup {

BitRow::BitRow(const BloomParams& part, std::uint64_t most_parts)
    : params_(part.checked()), most_parts_(std::max<std::uint64_t>(most_parts, 1)) {}

BitRow::BitRow(const Dynamic& filter, std::uint64_t most_parts) : BitRow(filter.filter(0).params(), most_parts) {
  for (std::size_t i = 0; i < filter.filter_count(); ++i) {
    if (filter.filter(i).above_zero() == 0) continue;
    const Part part = std::make_shared<const BitPart>(filter.filter(i));
    // As they are, if they may be as many: that the later ones are less full keeps the total error.
    if (parts_.size() < most_parts_)
      parts_.push_back(part);
    else
      take(part);
  }
}

bool BitRow::contains(Digest d) const noexcept {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part->contains(d); });
}

void BitRow::merge(const BitRow& other) {
  params_.require_same(other.params_, Partitioned::kName);
  if (this == &other) return;
  for (const Part& part : other.parts_) take(part);
}

void BitRow::take(const Part& part) {
  if (std::ranges::any_of(parts_, [&](const Part& held) { return held->includes(*part); })) return;
  const auto unite = [&](Part& held, std::uint64_t most_ones) {
    std::optional<BitPart> united = held->united(*part, most_ones);
    if (united) held = std::make_shared<const BitPart>(std::move(*united));
    return united.has_value();
  };
  const std::uint64_t full = part->ones_when_full();
  if (std::ranges::any_of(parts_, [&](Part& held) { return unite(held, full); })) return;
  if (parts_.size() < most_parts_)
    parts_.push_back(part);
  else
    unite(*std::ranges::min_element(parts_, {}, [](const Part& held) { return held->ones(); }), params_.bits);
}

std::uint64_t BitRow::bytes() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part->bytes();
  return sum;
}
double BitRow::false_positive() const {
  double log_none = 0;  // of the chance that no part errs; a product would lose rates below 1e-16
  for (const Part& part : parts_) log_none += std::log1p(-part->false_positive());
  return 0 - std::expm1(log_none);
}

void BitRow::save(Writer& out) const {
  params_.save(out);
  out.u64(most_parts_);
  out.u64(parts_.size());
  for (const Part& part : parts_) part->save(out);
}
BitRow BitRow::load(Reader& in) {
  const BloomParams params = BloomParams::load(in);
  const std::uint64_t most_parts = in.u64("most parts", 1, kAnyLength);
  // A part takes 32 bytes at least, so a number of parts beyond the bytes that are there is refused.
  const std::uint64_t count = in.u64("number of parts", 0, std::min(most_parts, in.remaining() / 32));
  BitRow row(params, most_parts);
  for (std::uint64_t i = 0; i < count; ++i) {
    row.parts_.push_back(std::make_shared<const BitPart>(BitPart::load(in)));
    if (row.parts_.back()->params() != params) in.damaged("its parts are not equal");
  }
  return row;
}

}  // namespace nodup
