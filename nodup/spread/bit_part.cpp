// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/bit_part.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace nodup {

namespace {
std::uint64_t ones_of(const std::vector<std::uint64_t>& words) {
  std::uint64_t ones = 0;
  for (const std::uint64_t word : words) ones += static_cast<std::uint64_t>(std::popcount(word));
  return ones;
}
std::uint64_t words_for(const BloomParams& params) { return (params.bits + 63) / 64; }
}  // namespace

BitPart::BitPart(const Counting& filter)
    : params_(filter.params()), places_(params_), words_(filter.counters().above_zero()), ones_(ones_of(words_)) {}
BitPart::BitPart(const BloomParams& params, std::vector<std::uint64_t> words, std::uint64_t ones)
    : params_(params), places_(params), words_(std::move(words)), ones_(ones) {}

bool BitPart::includes(const BitPart& other) const noexcept {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  return true;
}
std::optional<BitPart> BitPart::united(const BitPart& other, std::uint64_t most_ones) const {
  // Most unions that are tried are of parts that are full, or would be half way through.
  if (std::max(ones_, other.ones_) > most_ones) return std::nullopt;
  std::vector<std::uint64_t> words(words_.size());
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = words_[i] | other.words_[i];
    ones += static_cast<std::uint64_t>(std::popcount(words[i]));
    if (ones > most_ones) return std::nullopt;
  }
  return BitPart(params_, std::move(words), ones);
}

double BitPart::false_positive() const {
  return std::pow(static_cast<double>(ones_) / static_cast<double>(places_.used()),
                  static_cast<double>(params_.probes));
}
std::uint64_t BitPart::ones_when_full() const {
  const double fill = theory::bloom_fill(theory::Placing::sliced, static_cast<double>(params_.bits),
                                         static_cast<double>(params_.probes), static_cast<double>(params_.keys));
  return static_cast<std::uint64_t>(std::ceil(fill * static_cast<double>(places_.used())));
}

void BitPart::save(Writer& out) const {
  params_.save(out);
  out.bytes(std::as_bytes(std::span(words_)));
}
BitPart BitPart::load(Reader& in) {
  const BloomParams params = BloomParams::load(in);
  in.require(words_for(params) * 8, "bits");
  std::vector<std::uint64_t> words(words_for(params));
  in.bytes(std::as_writable_bytes(std::span(words)), "bits");
  const std::uint64_t ones = ones_of(words);
  BitPart part(params, std::move(words), ones);
  for (std::uint64_t i = part.places_.used(); i < part.words_.size() * 64; ++i)
    if (part.words_[i / 64] >> (i % 64) & 1) in.damaged("a bit past the end of the filter is set");
  return part;
}

}  // namespace nodup
