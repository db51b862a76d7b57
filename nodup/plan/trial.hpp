// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "nodup/filters/filter.hpp"

namespace nodup {

// How a filter did on a stream, counted as the papers count it: an event is a first occurrence or a duplicate of the
// whole stream before it, whatever the filter made of it.
struct Outcome {
  std::uint64_t firsts = 0, lost = 0;        // new events, and those of them judged duplicates
  std::uint64_t duplicates = 0, passed = 0;  // duplicates, and those of them judged new
  // What the filter itself said of new events, rates().false_positive averaged over them: where hardly any was lost it
  // knows more than the count.
  double expected_false_positive = 0;

  double false_positive() const { return share(lost, firsts); }
  double false_negative() const { return share(passed, duplicates); }

 private:
  static double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// A stream to try filters on: keys, and which of them come for the first time.
class Trial {
 public:
  explicit Trial(std::vector<Digest> keys);

  std::uint64_t events() const { return keys_.size(); }
  // Sends the stream through the filter, event number i at tick i. Throws Error if the filter cannot make room.
  Outcome run(AnyFilter& filter) const;

 private:
  std::vector<Digest> keys_;
  std::vector<bool> first_;
};

}  // namespace nodup
