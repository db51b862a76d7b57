// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/automatic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "nodup/bits/kernels.hpp"
#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup {

using Form = LineForm::Kind;

namespace {

constexpr unsigned kQueueWords[] = {8, 4, 2, 1};
// Queues are as long as holds the most keys until this share of them is forgotten. With a larger share short ones,
// which hold more but forget some from the beginning, would always be best; with a smaller share always whole lines.
constexpr double kForgottenAtMeasure = 0.1;
// Beyond that a queue does the same better.
constexpr unsigned kWidestSingle = 12;
constexpr unsigned kMostPlainBits = 8;

// Forgetting that nobody will notice: where the number of keys is told, such lines are as good as plain ones, and
// better if more keys come than were told.
constexpr double kHardlyForgets = 1e-6;
// Without a limit on memory: the share of the keys that may be forgotten.
constexpr double kForgetsWhenFree = 1e-3;

// Two forms and how much of the memory is of the first.
struct Mixture {
  LineForm first, second;
  double share = 0;
};

// What a line of each form does with the same number of keys.
struct Point {
  LineForm form;
  double passed, forgotten, false_positive;
  Point(const LineForm& f, double keys_per_line) : form(f) {
    const theory::Remembered line = f.remembers(keys_per_line);
    passed = line.passed;
    forgotten = f.judged_new_again(line);
    false_positive = line.false_positive;
  }
};

Rates mixed_rates(double share, const Point& a, const Point& b) {
  const double passed = share * a.passed + (1 - share) * b.passed;
  const double forgotten = share * a.forgotten + (1 - share) * b.forgotten;
  return {share * a.false_positive + (1 - share) * b.false_positive, passed > 0 ? forgotten / passed : 0};
}
Rates mixed_rates(const Mixture& mix, double keys_per_line) {
  return mixed_rates(mix.share, Point(mix.first, keys_per_line), Point(mix.second, keys_per_line));
}

// How much of `over`, where the rest is `under`, gives `error`.
double share_for(double error, double under, double over) {
  return std::clamp((error - under) / (over - under), 0.0, 1.0);
}

// Narrower slots would be more than there are fingerprints.
unsigned narrowest_queue(unsigned words) {
  unsigned bits = 2;
  while (LineForm{Form::queue, bits, words}.slots() > LineForm{Form::queue, bits, words}.values()) ++bits;
  return bits;
}

// Queues of so many words whose false positives come to `error` in the end, however many keys come.
Mixture endless(double error, unsigned words) {
  const auto queue = [&](std::uint64_t bits) { return LineForm{Form::queue, static_cast<unsigned>(bits), words}; };
  const unsigned narrowest = narrowest_queue(words);
  const auto bits = static_cast<unsigned>(
      least_where(narrowest, SlotLine::kWidest, [&](std::uint64_t width) { return queue(width).limit() <= error; }));
  Mixture mix{queue(std::max(bits - 1, narrowest)), queue(bits)};
  if (mix.first.bits < bits && mix.second.limit() <= error)
    mix.share = share_for(error, mix.second.limit(), mix.first.limit());
  return mix;
}

// The most keys for each line of which no more than `share` are forgotten.
double keys_until_forgotten(const Mixture& mix, double share) {
  constexpr double kSteps = 64;
  return static_cast<double>(greatest_where(1, 1024 * static_cast<std::uint64_t>(kSteps),
                                            [&](std::uint64_t steps) {
                                              const double keys = static_cast<double>(steps) / kSteps;
                                              return mixed_rates(mix, keys).false_negative <= share;
                                            })) /
         kSteps;
}

// Of the queues that keep to `error` for ever, those of the best length.
Mixture endless(double error) {
  Mixture best;
  double most = 0;
  for (const unsigned words : kQueueWords) {
    const Mixture mix = endless(error, words);
    const double keys = keys_until_forgotten(mix, kForgottenAtMeasure);
    if (keys <= most) continue;
    best = mix;
    most = keys;
  }
  return best;
}

// The two forms, and their shares, that forget least of so many keys at this error; of those that forget equally little
// the ones with the fewest false positives.
Mixture best_for(double keys_per_line, double error) {
  Mixture best = endless(error);
  Rates least = mixed_rates(best, keys_per_line);
  if (least.false_negative <= kHardlyForgets) return best;
  std::vector<Point> points;
  const auto add = [&](Form kind, unsigned narrowest, unsigned widest, unsigned words = kLineWords) {
    for (unsigned bits = narrowest; bits <= widest; ++bits)
      points.emplace_back(LineForm{kind, bits, words}, keys_per_line);
  };
  add(Form::plain, 1, kMostPlainBits);
  add(Form::slots, 2, kWidestSingle);
  for (const unsigned words : kQueueWords) add(Form::queue, narrowest_queue(words), SlotLine::kWidest, words);
  for (const Point& over : points) {
    for (const Point& under : points) {
      if (under.false_positive > error) continue;
      const double share =
          over.false_positive <= error ? 1 : share_for(error, under.false_positive, over.false_positive);
      const Rates rates = mixed_rates(share, over, under);
      if (rates.false_negative > least.false_negative ||
          (rates.false_negative == least.false_negative && rates.false_positive >= least.false_positive))
        continue;
      best = {over.form, under.form, share};
      least = rates;
    }
  }
  return best;
}

}  // namespace

