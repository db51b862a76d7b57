// SPDX-License-Identifier: Apache-2.0
//
// automatic: any number of keys in fixed memory, with an error that never rises. What `--memory` alone means.
//
// Each key belongs to one QUEUE of short fingerprints (bits/slot_line.hpp), a 64-byte line or a part of one: a key is
// seen if its fingerprint is in the queue; a new one is pushed in front, and when the queue is full the oldest falls
// out. So no duplicate passes until queues are full, then those whose first event is longest ago; and a new key is
// taken for seen with a probability of at most (slots of a queue) / (number of fingerprints), however long the stream.
// Widths are whole bits; a share of the lines has slots that are narrower by one bit, so that the bound is the error
// asked for and not the next power of two below.
//
// Long queues fill evenly and so forget nothing for longer; short ones need fewer bits per fingerprint and hold more.
// fit() takes the length that holds the most keys until a tenth of them is forgotten: a whole line at 1e-6, half of one
// from 1e-4 on, a single word from 0.03 on.
//
// Why this: what counts is how many keys are held per bit at an error of e. A fingerprint takes log2(1/e) bits plus
// log2 of the slots it may be in; a Bloom filter takes 1.44 log2(1/e), more in one line, and bits cannot be forgotten
// key by key: filters that reset random bits keep half-forgotten keys, which cost memory and false positives and catch
// no duplicate.
//
// If the number of keys is told (Goal::keys with Goal::bytes) the error is meant at that number, as in other filters,
// and other forms of lines may do better: PLAIN lines (Bloom filters, which forget nothing) as long as they are not too
// full, and lines of SLOTS, one of which belongs to each key: with no choice of slot a fingerprint is shorter. Of
// all pairs of forms fit() takes the one with the fewest false negatives. Keys are split between the two by their hash
// in the ratio of their memory, so the rates of a mixture are the weighted means of both: any point on the line between
// two forms can be had. experiments/p1_beyond compares this family with five others.
//
// Errors: a false positive (a new event is LOST) at the goal's error or below; a false negative (a duplicate PASSES)
// when its key was forgotten. Formulas: theory/automatic.hpp.
// Cost: one cache line per event. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "nodup/bits/line.hpp"
#include "nodup/bits/queue_table.hpp"
#include "nodup/bits/slot_line.hpp"
#include "nodup/filters/filter.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/theory/automatic.hpp"

namespace nodup {

// What the lines of one part of the filter are.
struct LineForm {
  enum class Kind : std::uint64_t { plain, slots, queue };
  static constexpr unsigned kMostProbes = 16;

  Kind kind = Kind::queue;
  unsigned bits = 8;            // set per key (plain), or of one slot
  unsigned words = kLineWords;  // of one queue: 1, 2, 4 or 8 make up a line

  unsigned queues() const { return kLineWords / words; }              // in a line
  unsigned slots() const { return SlotLine::slots_of(bits, words); }  // of a queue, or of a line of single slots
  double values() const { return static_cast<double>((std::uint64_t{1} << bits) - 1); }  // fingerprints
  theory::Remembered remembers(double keys_per_line) const;
  double false_positive(double held) const;                       // of slots and queues, by the keys that a line holds
  double judged_new_again(const theory::Remembered& line) const;  // of the keys that passed
  double limit() const;                                           // what its false positives come to in the end
  std::string text() const;
  bool operator==(const LineForm&) const = default;
};

struct AutomaticParams {
  std::uint64_t lines = 1;        // of 64 bytes
  std::uint64_t first_lines = 0;  // of these are of the first form, the others of the second
  std::array<LineForm, 2> forms;
};

class Automatic {
 public:
  static constexpr std::string_view kName = "automatic";
  static constexpr std::string_view kSummary = "any number of keys in fixed memory at an error that never rises";
  static constexpr std::string_view kErrors =
      "a new event may be dropped (false positive); a duplicate passes when its line is full and its key among the "
      "oldest (false negative)";
  static constexpr bool kForgets = true;

  using Params = AutomaticParams;
  // With bytes: all of them. The error holds for ever if keys is 0, otherwise with that many keys.
  // Without: as many lines as forget one in a thousand of the keys; the error holds for ever.
  static Params fit(const Goal& goal);
  static Rates rates(const Params& p, std::uint64_t keys);
  static std::uint64_t bytes(const Params& p) { return p.lines * kLineBytes; }
  static double lines_per_event(const Params&) { return 1; }
  static Facts facts(const Params& p);

  explicit Automatic(const Params& params, PagePolicy policy = PagePolicy::huge);

