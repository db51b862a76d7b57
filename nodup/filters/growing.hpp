// SPDX-License-Identifier: Apache-2.0
//
// growing: a row of filters ("stages") for a stream whose length nobody knows. The default.
//
// After scalable Bloom filters (Almeida, Baquero, Preguica and Hutchison, 2007): keys go into the newest stage; when it
// holds what it was built for, a stage four times as large is opened. A key is seen if any stage has it. Each stage is
// tighter than the one before (theory/growing.hpp), so that the TOTAL error keeps its bound however far it grows. Which
// kind of filter a stage is, the planner decides anew each time.
//
// Under a memory limit the last stage takes what is left; once that is full, keys still go in, the error rises above
// the goal and rates() says by how much.
//
// Errors: a false positive (a new event is LOST), in total at most `error` while there is room; never a false negative.
// Cost: the cache lines of all stages for a new key. With a good first guess there is one stage.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodup/filters/filter.hpp"

namespace nodup {

class Growing {
 public:
  static constexpr std::string_view kName = "growing";
  static constexpr std::string_view kSummary =
      "a row of ever larger filters: any number of keys, one total error (the default)";
  static constexpr std::string_view kErrors = "a new event may be dropped (false positive); a duplicate never passes";

  struct Params {
    std::uint64_t keys = 0;       // of the first stage
    double error = 1e-6;          // of all stages together
    std::uint64_t max_bytes = 0;  // 0: no limit
  };

  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys);
  static std::uint64_t bytes(const Params& p);
  static double lines_per_event(const Params& p);
  static Facts facts(const Params& p);

  explicit Growing(const Params& params);

  bool insert(Digest d) noexcept;
  bool contains(Digest d) const noexcept;
  void prefetch(Digest) const noexcept {}  // stages prefetch for themselves, batch by batch
  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept;
  void contains_all(std::span<const Digest> keys, bool* seen) const noexcept;
  void make_room(std::uint64_t more_keys);
  void limit_memory(std::uint64_t max_bytes) {
    params_.max_bytes = max_bytes;
    exhausted_ = false;
  }

  std::uint64_t keys() const;
  std::uint64_t bytes() const;
  Rates rates() const;
  Facts facts() const;

  void save(Writer& out) const;
  static Growing load(Reader& in);

 private:
  struct Stage {
    AnyFilter filter;
    std::uint64_t capacity;
    std::uint64_t room() const { return capacity > filter.keys() ? capacity - filter.keys() : 0; }
  };

  Growing(const Params& params, std::vector<Stage> stages);
  bool add_stage();
  void insert_into_open(std::span<const Digest> keys, bool* is_new) noexcept;

  Params params_;
  std::vector<Stage> stages_;  // at least one
  // The stage that takes new keys. Stages behind it are empty: made ready by make_room, opened at the very key that
  // finds the one before full, so that the content never depends on how the stream was cut into batches.
  std::size_t open_ = 0;
  bool exhausted_ = false;  // no further stage fits the memory limit
};

}  // namespace nodup
