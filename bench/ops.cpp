// SPDX-License-Identifier: Apache-2.0
//
// How fast test-and-insert is, beside the limit of the machine, all in one run.
//
//   ops                  tables of 4, 64 and 512 MB, huge and small pages
//   ops --small          a quick look: 4 MB, few rounds
//   ops --rounds N       rounds per size (default 15; four times as many at 4 MB, where they are short)
//   ops --kernels NAME   another set of kernels (portable, avx2, avx512, neon)
//   ops --only TEXT      only rows whose name holds TEXT; the limit is always there
//
// The stream: every event is a new key or, with probability 1/2, repeats a random earlier event of the same stream. Its
// first half warms the caches, its second half is timed. All contenders of a round, and the limit, get the same stream
// one after the other, in batches of 4096 as the command makes them. Before that a table is filled to half of what it
// is meant for (16 M keys at most, which touch every page), and it is built anew when it is full.
//
// The clock is read every 64 Ki keys and the fastest such piece counts, so that other processes on the machine disturb
// as little as possible.
//
// Google Benchmark would measure each contender alone, minutes apart. On a shared machine only neighbours in time
// compare, so this loop interleaves them.
#include <sys/prctl.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/contender.hpp"
#include "bench/limit.hpp"
#include "bench/machine.hpp"
#include "nodup/bits/kernels.hpp"
#include "nodup/bits/line.hpp"
#include "nodup/error.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/pages.hpp"

namespace nodup::bench {
namespace {

constexpr std::size_t kBatch = 4096;
constexpr std::size_t kTimed = std::size_t{64} << 10;  // keys between two looks at the clock
constexpr std::uint64_t kMostPrefill = std::uint64_t{16} << 20;
// As many as there are pieces in the shortest stream.
constexpr Asking kAskings[] = {{16, false}, {32, false}, {48, false}, {64, false},
                               {16, true},  {32, true},  {48, true},  {64, true}};

struct Options {
  bool small = false;
  std::uint64_t rounds = 15;
  std::string only;
};

// The only source of keys: what it gives as new has never been given before.
class Keys {
 public:
  void fill_new(std::span<Digest> out) {
    for (Digest& d : out) d = digest_of(next_++);
  }
  void fill_stream(std::span<Digest> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Digest random = digest_of(next_++);
      out[i] = (random.lo & 1) != 0 || i == 0 ? random : out[fastrange(random.hi, i)];
    }
  }

 private:
  std::uint64_t next_ = 1;
};

// Small pages for everything that is allocated while this lives, the peers' tables too.
class PagesOf {
 public:
  explicit PagesOf(PagePolicy policy) { set(policy == PagePolicy::small); }
  ~PagesOf() { set(false); }
  PagesOf(const PagesOf&) = delete;

 private:
  static void set(bool small) {
    if (::prctl(PR_SET_THP_DISABLE, small ? 1 : 0, 0, 0, 0) != 0) throw Error("the system refuses PR_SET_THP_DISABLE");
  }
};

void insert_in_batches(Table& table, std::span<const Digest> keys, std::size_t batch, bool* is_new) {
  for (std::size_t i = 0; i < keys.size(); i += batch)
    table.insert_all(keys.subspan(i, std::min(batch, keys.size() - i)), is_new);
}

// Seconds per key of the fastest piece of all rounds.
struct Best {
  double seconds = std::numeric_limits<double>::infinity();
  std::size_t piece = 0;  // its number

  template <class Work>
  void time(std::span<const Digest> keys, Work&& work) {
    for (std::size_t number = 0; number * kTimed < keys.size(); ++number) {
      const auto some = keys.subspan(number * kTimed, std::min(kTimed, keys.size() - number * kTimed));
      const auto begin = std::chrono::steady_clock::now();
      work(some, number);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      const double each = took.count() / static_cast<double>(some.size());
      if (each >= seconds) continue;
      seconds = each;
      piece = number;
    }
  }
};

// A contender in the course of a measurement at one size.
class Runner {
 public:
  Runner(const Contender& contender, std::uint64_t bytes)
      : contender_(contender), bytes_(bytes), capacity_(contender.capacity(bytes)) {}

  Best batched, single;

  const Contender& contender() const { return contender_; }
  std::uint64_t table_bytes() const { return table_->bytes(); }

