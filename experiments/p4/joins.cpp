// SPDX-License-Identifier: Apache-2.0
//
// Bloom joins (P4, V.a): site 1 has R and sends a filter of its join attribute; site 2 sends the rows of S that match;
// site 1 joins exactly. What is sent is counted in bytes of real filters and real rows, beside sending all of S.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "experiments/p4/p4.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/hash/hasher.hpp"
#include "nodup/spread/bit_row.hpp"

namespace nodup::lab {

namespace {

constexpr double kErrors[] = {1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4};
constexpr int kSelectivities[] = {1, 10, 50};  // percent of the rows of S that join

// The attributes as numbers, as they stand in the row's text.
struct Row {
  std::uint64_t a, b;
  std::string text;

  Digest digest_a() const { return Hasher(0)(fmt::format("u{:07}", a)); }
  Digest digest_b() const { return Hasher(0)(fmt::format("i{:07}", b)); }
  Digest digest_ab() const { return Hasher(0)(fmt::format("u{:07}|i{:07}", a, b)); }
};
using Rows = std::vector<Row>;

// 100 bytes with the newline.
Row make_row(std::uint64_t a, std::uint64_t b, Chance& chance) {
  return {a, b,
          fmt::format(R"({{"user":"u{:07}","item":"i{:07}","time":{},"agent":"{:033x}"}})"
                      "\n",
                      a, b, 1'700'000'000 + chance.below(100'000'000), chance())};
}

std::uint64_t text_bytes(const Rows& rows) {
  std::uint64_t sum = 0;
  for (const Row& row : rows) sum += row.text.size();
  return sum;
}

// A filter as site 2 gets it.
struct Sent {
  std::uint64_t bytes;
  double false_positive;
  std::function<bool(Digest)> contains;
};

// As a file of `nodup set build`.
Sent sent_file(std::string_view kind, std::span<const Digest> keys, double error) {
  auto filter = std::make_shared<AnyFilter>(filter_kind(kind).make({.keys = keys.size(), .error = error}));
  filter->make_room(keys.size());
  auto is_new = std::make_unique<bool[]>(keys.size());
  filter->insert_all(keys, is_new.get());
  std::uint64_t bytes = 0;
  Writer out([&](std::span<const std::byte> data) { bytes += data.size(); });
  save(out, *filter, 0, {});
  return {bytes, filter->rates().false_positive, [filter](Digest d) {
            bool seen = false;
            filter->contains_all({&d, 1}, &seen);
            return seen;
          }};
}
// The bits of a dynamic filter that was made for `planned` keys.
Sent sent_bits(std::span<const Digest> keys, std::uint64_t planned, double error) {
  Dynamic filter(Dynamic::fit({.keys = planned, .error = error}));
  for (const Digest& key : keys) {
    filter.make_room(1);
    filter.insert(key);
  }
  auto row = std::make_shared<BitRow>(filter);
  return {saved_bytes(*row), row->false_positive(), [row](Digest d) { return row->contains(d); }};
}

std::vector<Digest> distinct(const Rows& rows, Digest (Row::*digest)() const) {
  std::set<Digest> keys;
  for (const Row& row : rows) keys.insert((row.*digest)());
  return {keys.begin(), keys.end()};
}

// The joined pairs of row texts, by way of a table over R; `reference` comes by sorting both sides.
using Attributes = std::pair<std::uint64_t, std::uint64_t>;
using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

Pairs joined(const Rows& r, const Rows& s, Attributes (*on)(const Row&)) {
  std::map<Attributes, std::vector<const Row*>> by_key;
  for (const Row& row : r) by_key[on(row)].push_back(&row);
  Pairs pairs;
  for (const Row& row : s)
    if (const auto found = by_key.find(on(row)); found != by_key.end())
      for (const Row* left : found->second) pairs.emplace_back(left->text, row.text);
  std::ranges::sort(pairs);
  return pairs;
}
Pairs reference(const Rows& r, const Rows& s, Attributes (*on)(const Row&)) {
  const auto sorted = [&](const Rows& rows) {
    std::vector<std::pair<Attributes, std::string_view>> list;
    for (const Row& row : rows) list.emplace_back(on(row), row.text);
    std::ranges::sort(list);
    return list;
  };
  const auto left = sorted(r), right = sorted(s);
  Pairs pairs;
  for (const auto& [key, text] : left) {
    const auto [first, last] = std::ranges::equal_range(right, key, {}, [](const auto& entry) { return entry.first; });
    for (auto at = first; at != last; ++at) pairs.emplace_back(text, at->second);
  }
  std::ranges::sort(pairs);
  return pairs;
}

// One join, and how it compares.
struct Outcome {
  std::uint64_t filter_bytes, rows_sent, false_rows, bytes_sent;
  bool exact;
};
Outcome bloom_join(const Rows& r, const Rows& s, const Pairs& truth, std::uint64_t joining,
                   Attributes (*on)(const Row&), std::uint64_t filter_bytes,
                   const std::function<bool(const Row&)>& matches) {
  Rows sent;
  for (const Row& row : s)
    if (matches(row)) sent.push_back(row);
  return {filter_bytes, sent.size(), sent.size() - joining, filter_bytes + text_bytes(sent),
          joined(r, sent, on) == truth};
}

double share(std::uint64_t part, std::uint64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

struct Expected {
  double mean = 0, variance = 0;
  void add(double rows, double chance) {
    mean += rows * chance;
    variance += rows * chance * (1 - chance);
  }
  double sigmas(std::uint64_t seen) const {
    const double off = static_cast<double>(seen) - mean;
    return off == 0 ? 0 : off / std::sqrt(std::max(variance, 1e-9));
  }
};

struct Verdict {
  std::uint64_t joins = 0, inexact = 0;
  double most_sigmas = 0;
  void add(const Outcome& outcome, double sigmas) {
    ++joins;
    inexact += !outcome.exact;
    most_sigmas = std::max(most_sigmas, std::abs(sigmas));
  }
};

// R: `keys` users, some with two rows. S: five rows for each of them; of those that do not join, each has a user of
// its own, so that they are judged independently.
void one_attribute(const Experiment& lab, Claims& claims, Verdict& verdict) {
  const std::uint64_t keys = lab.samples(10'000), rows = 5 * keys;
  const auto on = [](const Row& row) { return Attributes(row.a, 0); };
  Chance chance(41);
  Rows r;
  for (std::uint64_t i = 0; i < keys + keys / 4; ++i) r.push_back(make_row(i % keys, i, chance));
  const std::vector<Digest> digests = distinct(r, &Row::digest_a);

  Table table(
      lab, "join_one",
      fmt::format("Bloom join on one attribute: bytes sent\n{} keys in R, {} rows of 100 bytes in S; selectivity: "
                  "percent of S that joins. The bytes are those of the filter and of the rows that match, and "
                  "their share of all of S. False rows beside what the filter expects by itself, and how many "
                  "sigmas they are off. dynamic: its bits; grown: planned for a quarter of the keys.",
                  keys, rows),
      {"join", "selectivity", "filter", "error", "filter bytes", "rows sent", "false rows", "expected false", "sigmas",
       "bytes sent", "of all", "exact"});
  for (const int selectivity : kSelectivities) {
    const std::uint64_t joining = rows * static_cast<std::uint64_t>(selectivity) / 100;
    Rows s;
    for (std::uint64_t i = 0; i < rows; ++i)
      s.push_back(make_row(i < joining ? chance.below(keys) : keys + i, i, chance));
    const Pairs truth = reference(r, s, on);
    const std::uint64_t all = text_bytes(s);

    const auto tried = [&](std::string_view name, double error, const Sent& filter) {
      const Outcome outcome = bloom_join(r, s, truth, joining, on, filter.bytes,
                                         [&](const Row& row) { return filter.contains(row.digest_a()); });
      Expected expected;
      expected.add(static_cast<double>(rows - joining), filter.false_positive);
      const double sigmas = expected.sigmas(outcome.false_rows), of_all = share(outcome.bytes_sent, all);
      verdict.add(outcome, sigmas);
      table.row(fmt::format("{} % {} {}", selectivity, name, error), selectivity, name, error, outcome.filter_bytes,
                outcome.rows_sent, outcome.false_rows, expected.mean, sigmas, outcome.bytes_sent, of_all,
                outcome.exact ? 1 : 0);
      return of_all;
    };
    double best = 200, best_error = 0;
    for (const double error : kErrors) {
      const double of_all = tried("standard", error, sent_file("standard", digests, error));
      if (of_all < best) best = of_all, best_error = error;
      tried("blocked", error, sent_file("blocked", digests, error));
      tried("dynamic", error, sent_bits(digests, keys, error));
      tried("grown", error, sent_bits(digests, keys / 4, error));
    }
    tried("counters", best_error, sent_file("dynamic", digests, best_error));
    claims.push_back(
        {fmt::format("join on one attribute at {} %: the best error sends less than all of S (percent)", selectivity),
         best, "< 100", best < 100});
    // Where a further bit per key costs as much as the false rows it saves.
    const double optimum = static_cast<double>(keys) / (8 * std::numbers::ln2 * std::numbers::ln2) /
                           (static_cast<double>(rows - joining) * 100);
    claims.push_back(
        {fmt::format("join on one attribute at {} %: the best error, over the computed {:.2g}", selectivity, optimum),
         best_error / optimum, "within a factor of 3.5", best_error < 3.5 * optimum && best_error > optimum / 3.5});
  }
}

// R: pairs of half as many users and items. Of the rows of S that do not join, 30 % have a user and an item of R that
// are no pair there, 30 % a user of R and an item of their own, 40 % neither.
void two_attributes(const Experiment& lab, Claims& claims, Verdict& verdict) {
  const std::uint64_t keys = lab.samples(10'000), rows = 5 * keys, values = keys / 2;
  const auto on = [](const Row& row) { return Attributes(row.a, row.b); };
  Chance chance(42);
  Rows r;
  std::set<Attributes> pairs;
  while (pairs.size() < keys) {
    const Attributes pair(chance.below(values), chance.below(values));
    if (pairs.insert(pair).second) r.push_back(make_row(pair.first, pair.second, chance));
  }
  const std::vector<Digest> as = distinct(r, &Row::digest_a), bs = distinct(r, &Row::digest_b),
                            abs = distinct(r, &Row::digest_ab);

  Table table(
      lab, "join_two",
      fmt::format("Bloom join on two attributes: bytes sent\n{} pairs in R of {} values of a and {} of b, {} rows "
                  "of 100 bytes in S. attributes: a filter for a and one for b, and both must match; tuple: one "
                  "filter of the pairs. Cross: rows whose values are in R, but not as a pair. Filters: standard.",
                  keys, as.size(), bs.size(), rows),
      {"join", "selectivity", "filter", "error", "filter bytes", "rows sent", "false rows", "cross rows",
       "expected false", "sigmas", "bytes sent", "of all", "exact"});
  for (const int selectivity : kSelectivities) {
    const std::uint64_t joining = rows * static_cast<std::uint64_t>(selectivity) / 100, others = rows - joining;
    const std::uint64_t cross = others * 3 / 10, only_a = others * 3 / 10;
    Rows s;
    for (std::uint64_t i = 0; i < joining; ++i) {
      const Row& partner = r[chance.below(r.size())];
      s.push_back(make_row(partner.a, partner.b, chance));
    }
    for (std::uint64_t made = 0; made < cross;) {
      const Attributes pair(r[chance.below(r.size())].a, r[chance.below(r.size())].b);
      if (pairs.contains(pair)) continue;
      s.push_back(make_row(pair.first, pair.second, chance));
      ++made;
    }
    for (std::uint64_t i = joining + cross; i < rows; ++i)
      s.push_back(
          make_row(i < joining + cross + only_a ? r[chance.below(r.size())].a : values + i, values + i, chance));
    const Pairs truth = reference(r, s, on);
    const std::uint64_t all = text_bytes(s);

    double best_attributes = 200, best_tuple = 200;
    const auto tried = [&](std::string_view name, double error, const Expected& expected, std::uint64_t filter_bytes,
                           const std::function<bool(const Row&)>& matches, double& best) {
      const Outcome outcome = bloom_join(r, s, truth, joining, on, filter_bytes, matches);
      const double sigmas = expected.sigmas(outcome.false_rows), of_all = share(outcome.bytes_sent, all);
      verdict.add(outcome, sigmas);
      best = std::min(best, of_all);
      table.row(fmt::format("{} % {} {}", selectivity, name, error), selectivity, name, error, outcome.filter_bytes,
                outcome.rows_sent, outcome.false_rows, cross, expected.mean, sigmas, outcome.bytes_sent, of_all,
                outcome.exact ? 1 : 0);
    };
    for (const double error : kErrors) {
      const Sent a = sent_file("standard", as, error), b = sent_file("standard", bs, error),
                 ab = sent_file("standard", abs, error);
      Expected by_attributes, by_tuple;
      by_attributes.add(static_cast<double>(cross), 1);
      by_attributes.add(static_cast<double>(only_a), b.false_positive);
      by_attributes.add(static_cast<double>(others - cross - only_a), a.false_positive * b.false_positive);
      by_tuple.add(static_cast<double>(others), ab.false_positive);
      tried(
          "attributes", error, by_attributes, a.bytes + b.bytes,
          [&](const Row& row) { return a.contains(row.digest_a()) && b.contains(row.digest_b()); }, best_attributes);
      tried(
          "tuple", error, by_tuple, ab.bytes, [&](const Row& row) { return ab.contains(row.digest_ab()); }, best_tuple);
    }
    claims.push_back({fmt::format("join on two attributes at {} %: one filter per attribute sends less than all of S "
                                  "(percent)",
                                  selectivity),
                      best_attributes, "< 100", best_attributes < 100});
    claims.push_back(
        {fmt::format("join on two attributes at {} %: a filter of tuples sends less than that (percent)", selectivity),
         best_tuple, fmt::format("< {:.4g}", best_attributes), best_tuple < best_attributes});
  }
}

}  // namespace

void joins(const Experiment& lab, Claims& claims) {
  Verdict verdict;
  one_attribute(lab, claims, verdict);
  two_attributes(lab, claims, verdict);
  claims.push_back({fmt::format("Bloom joins that are not exact (of {})", verdict.joins),
                    static_cast<double>(verdict.inexact), "0", verdict.inexact == 0});
  claims.push_back({"false rows beside the filters' own error: the most sigmas off", verdict.most_sigmas, "< 5",
                    verdict.most_sigmas < 5});
}

}  // namespace nodup::lab
