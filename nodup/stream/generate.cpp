// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "nodup/error.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/theory/occupancy.hpp"

namespace nodup {
namespace {

using Shape = StreamShape::Shape;
using Format = StreamShape::Format;

constexpr ShapeKind kShapes[] = {
    {"uniform", "all keys equally likely: duplicates at any distance", Shape::uniform},
    {"zipf", "few keys are everywhere, most are rare", Shape::zipf},
    {"bursty", "duplicates follow soon after their event", Shape::bursty},
    {"recent", "duplicates at a distance of their own law (--distance)", Shape::recent},
};
constexpr TextKind kTexts[] = {
    {"ndjson", "one JSON object per line", Format::ndjson},
    {"csv", "comma-separated, with a header row", Format::csv},
    {"lines", "like a web server's access log", Format::lines},
};

template <class Kinds>
const auto& named(const Kinds& kinds, std::string_view name, std::string_view what) {
  std::string known;
  for (const auto& kind : kinds) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(fmt::format("`{}` is not a {} of sample streams: write one of {}", name, what, known));
}

// Keeps the 24 highest bits: what differs between C libraries in the last bit of a double is gone, and the
// number of distinct keys moves by less than chance does in streams below 10^13 events.
std::uint64_t rounded_keys(double keys) {
  // Rounded once: to whole keys, or to the unit that leaves 24 bits.
  const int exponent = std::max(0, std::ilogb(std::clamp(keys, 1.0, kMostKeys)) + 1 - 24);
  const double coarse = std::round(std::ldexp(std::clamp(keys, 1.0, kMostKeys), -exponent));
  return static_cast<std::uint64_t>(std::ldexp(coarse, exponent));
}

// Sum of f(1..n): the first terms one by one, the rest as the integral of f from kExact + 1/2 to n + 1/2,
// taken over log x by Gauss-Legendre with 3 points. Against the plain sum at n = 10^6 the error is below
// 10^-6 of it.
template <class F>
double sum_to(double n, F&& f) {
  constexpr double kExact = 512;
  constexpr double kPanel = 0.25;
  double sum = 0;
  for (double k = 1; k <= std::min(n, kExact); ++k) sum += f(k);
  if (n <= kExact) return sum;
  const double from = std::log(kExact + 0.5), to = std::log(n + 0.5);
  const double panels = std::ceil((to - from) / kPanel);
  const double half = (to - from) / panels / 2;
  const double offset = half * 0.7745966692414834;  // sqrt(3/5)
  for (double p = 0; p < panels; ++p) {
    const double middle = from + half * (2 * p + 1);
    const double a = std::exp(middle - offset), b = std::exp(middle), c = std::exp(middle + offset);
    sum += half * (5 * (a * f(a) + c * f(c)) + 8 * b * f(b)) / 9;
  }
  return sum;
}

double zipf_distinct(double keys, double events, double skew) {
  keys = std::floor(keys);
  const auto weight = [skew](double k) { return std::pow(k, -skew); };
  const double total = sum_to(keys, weight);
  return sum_to(keys, [&](double k) {
    // One key has probability 1, which must not become log(0) * 0.
    const double p = std::min(1.0, weight(k) / total);
    return p >= 1 ? 1.0 : -std::expm1(events * std::log1p(-p));
  });
}

}  // namespace

std::span<const ShapeKind> shape_kinds() { return kShapes; }
std::span<const TextKind> text_kinds() { return kTexts; }
Shape shape_named(std::string_view name) { return named(kShapes, name, "shape").shape; }
Format text_named(std::string_view name) { return named(kTexts, name, "format").format; }

EventGenerator::EventGenerator(const StreamShape& shape)
    : shape_(shape), random_(shape.seed), distances_(shape.distance) {
  if (!(shape.distinct > 0 && shape.distinct <= 1))
    throw Error("the fraction of distinct events must be above 0 and at most 1, as in 0.6");
  if (!(shape.skew >= 0 && shape.skew <= 10))
    throw Error("the skew of a sample stream must be within 0..10, as in 1.0");
  std::uint64_t state = ~shape.seed;  // apart from the state of random_
  scatter_ = split_mix(state);
  all_new_ = shape.distinct == 1;
  if (all_new_ || shape.events == 0) return;
  new_below_ = static_cast<std::uint64_t>(std::ldexp(shape.distinct, 64));

  const double events = static_cast<double>(shape.events);
  const double wanted = std::max(1.0, shape.distinct * events);
  if (shape.shape == Shape::uniform) universe_ = rounded_keys(uniform_universe(events, wanted));
  if (shape.shape == Shape::zipf) {
    const double reachable = zipf_distinct(kMostKeys, events, shape.skew);
    if (wanted > 1 && wanted > reachable)
      throw Error(
          fmt::format("a zipf stream of {} events with skew {} has at most {:.3g} distinct events, not {}: "
                      "ask for fewer, lower the skew or take another shape",
                      shape.events, shape.skew, reachable / events, shape.distinct));
    universe_ =
        rounded_keys(reached_at(wanted, kMostKeys, [&](double n) { return zipf_distinct(n, events, shape.skew); }));
    ranks_ = ZipfRanks(universe_, shape.skew);
  }
}

// Ids count from 0; a bijection spreads them, so that keys of different seeds differ and order tells nothing.
// It permutes the low 46 bits (the pairs of 7-digit users and ads) and leaves the rest of a larger id alone.
std::uint64_t EventGenerator::scatter(std::uint64_t id) const noexcept {
  constexpr std::uint64_t mask = (1ull << 46) - 1;
  std::uint64_t x = (id ^ scatter_) & mask;
  x = (x * 0x9E3779B97F4A7C15u) & mask;
  x ^= x >> 23;
  x = (x * (scatter_ | 1)) & mask;
  x ^= x >> 23;
  x = (x * 0xD6E8FEB86659FD93u) & mask;
  x ^= x >> 23;
  return (id & ~mask) | x;
}

std::uint64_t EventGenerator::next_key() noexcept {
  if (all_new_) return scatter(next_id_++);
  switch (shape_.shape) {
    case Shape::uniform:
      return scatter(fastrange(random_(), universe_));
    case Shape::zipf:
      return scatter(ranks_(random_) - 1);
    case Shape::bursty: {
      // A burst ends, and the next begins in its place, with probability `distinct`: lengths are geometric.
      // All places begin with key 0, so that the fraction is right from the start.
      std::uint64_t& burst = bursts_[random_() % kBursts];
      if (coin_new()) burst = next_id_++;
      return scatter(burst);
    }
    case Shape::recent:
      if (coin_new()) return scatter(next_id_++);
      return scatter(next_id_ - distances_(random_, next_id_));
  }
  return 0;
}

std::string_view EventGenerator::header() const { return shape_.format == Format::csv ? "user,ad,ts,url,ref\n" : ""; }

namespace {

// Writes forward into a buffer that is known to be large enough.
class Pen {
 public:
  explicit Pen(char* at) : at_(at) {}
  char* at() const { return at_; }

