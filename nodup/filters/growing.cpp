// SPDX-License-Identifier: Apache-2.0
#include "nodup/filters/growing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "nodup/filters/fit.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/theory/growing.hpp"
#include "nodup/theory/solve.hpp"

namespace nodup {

namespace {

// With several stages a batch is asked in pieces of this size, whose notes fit on the stack; large enough that
// the prefetching of each stage is rarely idle.
constexpr std::size_t kPiece = 1024;

// 2^20 keys per possible stage are more than any machine will see.
constexpr std::uint64_t kMostStages = 64;

Goal stage_goal(const Growing::Params& p, std::uint64_t i) {
  return {.keys = theory::stage_keys(p.keys, i), .error = theory::stage_error(p.error, i), .bytes = p.max_bytes};
}

Plan first_plan(const Growing::Params& p) {
  const Goal goal = stage_goal(p, 1);
  return best_stage(goal).plan(goal);
}

}  // namespace

Growing::Params Growing::fit(const Goal& goal) {
  check_goal(goal);
  return {std::max<std::uint64_t>(goal.keys, 1), goal.error, goal.bytes};
}
Rates Growing::rates(const Params& p, std::uint64_t keys) {
  // What one stage would do; further stages keep the bound.
  return keys <= p.keys ? first_plan(p).rates : Rates{.false_positive = p.error};
}
std::uint64_t Growing::bytes(const Params& p) { return first_plan(p).bytes; }
double Growing::lines_per_event(const Params& p) { return first_plan(p).lines_per_event; }
Facts Growing::facts(const Params& p) {
  const Plan plan = first_plan(p);
  Facts facts = {{"error", fmt::format("{:g}", p.error)}, {"first_stage", std::string(plan.kind)}};
  facts.insert(facts.end(), plan.facts.begin(), plan.facts.end());
  return facts;
}

Growing::Growing(const Params& params) : params_(params) { add_stage(); }
Growing::Growing(const Params& params, std::vector<Stage> stages)
    : params_(params), stages_(std::move(stages)), open_(stages_.size() - 1) {}

// False when the memory limit leaves no room for a stage worth having.
bool Growing::add_stage() {
  const std::uint64_t number = stages_.size() + 1;
  if (number > kMostStages) return false;
  Goal goal = stage_goal(params_, number);
  if (params_.max_bytes != 0) {
    const std::uint64_t used = bytes();
    // The first stage is fitted as well as the limit allows, whatever the error; a later one only if it can hold at
    // least a sixteenth of what it should at its error.
    if (number > 1) {
      if (used >= params_.max_bytes) return false;
      goal.bytes = params_.max_bytes - used;
      const std::uint64_t wanted = goal.keys;
      goal.keys = greatest_where(wanted / 16, wanted, [&](std::uint64_t keys) {
        const Goal smaller{keys, goal.error, goal.bytes};
        return best_stage(smaller).plan(smaller).rates.false_positive <= goal.error;
      });
      if (best_stage(goal).plan(goal).rates.false_positive > goal.error) return false;
    }
  }
  stages_.push_back({best_stage(goal).make(goal), goal.keys});
  return true;
}

void Growing::make_room(std::uint64_t more_keys) {
  std::uint64_t room = 0;
  for (std::size_t i = open_; i < stages_.size(); ++i) room += stages_[i].room();
  while (room < more_keys && !exhausted_) {
    exhausted_ = !add_stage();
    if (!exhausted_) room += stages_.back().room();
  }
}

// Fills the open stage to its capacity and goes on with the next one. Without a next one the last takes everything.
void Growing::insert_into_open(std::span<const Digest> keys, bool* is_new) noexcept {
  std::size_t done = 0;
  while (done < keys.size()) {
    const bool last = open_ + 1 == stages_.size();
    const std::uint64_t room = last ? std::numeric_limits<std::uint64_t>::max() : stages_[open_].room();
    if (room == 0) {
      // Keys from here on must be looked up in the stage just filled, too.
      ++open_;
      insert_all(keys.subspan(done), is_new + done);
      return;
    }
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(room, keys.size() - done));
    stages_[open_].filter.insert_all(keys.subspan(done, take), is_new + done);
    done += take;
  }
}