  void run(std::span<const Digest> stream, std::size_t batch, Best& best, Keys& keys) {
    // Half of a stream is new, and half of the table is filled before. A batch of room is left: tables that grow ask
    // for it before they know how many keys are new.
    stream = stream.first(std::min<std::size_t>(stream.size(), capacity_ - 4 * kBatch));
    if (!table_ || held_ + stream.size() / 2 + kBatch > capacity_) build(keys);
    held_ += stream.size() / 2;
    insert_in_batches(*table_, stream.first(stream.size() / 2), kBatch, is_new_);
    const auto timed = stream.subspan(stream.size() / 2);
    best.time(timed, [&](auto some, std::size_t) { insert_in_batches(*table_, some, batch, is_new_); });
  }

 private:
  void build(Keys& keys) {
    table_.reset();
    table_ = contender_.make(bytes_);
    held_ = std::min(capacity_ / 2, kMostPrefill);
    std::vector<Digest> some(kBatch);
    for (std::uint64_t i = 0; i < held_; i += some.size()) {
      keys.fill_new(some);
      table_->insert_all(some, is_new_);
    }
  }

  const Contender& contender_;
  std::uint64_t bytes_, capacity_, held_ = 0;
  std::unique_ptr<Table> table_;
  bool is_new_[kBatch];
};

// Answers must be those of one key after the other, or the speed means nothing. Throws Error otherwise.
void check_answers(const Contender& contender) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) throw Error(fmt::format("{}: {}", contender.name, what));
  };
  bool is_new[kBatch];

  const Digest twice[] = {digest_of(1), digest_of(1)};
  contender.make(kBytes)->insert_all(twice, is_new);
  require(is_new[0] && !is_new[1], "two equal keys in one batch must be new, then seen");

  std::vector<Digest> stream(std::min<std::uint64_t>(contender.capacity(kBytes), std::uint64_t{64} << 10));
  Keys().fill_stream(stream);
  const auto together = contender.make(kBytes), alone = contender.make(kBytes);
  std::uint64_t found_new = 0, found_new_alone = 0;
  for (std::size_t i = 0; i < stream.size(); i += kBatch) {
    const auto batch = std::span(stream).subspan(i, std::min(kBatch, stream.size() - i));
    together->insert_all(batch, is_new);
    for (std::size_t j = 0; j < batch.size(); ++j) {
      bool is_new_alone = false;
      alone->insert_all(batch.subspan(j, 1), &is_new_alone);
      require(is_new_alone == is_new[j], "a batch must give the answers of single inserts");
      found_new += is_new[j];
      found_new_alone += is_new_alone;
    }
  }
  require(found_new == found_new_alone, "a batch must find as many new keys as single inserts");
  // Half of the stream is new; 1 % may be lost. (64 K coins: 0.5 % is more than two standard deviations.)
  const double share = static_cast<double>(found_new) / static_cast<double>(stream.size());
  require(share > 0.48 && share < 0.52, fmt::format("half of the keys should be new, {:.3f} are", share));
}

// "AnonHugePages: N kB" of this process, in bytes.
std::uint64_t huge_bytes() {
  std::ifstream in("/proc/self/smaps_rollup");
  for (std::string word; in >> word;)
    if (std::uint64_t kib = 0; word == "AnonHugePages:" && in >> kib) return kib << 10;
  return 0;
}

struct Target {
  std::string what;
  double reached, wanted;
};

void print_row(std::string_view name, std::uint64_t bytes, double lines, double batched, double single, double limit) {
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.0f} % | {:.0f} % | {:.1f} | {:.2f} | {:.0f} % |\n", name,
             static_cast<double>(bytes) / 1e6, lines, 1e-6 / batched, 1e9 * batched, 100 * limit / batched,
             100 * limit * lines / batched, 1e-6 / single, 1e9 * single, 100 * limit / single);
}

