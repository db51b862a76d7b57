// SPDX-License-Identifier: Apache-2.0
//
// Sample event streams: for trying out, for tests, for benchmarks. The same StreamShape gives the same bytes
// on every machine, in constant memory, for any number of events. A duplicate is byte-identical to its first
// occurrence, because all text is a function of the key alone; the pair (user, ad) identifies the key.
//
//   uniform  N draws from U keys, U chosen so that U(1 - e^(-N/U)) = distinct * N: the streams of the papers on Bloom
//            filters that forget. A duplicate may come at any distance.
//   zipf     draws by Zipf's law: key number r has probability ~ 1/r^skew. Few keys are everywhere, most are rare.
//            The number of keys is chosen for the wanted fraction, which heavy skew can put out of reach.
//   bursty   an event is followed by its duplicates soon after: 16 bursts of geometric length are interleaved.
//   recent   an event is new with probability `distinct`, or else repeats one whose first occurrence lies a distance
//            back that is log-normal or follows a power law (chance.hpp). The distance counts first occurrences, so
//            nothing has to be kept.
//
// In uniform and zipf streams the fraction holds for the stream as a whole and is higher at its beginning.
//
// Sameness rests on integers. Floating point only sizes the set of keys, where the result is rounded to 24 bits, and
// draws zipf ranks and distances by a power law: there log and exp may differ in the last bit between C libraries, so
// about one such event in 10^12 may differ between machines.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nodup/stream/chance.hpp"

namespace nodup {

struct StreamShape {
  enum class Shape { uniform, zipf, bursty, recent };
  enum class Format { ndjson, csv, lines };

  std::uint64_t events = 1'000'000;
  double distinct = 0.6;  // wanted fraction of events that are first occurrences, above 0, at most 1
  Shape shape = Shape::uniform;
  double skew = 1.0;       // zipf only: 0..10
  Distance distance = {};  // recent only
  std::uint64_t seed = 1;
  Format format = Format::ndjson;
};

struct ShapeKind {
  std::string_view name, summary;
  StreamShape::Shape shape;
};
struct TextKind {
  std::string_view name, summary;
  StreamShape::Format format;
};

// THE lists; the _named functions throw Error naming what is known.
std::span<const ShapeKind> shape_kinds();
std::span<const TextKind> text_kinds();
StreamShape::Shape shape_named(std::string_view name);
StreamShape::Format text_named(std::string_view name);

class EventGenerator {
 public:
  // Throws Error when the shape makes no sense or cannot be had.
  explicit EventGenerator(const StreamShape& shape);

  // The key of the next event. The caller counts the events; past shape.events the stream just goes on.
  std::uint64_t next_key() noexcept;
  // Appends the next event, with its newline.
  void append_record(std::string& out) { append_text(out, shape_.format, next_key()); }
  // The line before the first event, with its newline; empty in formats that have none.
  std::string_view header() const;
  // How many keys there are to draw from, in uniform and zipf; 0 where every new event takes a new key.
  std::uint64_t universe() const { return universe_; }

  static void append_text(std::string& out, StreamShape::Format format, std::uint64_t key);

 private:
  static constexpr std::size_t kBursts = 16;  // a power of two

  std::uint64_t scatter(std::uint64_t id) const noexcept;
  bool coin_new() noexcept { return all_new_ || next_id_ == 0 || random_() < new_below_; }

  StreamShape shape_;
  Xoshiro random_;
  std::uint64_t universe_ = 0;
  std::uint64_t scatter_ = 0;    // from the seed
  bool all_new_ = false;         // distinct is 1
  std::uint64_t new_below_ = 0;  // distinct * 2^64
  std::uint64_t next_id_ = 0;    // first occurrences so far
  std::array<std::uint64_t, kBursts> bursts_{};
  ZipfRanks ranks_;
  Distances distances_;
};

}  // namespace nodup