  Pen& text(std::string_view s) {
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
    return *this;
  }
  // At least `width` digits.
  Pen& digits(std::uint64_t value, int width) {
    char reversed[20];
    int n = 0;
    do {
      reversed[n++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    for (; n < width; ++n) reversed[n] = '0';
    while (n > 0) *at_++ = reversed[--n];
    return *this;
  }
  // Exactly N digits of a value that has no more: no loop depends on the value.
  template <int N>
  Pen& fixed(std::uint64_t value) {
    for (int i = N; i-- > 0; value /= 10) at_[i] = static_cast<char>('0' + value % 10);
    at_ += N;
    return *this;
  }

 private:
  char* at_;
};

constexpr std::string_view kReferrers[8] = {"organic", "email",   "social", "search",
                                            "direct",  "partner", "banner", "push"};

}  // namespace

void EventGenerator::append_text(std::string& out, Format format, std::uint64_t key) {
  // Seven digits each, while keys stay below 9 * 10^13; users become longer then, the pair stays unique.
  constexpr std::uint64_t kAds = 9'000'000;
  const std::uint64_t user = key / kAds;
  const std::uint64_t ad = 1'000'000 + key % kAds;
  std::uint64_t state = key;
  const std::uint64_t mixed = split_mix(state);
  const std::uint64_t time = 1'700'000'000'000 + fastrange(mixed, 86'400'000);  // a millisecond of one day
  const std::uint64_t item = mixed & 0xFFFF;
  const std::uint64_t page = (mixed >> 16) & 7;
  const std::string_view referrer = kReferrers[(mixed >> 19) & 7];

  char buffer[192];  // no record reaches 128 bytes
  Pen pen(buffer);
  const auto put_user = [&] { user < 10'000'000 ? pen.fixed<7>(user) : pen.digits(user, 7); };
  switch (format) {
    case Format::ndjson:
      pen.text(R"({"user":"u)");
      put_user();
      pen.text(R"(","ad":{"id":)").fixed<7>(ad).text(R"(},"ts":)").fixed<13>(time);
      pen.text(R"(,"url":"/item/)").fixed<5>(item).text("?page=").fixed<1>(page);
      pen.text(R"(","ref":")").text(referrer).text("\"}\n");
      break;
    case Format::csv:
      pen.text("u");
      put_user();
      pen.text(",").fixed<7>(ad).text(",").fixed<13>(time).text(",/item/").fixed<5>(item);
      pen.text("?page=").fixed<1>(page).text(",").text(referrer).text("\n");
      break;
    case Format::lines:
      pen.text("10.").digits((mixed >> 24) & 255, 1).text(".").digits((mixed >> 32) & 255, 1).text(".");
      pen.digits((mixed >> 40) & 255, 1).text(" - u");
      put_user();
      pen.text(" [").fixed<10>(time / 1000).text(".").fixed<3>(time % 1000).text("] \"GET /item/").fixed<5>(item);
      pen.text("?page=").fixed<1>(page).text("&ad=").fixed<7>(ad).text(" HTTP/1.1\" 200 ");
      pen.digits(500 + ((mixed >> 20) & 0x3FFF), 1).text(" \"").text(referrer).text("\"\n");
      break;
  }
  out.append(buffer, static_cast<std::size_t>(pen.at() - buffer));
}

}  // namespace nodup
