// SPDX-License-Identifier: Apache-2.0
//
// The errors of a filter, measured while it works: a share of the KEYS is followed exactly beside it.
//
// What is true. Without a window an event is new if its key comes for the first time, and a duplicate from then on.
// With one it is a duplicate if its key was passed (with refresh: seen) at most the span before, and new if that is
// longer ago than span, slack and lateness together; between the two the filter may answer either way, and the event
// counts for neither. A false positive is a new event judged a duplicate; a false negative is a duplicate judged new.
//
// Two strata. Errors cluster by key, and a few keys may have most of the duplicates: if one of those is missing in the
// sample, or in it, the measurement is worth little. So the keys that come often are all followed, in a small cache; an
// event whose key is in the cache at that moment is FREQUENT and counted, not estimated. Of all OTHER events those of
// the sampled keys are counted, key by key. Which stratum an event belongs to depends on the stream alone, never on the
// sample, so nothing is counted twice or left out. (A key may be in both: its events are.)
//
// Estimate. The followed keys are a sample of clusters. How many other events there were is known, so it scales the
// sample up: (frequent errors + scale * sampled errors) / (frequent trials + scale * sampled trials), a combined ratio
// estimator; its variance comes from what each KEY adds to it (linearised, with finite population correction: at rate 1
// nothing is estimated). The interval is that of Clopper and Pearson for the number of independent trials that would
// have this variance, fewer if the trials are effectively spread over few keys (Korn and Graubard 1998).
// experiments/audit measures how often it holds the true rate.
//
// Memory is fixed: when the table of followed keys is full, the sampling rate is halved, and the keys no longer in the
// sample are dropped with all their counts: what stays is a sample of the whole stream at the lower rate.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/goal.hpp"
#include "nodup/theory/interval.hpp"

namespace nodup {

struct AuditReading {
  double rate = 0;         // the present sampling rate
  std::uint64_t keys = 0;  // followed as a sample
  // With 95 % intervals; nothing where there was nothing to be wrong about.
  std::optional<Interval> false_positive, false_negative;
};

// Not thread-safe: events are told in input order.
class Audit {
 public:
  static constexpr std::uint64_t kMostKeys = 65536;
  static constexpr double kDefaultRate = 1.0 / 1024;

  struct Options {
    double rate = kDefaultRate;  // of the keys to follow: above 0, at most 1
    Window window = {};
    std::uint64_t most_keys = kMostKeys;
  };

  explicit Audit(const Options& options);

  // Events and the filter's verdicts on them. `ticks` may be null when the window is endless.
  void observe(std::span<const Digest> keys, const Tick* ticks, const bool* is_new);

  AuditReading reading() const;
  std::uint64_t bytes() const;

 private:
  struct Tally {
    std::uint64_t fresh = 0, lost = 0;         // new events, and how many of them were judged duplicates
    std::uint64_t duplicates = 0, passed = 0;  // duplicates, and how many of them were judged new
  };
  using Count = std::uint64_t Tally::*;

  struct Followed {
    Digest key;
    std::uint64_t events = 0;  // 0: an empty slot
    Tally tally;
    Tick latest = 0;     // when it was passed (or seen) last
    bool known = false;  // it was passed (or seen)

    void remember(Tick t) {
      latest = known ? std::max(latest, t) : t;
      known = true;
    }
  };

  // A cache line of keys that come often. The tag is the key's lower half, whose last byte gives way to a score: hits
  // raise it, misses lower it, and at 0 the key is replaced. Another key looks the same with probability 2^-68, and an
  // empty place like a key with 2^-56.
  struct alignas(64) FrequentSet {
    static constexpr std::size_t kWays = 4;
    static constexpr std::uint64_t kScore = 0xFF;  // the bits, and the highest: some million other keys wear it off

    std::array<std::uint64_t, kWays> tag_and_score{};
    std::array<Tick, kWays> latest{};

    // kWays: it is not here.
    std::size_t find(Digest d) const {
      const auto is = [&](std::size_t way) { return (tag_and_score[way] ^ d.lo) <= kScore; };
      return is(0) ? 0 : is(1) ? 1 : is(2) ? 2 : is(3) ? 3 : kWays;
    }
    // A key that is here gains; another one weakens the one whose turn it is, or takes its place: then it is true.
    bool touch(std::size_t way, bool here, Digest d) {
      const std::uint64_t held = tag_and_score[way], score = held & kScore;
      const bool enters = !here && score == 0;
      const std::uint64_t kept = here ? held + (score < kScore) : held - 1;
      tag_and_score[way] = enters ? d.lo & ~kScore : kept;
      return enters;
    }
  };
  // 256 KiB, to stay in the second-level cache beside the filter's own lines. At 1/1024 a key is in the sample by luck
  // if it has less than a thousandth of the events; the cache holds those down to about 1/16384.
  static constexpr std::uint64_t kFrequentSets = 4096;

  enum class Truth { fresh, duplicate, either };
  Truth truth(Tick latest, Tick t) const;
  static void count(Tally& tally, Truth truth, bool is_new);

  // Remixed in another way than any filter does: the sample must know nothing of where a filter puts a key.
  static std::uint64_t sample_hash(Digest d) {
    return remix(remix(d.lo ^ 0xD6E8FEB86659FD93u) + (d.hi << 32 | d.hi >> 32));
  }
  bool sampled(Digest d) const { return sample_hash(d) <= last_sampled_; }
  double rate() const;

  template <bool kTimed>
  void observe_all(std::span<const Digest> keys, const Tick* ticks, const bool* is_new);
  void observe_followed(Digest d, Tick t, bool is_new, bool remember);
  Followed& slot_of(Digest d);
  void halve();
  std::optional<Interval> estimate(Count errors, Count trials) const;

  Tick span_;         // up to this long after, a key must be known
  Tick reach_;        // beyond this, it must not
  bool timed_;        // there is a window
  bool seen_counts_;  // a key is remembered when it is seen, not only when it passes
  std::uint64_t last_sampled_;
  std::uint64_t most_keys_;

  std::vector<FrequentSet> frequent_sets_;
  Tally frequent_;
  std::uint64_t other_events_ = 0;  // also takes the ways of a set in turn
  std::vector<Followed> followed_;  // open addressing, at most 3/4 full
  std::uint64_t keys_ = 0;
};

}  // namespace nodup