double LineForm::limit() const {
  switch (kind) {
    case Kind::plain:
      return 1;
    case Kind::slots:
      return 1 / values();
    case Kind::queue:
      return theory::queue_limit(slots(), values());
  }
  return 1;
}

// Of a line, from what one queue or one slot remembers.
theory::Remembered LineForm::remembers(double keys_per_line) const {
  if (kind == Kind::plain) return theory::plain_remembers(keys_per_line, bits);
  const double parts = kind == Kind::queue ? queues() : slots();
  theory::Remembered line = kind == Kind::queue ? theory::queue_remembers(keys_per_line / parts, slots(), values())
                                                : theory::slot_remembers(keys_per_line / parts, values());
  line.passed *= parts;
  line.held *= parts;
  return line;
}

double LineForm::false_positive(double held) const {
  return held / values() / (kind == Kind::slots ? slots() : queues());
}

double LineForm::judged_new_again(const theory::Remembered& line) const {
  if (kind == Kind::plain) return 0;
  const double parts = kind == Kind::queue ? queues() : slots();
  const theory::Remembered part{line.passed / parts, line.held / parts};
  return parts * (kind == Kind::queue ? theory::queue_judges_new_again(part, slots(), values())
                                      : theory::slot_judges_new_again(part, values()));
}

std::string LineForm::text() const {
  switch (kind) {
    case Kind::plain:
      return fmt::format("plain, {} bits per key", bits);
    case Kind::slots:
      return fmt::format("{} slots of {} bits", slots(), bits);
    case Kind::queue:
      return queues() == 1 ? fmt::format("queue of {} slots of {} bits", slots(), bits)
                           : fmt::format("{} queues of {} slots of {} bits", queues(), slots(), bits);
  }
  return {};
}

Automatic::Params Automatic::fit(const Goal& goal) {
  check_goal(goal);
  const auto keys = static_cast<double>(goal.keys);
  Params p;
  Mixture mix = endless(goal.error);
  if (goal.bytes != 0) {
    p.lines = most_units(goal, kLineBytes);
    if (goal.keys != 0) mix = best_for(keys / static_cast<double>(p.lines), goal.error);
  } else {
    const double load = keys_until_forgotten(mix, kForgetsWhenFree);
    p.lines = static_cast<std::uint64_t>(
        std::clamp(std::ceil(keys / load), 1.0, static_cast<double>(most_units(goal, kLineBytes))));
  }
  p.forms = {mix.first, mix.second};
  p.first_lines = static_cast<std::uint64_t>(mix.share * static_cast<double>(p.lines));
  return p;
}

Rates Automatic::rates(const Params& p, std::uint64_t keys) {
  const auto lines = static_cast<double>(p.lines);
  return mixed_rates({p.forms[0], p.forms[1], static_cast<double>(p.first_lines) / lines},
                     static_cast<double>(keys) / lines);
}

Facts Automatic::facts(const Params& p) {
  Facts facts{{"lines", std::to_string(p.lines)}};
  const std::uint64_t counts[] = {p.first_lines, p.lines - p.first_lines};
  double limit = 0;
  for (unsigned i = 0; i < 2; ++i) {
    if (counts[i] == 0) continue;
    facts.emplace_back(fmt::format("lines_{}", i + 1), fmt::format("{}: {}", counts[i], p.forms[i].text()));
    limit += p.forms[i].limit() * static_cast<double>(counts[i]) / static_cast<double>(p.lines);
  }
  facts.emplace_back("error_in_the_end", fmt::format("{:.3g}", limit));
  return facts;
}

Automatic::Automatic(const Params& params, PagePolicy policy)
    : params_(params),
      parts_{Part(params.forms[0], params.forms[1]), Part(params.forms[1], params.forms[0])},
      table_(bytes(params), policy) {}

// Queues have a kernel of their own; mixtures with other forms are for those who know the number of keys.
void Automatic::insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
  const bool queues = std::ranges::all_of(parts_, [](const Part& part) { return part.form.kind == Form::queue; });
  if (!queues) {
    visit_prefetched(
        keys.size(), [&](std::size_t i) { prefetch(keys[i]); }, [&](std::size_t i) { is_new[i] = insert(keys[i]); });
    return;
  }
  QueueBatch batch{.table = table_.as<std::uint64_t>(),
                   .lines = params_.lines,
                   .first_lines = params_.first_lines,
                   .shapes = {&parts_[0].shape, &parts_[1].shape}};
  kernels().insert_queues(batch, keys.data(), keys.size(), is_new);
  for (unsigned i = 0; i < 2; ++i) {
    parts_[i].passed += batch.passed[i];
    parts_[i].held += batch.filled[i];
  }
}

