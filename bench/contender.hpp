// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nodup/hash/digest.hpp"

namespace nodup::bench {

// Anything that answers "seen before?" for a batch of keys.
class Table {
 public:
  virtual ~Table() = default;
  // is_new[i] must be what one key after the other would give.
  virtual void insert_all(std::span<const Digest> keys, bool* is_new) = 0;
  virtual std::uint64_t bytes() const = 0;
};

// One row of the table: how to build it in about `bytes`, and for how many keys it is then meant.
struct Contender {
  std::string name;
  std::function<std::uint64_t(std::uint64_t bytes)> capacity;
  std::function<double(std::uint64_t bytes)> lines_per_key;  // cache lines touched, by theory
  std::function<std::unique_ptr<Table>(std::uint64_t bytes)> make;
};

// The filters of this library (contenders.cpp); the sets of others (peers/peers.cpp).
std::vector<Contender> filters();
std::vector<Contender> peers();

// As many keys as `exact` holds in these bytes: what every exact peer is asked to hold, so that they compare.
std::uint64_t exact_capacity(std::uint64_t bytes);

}  // namespace nodup::bench
