// SPDX-License-Identifier: Apache-2.0
//
// The accesses of Tables 2 and 3, counted. The library's filters do not count them, and have neither blocks of 64 bits
// nor four bits per block, so the paper's filter is written down here once more, as plainly as possible.
#include <algorithm>
#include <vector>

#include "experiments/p3/p3.hpp"
#include "experiments/p3/simulated.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/age_partitioned.hpp"

namespace nodup::lab {

namespace {

using namespace nodup::theory;

// k + l segments of blocks of b lanes of q bits each. With one lane in one block: slices of q bits.
struct BlockSizes {
  std::uint64_t k, l, g, blocks, b, q;
};

struct Look {
  bool found;
  std::uint64_t accesses;
};

class Counted {
 public:
  explicit Counted(const BlockSizes& s) : s_(s), segments_(s.k + s.l) {
    for (auto& segment : segments_) segment.resize(s.blocks * s.b * s.q);
  }

  void add(Digest d) {
    if (added_++ % s_.g == 0) {
      newest_ = (newest_ + s_.k + s_.l - 1) % (s_.k + s_.l);
      segments_[newest_].assign(segments_[newest_].size(), false);
    }
    for (std::uint64_t i = 0; i < s_.k; ++i)
      for (std::uint64_t lane = 0; lane < s_.b; ++lane) segment(i)[bit(d, i, lane)] = true;
  }

  // Algorithm 1.
  Look look(Digest d) const {
    std::uint64_t accesses = 0;
    for (std::int64_t i = static_cast<std::int64_t>(s_.l), before = 0, count = 0; i >= 0;) {
      ++accesses;
      if (matches(d, static_cast<std::uint64_t>(i))) {
        ++count, ++i;
        if (before + count == static_cast<std::int64_t>(s_.k)) return {true, accesses};
      } else {
        i -= static_cast<std::int64_t>(s_.k);
        before = count;
        count = 0;
      }
    }
    return {false, accesses};
  }

 private:
  std::uint64_t place(std::uint64_t i) const { return (newest_ + i) % (s_.k + s_.l); }
  std::vector<bool>& segment(std::uint64_t i) { return segments_[place(i)]; }
  // The hash function belongs to the place.
  std::uint64_t bit(Digest d, std::uint64_t i, std::uint64_t lane) const {
    const Digest hash = key(d.lo + place(i) * d.hi);
    const std::uint64_t block = fastrange(hash.lo, s_.blocks);
    return (block * s_.b + lane) * s_.q + fastrange(key(hash.hi + lane).lo, s_.q);
  }
  bool matches(Digest d, std::uint64_t i) const {
    for (std::uint64_t lane = 0; lane < s_.b; ++lane)
      if (!segments_[place(i)][bit(d, i, lane)]) return false;
    return true;
  }

  BlockSizes s_;
  std::vector<std::vector<bool>> segments_;
  std::uint64_t newest_ = 0, added_ = 0;
};

struct Mean {
  double sum = 0, count = 0;
  void add(double x) { sum += x, ++count; }
  double operator()() const { return count > 0 ? sum / count : 0; }
};

struct Readings {
  Mean rate, window, found, missed;  // false positives; accesses in the window, of those, of the others
  double past = 0;                   // keys past the window that look seen, of the window
};

// Just before a shift.
Readings read(const BlockSizes& s, std::uint64_t filters, std::uint64_t probes) {
  Readings out;
  Keys keys;
  const std::uint64_t generations = s.k + s.l;
  for (std::uint64_t f = 0; f < filters; ++f) {
    Counted filter(s);
    add_new(filter, 2 * s.g, keys);
    Keys again = keys;
    add_new(filter, generations * s.g, keys);
    Mean past;
    for (std::uint64_t age = generations; age-- > 0;) {
      for (std::uint64_t i = 0; i < s.g; ++i) {
        const Look look = filter.look(again.next());
        if (age < s.l)
          out.window.add(static_cast<double>(look.accesses));
        else
          past.add(look.found);
      }
    }
    out.past += past.sum / static_cast<double>(s.l * s.g) / static_cast<double>(filters);
    for (std::uint64_t i = 0; i < probes; ++i) {
      const Look look = filter.look(keys.next());
      out.rate.add(look.found);
      (look.found ? out.found : out.missed).add(static_cast<double>(look.accesses));
    }
  }
  return out;
}

}  // namespace

void accesses(const Experiment& lab) {
  Table t(
      lab, "accesses",
      "Tables 2 and 3, counted: slices looked at by Algorithm 1\n"
      "w = 1000, just before a shift, 20 filters. `window` does not depend on how the fill is modelled; the others lie "
      "a little above Table 2, since its fill lies low.",
      {"(k,l)", "window", "window model", "fp", "fp model", "false", "false model"});
  for (const Shape& shape : {Shape{4, 3}, {7, 5}, {10, 7}}) {
    const Sizes s = Sizes::of(shape, 1000);
    const auto fill = age_fill(s.k, s.l);
    const AgeWalk walk = age_walk(s.k, fill);
    const Readings r = read({s.k, s.l, s.g, 1, 1, s.m}, 20, lab.samples(std::max(5000.0, 50 / walk.found)));
    t.row(shape.name(), r.window(), age_window_accesses(s.k, fill), r.found(), walk.accesses_found, r.missed(),
          walk.accesses_missed);
  }
}

void blocks(const Experiment& lab) {
  Table t(lab, "blocks",
          "Table 3, simulated\n"
          "1024 blocks of 64 bits or 256 of 512 in each segment, just before a shift, 5 filters. Here the fill model "
          "is exact.",
          {"(k,l,B,b)", "rate", "rate/Table 3", "win.", "fp", "false", "NPWS"});
  const struct {
    Shape shape;
    std::uint64_t bits, b;
  } all[] = {{{2, 3}, 64, 4},  {{2, 3}, 512, 4}, {{2, 5}, 64, 4},  {{2, 5}, 512, 4}, {{3, 5}, 64, 4},
             {{3, 8}, 512, 4}, {{2, 3}, 64, 8},  {{2, 3}, 512, 8}, {{2, 5}, 512, 8}};
  for (const auto& [shape, bits, b] : all) {
    const std::uint64_t q = bits / b, count = bits == 64 ? 1024 : 256;
    const double capacity = age_block_capacity(static_cast<double>(q));
    const double model = age_false_positive(shape.k, age_block_fills(shape.k, shape.l, b, q, capacity));
    const auto g = static_cast<std::uint64_t>(static_cast<double>(count) * capacity / static_cast<double>(shape.k));
    const Readings r = read({shape.k, shape.l, g, count, b, q}, 5, lab.samples(400 / model));
    t.row(fmt::format("({},{},{},{})", shape.k, shape.l, bits, b), r.rate(), r.rate() / model, r.window(), r.found(),
          r.missed(), r.past);
  }
}

}  // namespace nodup::lab
