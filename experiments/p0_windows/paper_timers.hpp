// SPDX-License-Identifier: Apache-2.0
//
// The paper's timers as it describes them, with slices, which the library's filter does not have. A timer that counts
// down from w is kept as the slot that set it: alive while now - slot < w.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"

namespace nodup::lab {

class PaperTimers {
 public:
  static constexpr std::uint64_t kMostProbes = 16;
  enum class Slicing { vertical, horizontal };  // a key's timers anywhere, or all in one slice
  enum class Counting { all, distinct };        // equal timers: all k of them, or a position that occurs twice once

  PaperTimers(std::uint64_t cells, std::uint64_t probes, std::uint64_t window, Slicing slicing, std::uint64_t slices)
      : probes_(probes),
        window_(static_cast<std::int64_t>(window)),
        slice_cells_(slicing == Slicing::vertical ? cells : cells / slices),
        slices_(slicing == Slicing::vertical ? 1 : slices),
        set_at_(slice_cells_ * slices_, kNever) {}

  struct Look {
    bool alive;           // all timers are
    std::uint64_t equal;  // so many of them are equal
  };
  Look look(Digest d, std::int64_t now, Counting counting) const {
    std::array<std::uint64_t, kMostProbes> places{};
    std::uint64_t count = 0;
    Look look{true, 0};
    for (std::uint64_t i = 0; i < probes_; ++i) {
      const std::uint64_t at = place(d, i);
      look.alive &= now - set_at_[at] < window_;
      const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
      if (counting == Counting::all || std::find(places.begin(), end, at) == end) places[count++] = at;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t same = 0;
      for (std::uint64_t j = 0; j < count; ++j) same += set_at_[places[i]] == set_at_[places[j]];
      look.equal = std::max(look.equal, same);
    }
    return look;
  }

  void set(Digest d, std::int64_t slot) {
    for (std::uint64_t i = 0; i < probes_; ++i) set_at_[place(d, i)] = slot;
  }
  // For late events: the later of the two times stays.
  void set_to_later(Digest d, std::int64_t slot) {
    for (std::uint64_t i = 0; i < probes_; ++i) set_at_[place(d, i)] = std::max(set_at_[place(d, i)], slot);
  }

 private:
  static constexpr std::int64_t kNever = INT64_MIN / 2;

  std::uint64_t place(Digest d, std::uint64_t i) const {
    const std::uint64_t slice = fastrange(remix(d.lo ^ d.hi), slices_);
    return slice * slice_cells_ + position(d, i, slice_cells_);
  }

  std::uint64_t probes_;
  std::int64_t window_;
  std::uint64_t slice_cells_, slices_;
  std::vector<std::int64_t> set_at_;
};

}  // namespace nodup::lab