void Growing::insert_all(std::span<const Digest> keys, bool* is_new) noexcept {
  if (open_ == 0) return insert_into_open(keys, is_new);
  for (std::size_t from = 0; from < keys.size(); from += kPiece) {
    const auto piece = keys.subspan(from, std::min(kPiece, keys.size() - from));
    // Which keys no older stage knows.
    std::array<Digest, kPiece> unknown;
    std::array<std::uint32_t, kPiece> place;
    std::array<bool, kPiece> answer;
    std::size_t count = piece.size();
    std::copy(piece.begin(), piece.end(), unknown.begin());
    for (std::uint32_t i = 0; i < piece.size(); ++i) place[i] = i;
    std::fill_n(is_new + from, piece.size(), false);
    // The largest stage first: it knows most of the duplicates.
    for (std::size_t stage = open_; stage-- > 0 && count > 0;) {
      stages_[stage].filter.contains_all(std::span(unknown).first(count), answer.data());
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        unknown[kept] = unknown[i];
        place[kept] = place[i];
        kept += !answer[i];
      }
      count = kept;
    }
    insert_into_open(std::span(unknown).first(count), answer.data());
    for (std::size_t i = 0; i < count; ++i) is_new[from + place[i]] = answer[i];
  }
}

void Growing::contains_all(std::span<const Digest> keys, bool* seen) const noexcept {
  stages_[0].filter.contains_all(keys, seen);
  std::array<bool, kPiece> answer;
  for (std::size_t stage = 1; stage <= open_; ++stage) {
    for (std::size_t from = 0; from < keys.size(); from += kPiece) {
      const auto piece = keys.subspan(from, std::min(kPiece, keys.size() - from));
      stages_[stage].filter.contains_all(piece, answer.data());
      for (std::size_t i = 0; i < piece.size(); ++i) seen[from + i] |= answer[i];
    }
  }
}

bool Growing::insert(Digest d) noexcept {
  bool is_new = false;
  insert_all({&d, 1}, &is_new);
  return is_new;
}
bool Growing::contains(Digest d) const noexcept {
  bool seen = false;
  contains_all({&d, 1}, &seen);
  return seen;
}

std::uint64_t Growing::keys() const {
  std::uint64_t sum = 0;
  for (const Stage& stage : stages_) sum += stage.filter.keys();
  return sum;
}
std::uint64_t Growing::bytes() const {
  std::uint64_t sum = 0;
  for (const Stage& stage : stages_) sum += stage.filter.bytes();
  return sum;
}
Rates Growing::rates() const {
  double log_none = 0;  // of the chance that no stage errs; a product would lose rates below 1e-16
  for (const Stage& stage : stages_) log_none += std::log1p(-stage.filter.rates().false_positive);
  return {.false_positive = 0 - std::expm1(log_none)};
}
Facts Growing::facts() const {
  Facts facts = {{"error", fmt::format("{:g}", params_.error)}, {"stages", std::to_string(open_ + 1)}};
  for (std::size_t i = 0; i <= open_; ++i) {
    std::string text(stages_[i].filter.kind());
    for (const auto& [name, value] : stages_[i].filter.facts()) text += fmt::format(" {}={}", name, value);
    facts.emplace_back(fmt::format("stage_{}", i + 1), std::move(text));
  }
  return facts;
}

// error f64 | keys of the first stage u64 | stages u64 | for each: capacity u64, kind text, its bytes
void Growing::save(Writer& out) const {
  out.f64(params_.error);
  out.u64(params_.keys);
  out.u64(open_ + 1);
  for (std::size_t i = 0; i <= open_; ++i) {
    out.u64(stages_[i].capacity);
    save_stage(out, stages_[i].filter);
  }
}

Growing Growing::load(Reader& in) {
  Params p;
  p.error = in.f64("error", std::numeric_limits<double>::min(), 1 - 1e-9);
  p.keys = in.u64("keys of the first stage", 1, std::numeric_limits<std::uint64_t>::max());
  const std::uint64_t count = in.u64("number of stages", 1, kMostStages);
  std::vector<Stage> stages;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t capacity = in.u64("capacity of a stage", 1, std::numeric_limits<std::uint64_t>::max());
    stages.push_back({load_stage(in), capacity});
  }
  return Growing(p, std::move(stages));
}

static_assert(Filter<Growing> && Growable<Growing>);

}  // namespace nodup
