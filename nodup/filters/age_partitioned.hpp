// SPDX-License-Identifier: Apache-2.0
//
// age_partitioned: a sliding window in a Bloom filter whose slices grow old.
//
// Shtul, Baquero and Almeida, "Age-Partitioned Bloom Filters" (2020). The window is cut into generations
// (filters/generations.hpp). A key is put into the k newest of k + l slices. When a generation is over, the oldest
// slice is cleared and becomes the newest, and all others are one place older. So the keys of a generation of age a
// match in the slices a .. a + k - 1, and a key looks seen when k slices IN A ROW match; after l more generations its k
// slices begin to be cleared, one by one.
//
// Errors: a new event is dropped when k slices in a row happen to match (false positive, theory/age_partitioned.hpp).
// The rate swings with the filling of the newest slices; the one promised is that just before a shift, the worst. A
// duplicate within the window never passes, from the first insertion on. A generation that holds its share of the keys
// closes before its time: with more keys than it was built for the WINDOW shrinks and the error does not rise; window()
// says how far. The same happens when the keys of the window come in bursts, since all generations have equal room.
//
// Cost: of k + l slices only l hold the window, so it takes 1.5 to 2 times the memory of a Bloom filter; an event looks
// at 2 slices if it is new and then sets k bits, and at k + 1 or so if it is not. A shift clears one slice at once.
//
// Threads: one at a time; contains() by many while nobody inserts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "nodup/filters/age_params.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/theory/age_partitioned.hpp"

namespace nodup {

// All there is to it but the make of the slices.
template <class Make>
class AgePartitionedOf {
 public:
  static constexpr std::string_view kName = Make::kName;
  static constexpr std::string_view kSummary = Make::kSummary;
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate within the window never passes, but the window shrinks "
      "when more keys come than planned";

  using Params = AgeParams;
  static Params fit(const Goal& goal) { return Params::fit(Make::kSlices, goal); }
  static Rates rates(const Params& p, std::uint64_t keys) { return p.rates(Make::kSlices, keys); }
  static std::uint64_t bytes(const Params& p) { return p.bytes(Make::kSlices); }
  static double lines_per_event(const Params& p) { return p.lines_per_event(Make::kSlices); }
  static Facts facts(const Params& p) { return p.facts(Make::kSlices); }
  static double slack(const Params& p) { return p.slack(); }

  explicit AgePartitionedOf(const Params& p)
      : params_(p.checked(Make::kSlices)),
        pages_(bytes(p)),
        ring_{.data = pages_.template as<void>(),
              .cells = p.cells,
              .bits = p.bits,
              .slices = p.slices(),
              .probes = p.probes},
        generations_(p.window, p.generations),
        taken_(p.slices()) {}

  bool insert(Digest d) noexcept { return insert(d, generations_.now()); }
  bool insert(Digest d, Tick t) noexcept {
    bool is_new = false;
    insert_all({&d, 1}, &t, &is_new);
    return is_new;
  }
  bool contains(Digest d) const noexcept { return contains(d, generations_.now()); }
  bool contains(Digest d, Tick t) const noexcept { return Make::find(ring_, generations_.reach(t), d) != kNoAge; }
  void prefetch(Digest d) const noexcept { Make::prefetch(ring_, generations_.reach(generations_.now()), d); }
  void advance(Tick now) noexcept { generations_.advance(now); }

  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
    const Tick now = generations_.now();
    AgeBatch batch{.keys = keys.data(), .is_new = is_new, .size = keys.size()};
    while (batch.at < batch.size) insert_stretch(batch, now, batch.size);
  }
  void insert_all(std::span<const Digest> keys, const Tick* ticks, bool* is_new) noexcept {
    AgeBatch batch{.keys = keys.data(), .is_new = is_new, .size = keys.size()};
    std::size_t length = keys.size();
    while (batch.at < batch.size) {
      const std::size_t from = batch.at;
      length = age_stretch_length(generations_, params_.quota, {ticks + from, batch.size - from}, length);
      insert_stretch(batch, ticks[from], from + length, ticks);
    }
  }

  std::uint64_t keys() const {
    // Those that an event may still be compared with.
    const std::uint64_t reach =
        generations_.reach(Generations::since(generations_.now(), generations_.window().lateness));
    std::uint64_t sum = 0;
    for (std::uint64_t age = 0; age < reach; ++age) sum += generations_[age].keys;
    return sum;
  }
  std::uint64_t bytes() const { return pages_.bytes(); }
  // By the number of keys in each slice. With many errors that says too little, since a key that is taken for a
  // duplicate sets no bit, and those that are not set more than others: then by a look at the slices, too.
  Rates rates() const {
    const std::uint64_t reach = generations_.reach(generations_.now());
    if (reach == 0) return {};
    std::vector<double> fill(reach + params_.probes - 1);
    for (std::uint64_t i = 0; i < fill.size(); ++i)
      fill[i] = Make::kSlices.fill(static_cast<double>(taken_[ring_.place(i)]), static_cast<double>(params_.cells),
                                   params_.bits);
    double error = theory::age_false_positive(params_.probes, fill);
    if (error > 1e-2) {
      for (std::uint64_t i = 0; i < fill.size(); ++i) fill[i] = Make::measured_fill(ring_, ring_.place(i));
      error = std::max(error, theory::age_false_positive(params_.probes, fill));
    }
    return {.false_positive = error};
  }
  Facts facts() const { return facts(params_); }
  WindowReading window() const { return generations_.reading(); }