// The chance that a new key finds its bits set, over at most 2^15 lines spread evenly: two megabytes to read.
double Automatic::plain_match(unsigned part) const {
  const std::uint64_t first = part == 0 ? 0 : params_.first_lines, end = first + lines_of(part);
  const std::uint64_t step = std::max<std::uint64_t>(lines_of(part) >> 15, 1);
  const unsigned probes = params_.forms[part].bits, lane = 512 / probes;
  double sum = 0, seen = 0;
  for (std::uint64_t place = first; place < end; place += step, ++seen) {
    double match = 1;
    for (unsigned probe = 0; probe < probes; ++probe) {
      std::uint64_t set = 0;
      for (unsigned bit = probe * lane; bit < (probe + 1) * lane; ++bit)
        set += line_at(place)[bit / 64] >> bit % 64 & 1;
      match *= static_cast<double>(set) / lane;
    }
    sum += match;
  }
  return sum / seen;
}

Rates Automatic::rates() const {
  Rates rates;
  for (unsigned i = 0; i < 2; ++i) {
    const Part& part = parts_[i];
    if (part.passed == 0) continue;
    const auto lines = static_cast<double>(lines_of(i));
    theory::Remembered line{static_cast<double>(part.passed) / lines, static_cast<double>(part.held) / lines};
    line.false_positive = part.form.kind == Form::plain ? plain_match(i) : part.form.false_positive(line.held);
    rates.false_positive += line.false_positive * lines / static_cast<double>(params_.lines);
    rates.false_negative += part.form.judged_new_again(line) * lines / static_cast<double>(keys());
  }
  return rates;
}

void Automatic::save(Writer& out) const {
  out.u64(params_.lines);
  out.u64(params_.first_lines);
  for (const Part& part : parts_) {
    out.u64(static_cast<std::uint64_t>(part.form.kind));
    out.u64(part.form.bits);
    out.u64(part.form.words);
    out.u64(part.passed);
  }
  out.bytes(table_.span());
}

Automatic Automatic::load(Reader& in) {
  Params p;
  p.lines = in.u64("number of lines", 1, std::numeric_limits<std::uint64_t>::max() / kLineBytes);
  p.first_lines = in.u64("lines of the first form", 0, p.lines);
  std::array<std::uint64_t, 2> passed{};
  for (unsigned i = 0; i < 2; ++i) {
    p.forms[i].kind = static_cast<Form>(in.u64("form of lines", 0, static_cast<std::uint64_t>(Form::queue)));
    const bool plain = p.forms[i].kind == Form::plain;
    p.forms[i].bits = static_cast<unsigned>(
        in.u64("bits of a form", plain ? 1 : 2, plain ? LineForm::kMostProbes : SlotLine::kWidest));
    p.forms[i].words = static_cast<unsigned>(in.u64("words of a queue", 1, kLineWords));
    if (!std::has_single_bit(p.forms[i].words) || (p.forms[i].kind != Form::queue && p.forms[i].words != kLineWords))
      in.damaged("no line is divided like that");
    passed[i] = in.u64("number of keys");
  }
  in.require(bytes(p), "lines");
  Automatic filter(p);
  for (unsigned i = 0; i < 2; ++i) {
    filter.parts_[i].passed = passed[i];
    if (passed[i] > 0 && filter.lines_of(i) == 0) in.damaged("keys have passed where there are no lines");
  }
  in.bytes(filter.table_.span(), "lines");
  filter.count_held(in);
  return filter;
}

// The slots in use; and that a queue has no gaps, that bits which belong to no slot are 0, and that no more keys are
// held than have passed.
void Automatic::count_held(Reader& in) {
  for (unsigned i = 0; i < 2; ++i) {
    Part& part = parts_[i];
    if (part.form.kind == Form::plain) continue;
    const unsigned words = part.shape.words(), used = part.shape.slots() * part.shape.width();
    const std::uint64_t first = i == 0 ? 0 : params_.first_lines, end = first + lines_of(i);
    for (const std::uint64_t* at = line_at(first); at != line_at(end); at += words) {
      bool gap = false;
      for (unsigned slot = 0; slot < part.shape.slots(); ++slot) {
        const bool held = part.shape.get(at, slot) != 0;
        if (held && gap && part.form.kind == Form::queue) in.damaged("a queue has an empty slot before one in use");
        gap |= !held;
        part.held += held;
      }
      if (used < 64 * words && at[used / 64] >> used % 64 != 0) in.damaged("a line has bits that belong to no slot");
    }
    if (part.held > part.passed) in.damaged("more keys are held than have passed");
  }
}

}  // namespace nodup
