// SPDX-License-Identifier: Apache-2.0
//
// The bits of a whole dynamic filter, or of many: a row of parts of equal parameters. A key looks held if any part has
// it.
//
// Rows are united as dynamic filters are (Guo, Wu, Chen, Yuan and Luo, "The dynamic Bloom filters", 2010): two parts
// become one while the union is no fuller than one part may be; else the row gets longer. What that is worth: with a
// fixed size (`most_parts` = 1) a union of many sets fills up until it has every key, and no size is right for the
// small sets and for their union. By the bits, keys that both sides hold do not count twice; and a part that another
// includes adds nothing, so a set may come in by several ways.
//
// Errors: never a false negative. Each part errs on its own, so false positives of a long row add up: the parts of a
// set that will be united with a thousand others want a thousandth of the error.
// Threads: contains() by many while nobody merges.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nodup/filters/dynamic.hpp"
#include "nodup/spread/bit_part.hpp"

namespace nodup {

class BitRow {
 public:
  static constexpr std::uint64_t kAnyLength = ~std::uint64_t{0};

  // No keys. All rows that are to be united have parts of the same parameters.
  explicit BitRow(const BloomParams& part, std::uint64_t most_parts = kAnyLength);
  // The parts as they are, and so the same error.
  explicit BitRow(const Dynamic& filter, std::uint64_t most_parts = kAnyLength);

  BitRow empty_like() const { return BitRow(params_, most_parts_); }

  bool contains(Digest d) const noexcept;
  // Throws Error if the parts of the two differ.
  void merge(const BitRow& other);

  std::size_t parts() const { return parts_.size(); }
  std::uint64_t bytes() const;
  double false_positive() const;

  // bits u64 | probes u64 | capacity u64 | most parts u64 | parts u64 | each as it is saved
  void save(Writer& out) const;
  static BitRow load(Reader& in);

 private:
  using Part = std::shared_ptr<const BitPart>;  // full parts are the same in many rows

  void take(const Part& part);

  BloomParams params_;
  std::uint64_t most_parts_;
  std::vector<Part> parts_;
};

}  // namespace nodup