  // parameters | place of the newest slice u64 | keys put into each u64 x slices | generations | slices as they lie in
  // memory
  void save(Writer& out) const {
    params_.save(out);
    out.u64(ring_.newest);
    for (const std::uint64_t keys : taken_) out.u64(keys);
    generations_.save(out);
    out.bytes(pages_.span());
  }
  static AgePartitionedOf load(Reader& in) {
    const Params p = Params::load(in, Make::kSlices);
    in.require(bytes(p), "slices");
    AgePartitionedOf filter(p);
    filter.ring_.newest = in.u64("place of the newest slice", 0, p.slices() - 1);
    for (std::uint64_t& keys : filter.taken_) keys = in.u64("keys of a slice");
    filter.generations_.load(in, 0);
    in.bytes(filter.pages_.span(), "slices");
    return filter;
  }

 private:
  // One stretch, or what there is room for and one event more. Without ticks all are of time t.
  void insert_stretch(AgeBatch& batch, Tick t, std::size_t end, const Tick* ticks = nullptr) noexcept {
    const std::size_t from = batch.at;
    const AgeStretch stretch = age_stretch(generations_, params_.quota, t);
    Make::insert(ring_, stretch, batch, end);
    count(stretch.own, batch.inserted);
    for (std::uint64_t i = 0; i < batch.in_slack; ++i) generations_.count_in_slack();
    if (ticks != nullptr)
      for (std::size_t i = from; i < batch.at; ++i) generations_.advance(ticks[i]);
    if (batch.at == end) return;

    // The next one is judged, and needs a generation with room.
    t = ticks != nullptr ? ticks[batch.at] : t;
    generations_.advance(t);
    if (batch.age != kNoAge && batch.age >= stretch.firm) generations_.count_in_slack();
    AgeStretch next = age_stretch(generations_, params_.quota, t);
    if (next.room == 0) {
      open(t);
      next = age_stretch(generations_, params_.quota, t);
    }
    count(next.own, Make::put(ring_, next.own, batch.keys[batch.at]));
    batch.is_new[batch.at++] = batch.age == kNoAge;
  }

  void count(std::uint64_t age, std::uint64_t keys) noexcept {
    if (keys == 0) return;
    generations_[age].keys += keys;
    for (std::uint64_t i = age; i < age + params_.probes; ++i) taken_[ring_.place(i)] += keys;
  }

  // The shift of the paper, at the first event that needs it.
  void open(Tick t) noexcept {
    while (generations_.oldest_is_over()) generations_.drop_oldest();
    if (generations_.count() == 0)  // after idle time nothing is left worth keeping
      for (std::uint64_t place = 0; place < ring_.slices; ++place) clear(place);
    generations_.open(t);
    ring_.newest = ring_.place(ring_.slices - 1);
    clear(ring_.newest);
  }
  void clear(std::uint64_t place) noexcept {
    if (taken_[place] == 0) return;
    const std::uint64_t slice = pages_.bytes() / ring_.slices;
    std::memset(pages_.template as<std::byte>() + place * slice, 0, slice);
    taken_[place] = 0;
  }

  Params params_;
  Pages pages_;
  AgeRing ring_;
  Generations generations_;
  std::vector<std::uint64_t> taken_;  // keys put into the slice at each place since it was cleared
};

struct AgeBits {
  static constexpr std::string_view kName = "age_partitioned";
  static constexpr std::string_view kSummary = "sliding window in slices of bits that grow old; a cache miss per slice";
  static const AgeSlices kSlices;

  static void insert(const AgeRing& ring, const AgeStretch& stretch, AgeBatch& batch, std::size_t end) noexcept {
    insert_ages<BitSlices>(ring, stretch, batch, end);
  }
  static std::uint64_t find(const AgeRing& ring, std::uint64_t reach, Digest d) noexcept {
    return find_age(BitSlices(ring), ring, reach, d);
  }
  static bool put(const AgeRing& ring, std::uint64_t age, Digest d) noexcept {
    return put_age(BitSlices(ring), ring, age, d);
  }
  static void prefetch(const AgeRing& ring, std::uint64_t reach, Digest d) noexcept {
    prefetch_age(BitSlices(ring), ring, reach, d);
  }
  // The fill of a slice by a look at 64 KiB of it.
  static double measured_fill(const AgeRing& ring, std::uint64_t place);
};

using AgePartitioned = AgePartitionedOf<AgeBits>;

static_assert(Filter<AgePartitioned> && Ageing<AgePartitioned>);

}  // namespace nodup
