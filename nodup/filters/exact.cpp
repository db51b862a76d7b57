// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/exact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace nodup {

namespace {
constexpr std::uint64_t kSlot = sizeof(Digest);
static_assert(kSlot == 16, "digests are saved as they lie in memory");

// Digests on their way from or to a file: enough for large writes, little beside any table.
constexpr std::uint64_t kChunk = 4096;
}  // namespace

const Exact::Params& Exact::checked(const Params& p) {
  if (p.keys > kMostKeys)
    throw Error(fmt::format("{} keys are more than an exact filter takes ({})", p.keys, kMostKeys));
  if (p.max_bytes > 0 && bytes(p) > p.max_bytes)
    throw Error(
        fmt::format("an exact filter for {} keys takes {} bytes of memory and the limit is {}: take a larger "
                    "--memory or an --error above 0",
                    p.keys, bytes(p), p.max_bytes));
  return p;
}

double Exact::lines_per_event(const Params& p) {
  const double load = static_cast<double>(p.keys) / static_cast<double>(slots_for(p.keys));
  const double slots = (1 + 1 / ((1 - load) * (1 - load))) / 2;
  return 1 + (slots - 1) * kSlot / 64;
}

Facts Exact::facts(const Params& p) {
  return {{"room", fmt::to_string(p.keys)},
          {"limit", p.max_bytes > 0 ? fmt::to_string(p.max_bytes) : std::string("none")}};
}

void Exact::make_room(std::uint64_t more_keys) {
  if (more_keys > kMostKeys - keys())
    throw Error(fmt::format("{} keys more are more than an exact filter takes ({})", more_keys, kMostKeys));
  const std::uint64_t least = slots_for(keys() + more_keys);
  std::uint64_t slots = table_.slots();
  if (least <= slots) return;
  slots = std::max(least, 2 * slots);
  if (params_.max_bytes > 0) {
    // The last move takes what is left, though it be less than double.
    const std::uint64_t limit = params_.max_bytes / kSlot;
    slots = std::min(slots, limit - std::min(limit, table_.slots()));
    if (slots < least)
      throw Error(
          fmt::format("the exact filter holds {} keys in {} bytes of memory and cannot grow within the limit of "
                      "{} bytes: take a larger --memory or an --error above 0",
                      keys(), bytes(), params_.max_bytes));
  }
  DigestTable larger(slots);
  std::uint64_t next = 0;
  table_.for_each([&](Digest d) { larger.append(d, next); });
  table_ = std::move(larger);
}

void Exact::merge(const Exact& other) {
  std::uint64_t missing = 0;
  other.table_.for_each([&](Digest d) { missing += !contains(d); });
  make_room(missing);
  other.table_.for_each([&](Digest d) { insert(d); });
  has_zero_ |= other.has_zero_;
}

void Exact::save(Writer& out) const {
  out.u64(params_.keys);
  out.u64(keys());
  std::vector<Digest> chunk;
  chunk.reserve(kChunk);
  const auto flush = [&] {
    out.bytes(std::as_bytes(std::span(chunk)));
    chunk.clear();
  };
  if (has_zero_) chunk.push_back(Digest{});
  table_.for_each([&](Digest d) {
    if (chunk.size() == kChunk) flush();
    chunk.push_back(d);
  });
  flush();
}

Exact Exact::load(Reader& in) {
  const std::uint64_t room = in.u64("room", 1, kMostKeys);
  const std::uint64_t count = in.u64("keys", 0, kMostKeys);
  in.require(count * kSlot, "digests");
  Exact loaded({std::max(room, count), 0});
  loaded.params_.keys = room;
  std::vector<Digest> chunk(std::min(count, kChunk));
  std::uint64_t next = 0;
  Digest last;
  for (std::uint64_t done = 0; done < count; done += chunk.size()) {
    chunk.resize(std::min(count - done, kChunk));
    in.bytes(std::as_writable_bytes(std::span(chunk)), "digests");
    for (const Digest d : chunk) {
      if (d == Digest{} && loaded.keys() == 0) {  // the smallest of all, so it stands first or nowhere
        loaded.has_zero_ = true;
        continue;
      }
      if (!(last < d)) in.damaged("its digests are not in ascending order");
      loaded.table_.append(d, next);
      last = d;
    }
  }
  return loaded;
}

}  // namespace nodup