  bool insert(Digest d) noexcept {
    const std::uint64_t place = fastrange(d.lo, params_.lines);
    return insert_at(parts_[place >= params_.first_lines], line_at(place), d);
  }
  bool contains(Digest d) const noexcept {
    const std::uint64_t place = fastrange(d.lo, params_.lines);
    return holds(parts_[place >= params_.first_lines], line_at(place), d);
  }
  void insert_all(std::span<const Digest> keys, bool* is_new) noexcept;
  void prefetch(Digest d) const noexcept { nodup::prefetch(line_at(fastrange(d.lo, params_.lines))); }

  std::uint64_t keys() const { return parts_[0].passed + parts_[1].passed; }
  std::uint64_t bytes() const { return table_.bytes(); }
  // From what it holds, not from a formula. A key that was forgotten and passed again counts twice among those passed:
  // where that happens often, false_negative is too high.
  Rates rates() const;
  Facts facts() const { return facts(params_); }

  // lines u64 | lines of the first form u64 | twice: form u64, bits u64, words u64, keys passed u64 | 64 bytes per line
  void save(Writer& out) const;
  static Automatic load(Reader& in);

 private:
  struct Part {
    // Parts that are mixed have lanes of one width, so that one kernel does for both.
    Part(const LineForm& f, const LineForm& other)
        : form(f),
          shape(f.kind == LineForm::Kind::plain ? 1 : f.bits, f.words, other.bits > SlotLine::kWidestInFourBytes) {}
    LineForm form;
    SlotLine shape;
    std::uint64_t passed = 0;  // keys judged new
    std::uint64_t held = 0;    // slots that are not empty
  };

  static std::uint64_t fingerprint(const Part& part, Digest d) noexcept { return nodup::fingerprint(part.shape, d); }
  static unsigned slot(const Part& part, Digest d) noexcept {
    return static_cast<unsigned>(fastrange(remix(d.hi), part.shape.slots()));
  }
  // Bit `probe` of a key, in a lane of its own.
  static unsigned plain_bit(const Part& part, Digest d, unsigned probe) noexcept {
    const unsigned lane = 512 / part.form.bits;
    return probe * lane + static_cast<unsigned>(position({d.hi, d.lo}, probe, lane));
  }

  static bool insert_at(Part& part, std::uint64_t* line, Digest d) noexcept {
    bool is_new = false;
    switch (part.form.kind) {
      case LineForm::Kind::queue: {
        const std::uint64_t value = fingerprint(part, d);
        std::uint64_t* const queue = line + queue_at(part.shape.words(), d);
        is_new = !part.shape.holds(queue, value);
        part.held += is_new && !part.shape.full(queue);
        part.shape.push_if(is_new, queue, value);
        break;
      }
      case LineForm::Kind::slots: {
        const std::uint64_t value = fingerprint(part, d);
        const std::uint64_t old = part.shape.get(line, slot(part, d));
        is_new = old != value;
        part.held += old == 0;
        part.shape.set(line, slot(part, d), value);
        break;
      }
      case LineForm::Kind::plain:
        for (unsigned probe = 0; probe < part.form.bits; ++probe) {
          const unsigned bit = plain_bit(part, d, probe);
          const std::uint64_t mask = std::uint64_t{1} << bit % 64;
          is_new |= (line[bit / 64] & mask) == 0;
          line[bit / 64] |= mask;
        }
    }
    part.passed += is_new;
    return is_new;
  }
  static bool holds(const Part& part, const std::uint64_t* line, Digest d) noexcept {
    switch (part.form.kind) {
      case LineForm::Kind::queue:
        return part.shape.holds(line + queue_at(part.shape.words(), d), fingerprint(part, d));
      case LineForm::Kind::slots:
        return part.shape.get(line, slot(part, d)) == fingerprint(part, d);
      case LineForm::Kind::plain:
        break;
    }
    bool seen = true;
    for (unsigned probe = 0; probe < part.form.bits; ++probe) {
      const unsigned bit = plain_bit(part, d, probe);
      seen &= (line[bit / 64] >> bit % 64 & 1) != 0;
    }
    return seen;
  }

  std::uint64_t* line_at(std::uint64_t place) noexcept { return table_.as<std::uint64_t>() + place * kLineWords; }
  const std::uint64_t* line_at(std::uint64_t place) const noexcept {
    return table_.as<std::uint64_t>() + place * kLineWords;
  }
  std::uint64_t lines_of(unsigned part) const {
    return part == 0 ? params_.first_lines : params_.lines - params_.first_lines;
  }
  double plain_match(unsigned part) const;
  void count_held(Reader& in);

  Params params_;
  std::array<Part, 2> parts_;
  Pages table_;
};

static_assert(Filter<Automatic> && Forgetting<Automatic>);

}  // namespace nodup
