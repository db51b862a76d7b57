// SPDX-License-Identifier: Apache-2.0
#include "nodup/plan/trial.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "nodup/filters/registry.hpp"

namespace nodup {

namespace {

constexpr std::size_t kBatch = 1024;

// A filter is asked for its rates so many times along the stream: between two moments they are taken as a straight
// line, which is 1 % off where the error grows like the 20th power of the keys.
constexpr std::size_t kMoments = 64;

// Batches of the stream, with the answers of a filter to each: what(first event of the batch, answers).
template <class What>
void judge(AnyFilter& filter, std::span<const Digest> keys, What&& what) {
  std::array<Tick, kBatch> ticks;
  std::array<bool, kBatch> is_new;
  for (std::size_t at = 0; at < keys.size(); at += kBatch) {
    const std::span<const Digest> batch = keys.subspan(at, std::min(kBatch, keys.size() - at));
    std::iota(ticks.begin(), ticks.end(), static_cast<Tick>(at));
    filter.make_room(batch.size());
    filter.insert_all(batch, ticks.data(), is_new.data());
    what(at, std::span<const bool>(is_new.data(), batch.size()));
  }
}

}  // namespace

Trial::Trial(std::vector<Digest> keys) : keys_(std::move(keys)) {
  AnyFilter exact = filter_kind("exact").make({.keys = 1});
  first_.reserve(keys_.size());
  judge(exact, keys_,
        [&](std::size_t, std::span<const bool> is_new) { first_.insert(first_.end(), is_new.begin(), is_new.end()); });
}

Outcome Trial::run(AnyFilter& filter) const {
  Outcome outcome;
  double expected_lost = 0, rate_then = filter.rates().false_positive;
  std::uint64_t firsts_then = 0;
  std::size_t next_moment = 0;
  judge(filter, keys_, [&](std::size_t at, std::span<const bool> is_new) {
    std::uint64_t firsts = 0;
    for (std::size_t i = 0; i < is_new.size(); ++i) {
      const bool first = first_[at + i];
      firsts += first;
      outcome.lost += first && !is_new[i];
      outcome.passed += !first && is_new[i];
    }
    outcome.firsts += firsts;
    outcome.duplicates += is_new.size() - firsts;
    const std::size_t done = at + is_new.size();
    if (done < next_moment && done < keys_.size()) return;
    next_moment = done + keys_.size() / kMoments;
    const double rate = filter.rates().false_positive;
    expected_lost += static_cast<double>(outcome.firsts - firsts_then) * (rate_then + rate) / 2;
    rate_then = rate;
    firsts_then = outcome.firsts;
  });
  if (outcome.firsts > 0) outcome.expected_false_positive = expected_lost / static_cast<double>(outcome.firsts);
  return outcome;
}

}  // namespace nodup
