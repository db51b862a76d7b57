// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "bench/contender.hpp"
#include "nodup/filters/age_partitioned_blocked.hpp"
#include "nodup/filters/aged_lines.hpp"
#include "nodup/filters/aged_table.hpp"
#include "nodup/filters/automatic.hpp"
#include "nodup/filters/biased.hpp"
#include "nodup/filters/biased_single.hpp"
#include "nodup/filters/blocked.hpp"
#include "nodup/filters/exact.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/filters/growing.hpp"
#include "nodup/filters/load_balanced.hpp"
#include "nodup/filters/partitioned.hpp"
#include "nodup/filters/reservoir.hpp"
#include "nodup/filters/stable.hpp"
#include "nodup/filters/standard.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup::bench {

namespace {

class FilterTable final : public Table {
 public:
  explicit FilterTable(AnyFilter filter) : filter_(std::move(filter)) {}
  void insert_all(std::span<const Digest> keys, bool* is_new) override {
    filter_.make_room(keys.size());
    filter_.insert_all(keys, is_new);
  }
  std::uint64_t bytes() const override { return filter_.bytes(); }

 private:
  AnyFilter filter_;
};

// A filter whose parameters follow from a number of bytes.
template <Filter F, class ParamsOf>
Contender contender(std::string name, ParamsOf params_of) {
  return {.name = std::move(name),
          .capacity = [=](std::uint64_t bytes) { return params_of(bytes).keys; },
          .lines_per_key = [=](std::uint64_t bytes) { return F::lines_per_event(params_of(bytes)); },
          .make = [=](std::uint64_t bytes) { return std::make_unique<FilterTable>(AnyFilter(F(params_of(bytes)))); }};
}

// `bits_per_key`: what the shape needs for the error it is chosen for.
Contender blocked(LineShape shape, double bits_per_key, std::string_view error) {
  return contender<Blocked>(
      fmt::format("blocked, {} line{} of {} bits ({})", shape.lines, shape.lines == 1 ? "" : "s", shape.bits, error),
      [=](std::uint64_t bytes) {
        return Blocked::Params{.lines = bytes / kLineBytes,
                               .shape = shape,
                               .keys = static_cast<std::uint64_t>(static_cast<double>(bytes) * 8 / bits_per_key)};
      });
}

template <Filter F>
Contender bloom() {
  // 9.6 bits and 7 probes per key: 1 %.
  return contender<F>(fmt::format("{}, 7 probes (1 %)", F::kName), [](std::uint64_t bytes) {
    return BloomParams{.bits = bytes * 8, .probes = 7, .keys = bytes * 8 * 10 / 96};
  });
}

Growing::Params growing_params(std::uint64_t bytes) {
  const auto fits = [=](std::uint64_t keys) { return Growing::bytes({.keys = keys, .error = 1e-6}) <= bytes; };
  const std::uint64_t too_many = least_where(1, bytes, [=](std::uint64_t keys) { return !fits(keys); });
  return {.keys = too_many - 1, .error = 1e-6};
}

// The longest window of a kind that ages within the bytes. Without times a generation ends when it has its share of
// keys.
template <Filter F>
Contender window(std::string name, const Goal& goal) {
  return contender<F>(std::move(name), [=](std::uint64_t bytes) {
    Goal longest = goal;
    longest.keys = greatest_where(1, bytes * 8, [&](std::uint64_t keys) {
      Goal candidate = goal;
      candidate.keys = candidate.window.span = keys;
      return F::bytes(F::fit(candidate)) <= bytes;
    });
    longest.window.span = longest.keys;
    return F::fit(longest);
  });
}

// A kind that forgets, in the setting of its paper's tables: two arrays. Any number of keys is its capacity; here as
// many as bits. Only new keys reset, and half of the keys of the stream are new.
template <Filter F>
Contender forgetting(double lines) {
  Contender row = contender<F>(fmt::format("{}, 2 probes", F::kName), [](std::uint64_t bytes) {
    if constexpr (std::same_as<F, Stable>)
      return StableParams{.cells = (bytes - CellArray::kSpareBytes) * 8, .keys = bytes * 8};
    else
      return SampledParams{.bits = bytes * 8, .probes = 2, .keys = bytes * 8};
  });
  row.lines_per_key = [=](std::uint64_t) { return lines; };
  return row;
}

// As many keys as it holds at 1e-6 before it forgets a few in a hundred; then it goes on.
Contender automatic(double error) {
  const auto params_of = [=](std::uint64_t bytes) { return Automatic::fit({.error = error, .bytes = bytes}); };
  return {
      .name = fmt::format("automatic ({:g})", error),
      .capacity = [](std::uint64_t bytes) { return bytes * 8 / 32; },
      .lines_per_key = [=](std::uint64_t bytes) { return Automatic::lines_per_event(params_of(bytes)); },
      .make =
          [=](std::uint64_t bytes) { return std::make_unique<FilterTable>(AnyFilter(Automatic(params_of(bytes)))); }};
}

}  // namespace

std::uint64_t exact_capacity(std::uint64_t bytes) { return bytes / sizeof(Digest) * 4 / 5 - 4; }

std::vector<Contender> filters() {
  return {
      blocked({1, 8}, 10.2, "1 %"),
      blocked({1, 16}, 20, "1e-4"),
      blocked({2, 8}, 21, "1e-4"),
      blocked({2, 16}, 31.4, "1e-6"),
      contender<Growing>("growing (1e-6)", growing_params),
      window<AgedLines>("aged_lines (1e-6)", {.error = 1e-6, .window = {.by_count = true}}),
      window<AgedTable>("aged_table (1e-6)", {.error = 1e-6, .window = {.by_count = true}}),
      window<AgePartitionedBlocked>("age_partitioned_blocked (1e-4, slack 1/3)",
                                    {.error = 1e-4, .window = {.slack = 0.34, .by_count = true}}),
      bloom<Standard>(),
      bloom<Partitioned>(),
      automatic(1e-6),
      automatic(1e-3),
      forgetting<Stable>(2 + 4),        // every record decrements 4 cells
      forgetting<Reservoir>(2),         // no resets before as many records as an array has bits
      forgetting<Biased>(2 + 2 * 0.5),  // a line per array
      forgetting<BiasedSingle>(2 + 1 * 0.5),
      forgetting<LoadBalanced>(2),  // an array that is nearly empty is hardly reset
      contender<Exact>("exact", [](std::uint64_t bytes) { return Exact::Params{.keys = exact_capacity(bytes)}; }),
  };
}

}  // namespace nodup::bench