// One size and kind of pages: every contender in every round, then the table. The share that `blocked` reached.
std::optional<double> measure(std::uint64_t bytes, PagePolicy policy, const Options& options,
                              std::span<const Contender> contenders) {
  const PagesOf pages(policy);
  Keys keys;
  const bool in_cache = bytes <= std::uint64_t{8} << 20;
  const std::uint64_t rounds = options.rounds * (in_cache ? 4 : 1);
  std::vector<Digest> stream(in_cache ? std::size_t{1} << 20 : std::size_t{4} << 20);
  Pages limit_pages(bytes, policy);
  Best limit, limit_single;
  Asking best_asking;
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Contender& c : contenders) runners.push_back(std::make_unique<Runner>(c, bytes));

  // Ways of asking are tried in turn, each on a piece of its own: one that was just touched would be in the cache. Then
  // the best so far gets a whole stream, so that the limit has as many chances as every contender.
  const auto asking_of = [](std::size_t piece) { return kAskings[piece % std::size(kAskings)]; };
  const auto touch = [&](Best& best, auto asking) {
    const auto lines = bytes / kLineBytes;
    const auto all = std::span<const Digest>(stream);
    touch_lines(limit_pages.as<void>(), lines, all.first(all.size() / 2), {.keys_ahead = 32});
    best.time(all.subspan(all.size() / 2),
              [&](auto some, std::size_t piece) { touch_lines(limit_pages.as<void>(), lines, some, asking(piece)); });
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    keys.fill_stream(stream);
    const double before = limit.seconds;
    touch(limit, asking_of);
    if (limit.seconds < before) best_asking = asking_of(limit.piece);
    keys.fill_stream(stream);
    touch(limit, [&](std::size_t) { return best_asking; });
    for (auto& r : runners) r->run(stream, kBatch, r->batched, keys);
    keys.fill_stream(stream);
    touch(limit_single, [](std::size_t) { return Asking{}; });
    for (auto& r : runners) r->run(stream, 1, r->single, keys);
  }

  fmt::print(
      "\n### {} MB, {} pages\n\n{:.0f} MB of this process lie in huge pages. The limit looks {} keys ahead, into level "
      "{}.\n\n",
      bytes >> 20, policy == PagePolicy::huge ? "huge" : "small", static_cast<double>(huge_bytes()) / 1e6,
      best_asking.keys_ahead, best_asking.to_second_level ? 2 : 1);
  fmt::print(
      "| table | MB | lines per key | batched M/s | ns | of the limit | of the limit for its lines | one by one M/s | "
      "ns "
      "| of the limit |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  print_row("the limit", bytes, 1, limit.seconds, limit_single.seconds, limit.seconds);
  for (const auto& r : runners)
    print_row(r->contender().name, r->table_bytes(), r->contender().lines_per_key(bytes), r->batched.seconds,
              r->single.seconds, limit.seconds);
  std::fflush(stdout);
  if (runners.empty() || !runners.front()->contender().name.starts_with("blocked, 1 line of 8")) return std::nullopt;
  return limit.seconds / runners.front()->batched.seconds;
}

void run(const Options& options) {
  std::vector<Contender> contenders;
  for (auto* list : {filters, peers})
    for (Contender& c : list())
      if (c.name.find(options.only) != std::string::npos) contenders.push_back(std::move(c));
  for (const Contender& c : contenders) check_answers(c);

  fmt::print("## Test-and-insert\n\n{}, {:%F}, kernels {}, one thread. Half of the keys are new, half repeat an\n",
             machine(), fmt::localtime(std::time(nullptr)), kernels().name);
  fmt::print(
      "earlier one. {} rounds (at 4 MB {}), contenders interleaved, the fastest 64 Ki keys count; batches of {} keys\n"
      "through AnyFilter. The limit: one random 64-byte line read and written per key, memory asked for ahead (one by\n"
      "one: not asked for).\n",
      options.rounds, 4 * options.rounds, kBatch);

  std::vector<Target> targets;
  for (const PagePolicy policy : {PagePolicy::huge, PagePolicy::small}) {
    for (const std::uint64_t megabytes : {4, 64, 512}) {
      if (options.small && megabytes > 4) break;
      const auto share = measure(megabytes << 20, policy, options, contenders);
      if (share && policy == PagePolicy::huge)
        targets.push_back({fmt::format("one-line blocked at {} MB", megabytes), *share, megabytes > 4 ? 0.85 : 0.55});
    }
  }
  if (!targets.empty()) fmt::print("\n### Targets\n\n| | of the limit | wanted | |\n|---|--:|--:|---|\n");
  for (const Target& t : targets)
    fmt::print("| {} | {:.0f} % | {:.0f} % | {} |\n", t.what, 100 * t.reached, 100 * t.wanted,
               t.reached >= t.wanted ? "ok" : "MISSED");
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw Error(fmt::format("{} needs a value", flag));
      return argv[i];
    };
    if (flag == "--small") {
      options.small = true;
      options.rounds = std::min<std::uint64_t>(options.rounds, 5);
    } else if (flag == "--rounds") {
      options.rounds = std::max<std::uint64_t>(1, std::stoull(value()));
    } else if (flag == "--kernels") {
      force_kernels(value());
    } else if (flag == "--only") {
      options.only = value();
    } else {
      throw Error(fmt::format("unknown flag {}; there are --small, --rounds N, --kernels NAME, --only TEXT", flag));
    }
  }
  return options;
}

}  // namespace
}  // namespace nodup::bench

int main(int argc, char** argv) {
  try {
    nodup::bench::run(nodup::bench::parse(argc, argv));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "ops: {}\n", e.what());
    return 1;
  }
}
