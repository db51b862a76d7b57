// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bench/contender.hpp"

namespace nodup::bench {

// The digest is a hash already.
struct DigestHash {
  std::size_t operator()(const Digest& d) const noexcept { return d.lo; }
};

// A set with the interface of std::unordered_set. Room is reserved, so that no rehash is timed.
template <class Set>
class SetTable final : public Table {
 public:
  SetTable(std::uint64_t keys, std::uint64_t (*count_bytes)(const Set&)) : bytes_(count_bytes) { set_.reserve(keys); }
  void insert_all(std::span<const Digest> keys, bool* is_new) override {
    for (std::size_t i = 0; i < keys.size(); ++i) is_new[i] = set_.insert(keys[i]).second;
  }
  std::uint64_t bytes() const override { return bytes_(set_); }

 private:
  Set set_;
  std::uint64_t (*bytes_)(const Set&);
};

template <class Set>
Contender set_contender(std::string name, double lines_per_key, std::uint64_t (*bytes)(const Set&)) {
  return {.name = std::move(name),
          .capacity = exact_capacity,
          .lines_per_key = [=](std::uint64_t) { return lines_per_key; },
          .make = [=](std::uint64_t size) { return std::make_unique<SetTable<Set>>(exact_capacity(size), bytes); }};
}

}  // namespace nodup::bench
