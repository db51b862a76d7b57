// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/generate.hpp"

#include <unistd.h>

#include <optional>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "nodup/stream/sinks/sinks.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup generate --events 10M --distinct 0.6 --shape zipf | nodup --stats json > /dev/null", "try it out"},
    {"nodup generate --shape recent --distance power:1.2 -o recent.ndjson", "duplicates by a power law of distance"},
    {"nodup generate --events 1M --format csv --shape bursty --seed 7 -o sample.csv", "the same file every time"},
};

constexpr CommandText kText = {
    .name = "generate",
    .usage = "generate [--events COUNT] [--distinct SHARE] [--shape SHAPE] [--format FORMAT] [--seed N] [-o FILE]",
    .summary = "sample event streams, the same for the same seed",
    .about =
        "Writes events of about 100 bytes. A duplicate is byte for byte equal to its first occurrence; the fields "
        "user and ad together identify an event.",
    .examples = kExamples,
};

template <class Kinds>
std::vector<std::string> names(const Kinds& kinds) {
  std::vector<std::string> all;
  for (const auto& kind : kinds) all.emplace_back(kind.name);
  return all;
}

template <class Kinds>
std::string details(const Kinds& kinds) {
  std::string text;
  for (const auto& kind : kinds) text += fmt::format("{:<10}{}\n", kind.name, kind.summary);
  return text;
}

std::string distance_details() {
  std::string text = "Counted in first occurrences, from the latest back to the one that is repeated.\n";
  for (const DistanceKind& kind : distance_kinds()) text += fmt::format("{:<25}{}\n", kind.form, kind.summary);
  return text;
}

class Generate final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    using S = const std::string&;
    const std::string group = "Stream", out = "Output";
    return {{"-n,--events", "COUNT", group, "how many events (default 1M)", "",
             [&](S v) { shape_.events = read_count(v); }},
            {"--distinct", "SHARE", group, "share of first occurrences among them (default 0.6)", "",
             [&](S v) { shape_.distinct = read_probability(v); }},
            {"--shape", "SHAPE", group, "how duplicates are spread (default uniform)", details(shape_kinds()),
             [&](S v) { shape_.shape = shape_named(v); }, false, names(shape_kinds())},
            {"--skew", "S", group, "exponent of the zipf shape (default 1.0)", "",
             [&](S v) {
               char* end = nullptr;
               shape_.skew = std::strtod(v.c_str(), &end);
               if (v.empty() || *end != '\0') throw Error(fmt::format("`{}` is not a number", v));
             }},
            {"--distance", "LAW", group, "of the recent shape: how far back (default lognormal:1024,8)",
             distance_details(), [&](S v) { distance_ = read_distance(v); }, false, names(distance_kinds())},
            {"--format", "FORMAT", group, "ndjson (default), csv or lines", details(text_kinds()),
             [&](S v) { shape_.format = text_named(v); }, false, names(text_kinds())},
            {"--seed", "NUMBER", group, "another seed, another stream (default 1)", "",
             [&](S v) { shape_.seed = read_count(v); }},
            {"-o,--output", "FILE", out, "write to FILE instead of standard output", "", [&](S v) { output_ = v; }}};
  }
  int run() override {
    if (distance_ && shape_.shape != StreamShape::Shape::recent)
      throw UsageError("--distance is about recent duplicates: add --shape recent");
    shape_.distance = distance_.value_or(shape_.distance);
    EventGenerator generator = make_generator();
    const std::unique_ptr<Sink> sink = output_.empty() || output_ == "-"
                                           ? descriptor_sink(STDOUT_FILENO, "standard output")
                                           : file_sink(output_, FileMode::replace, '\n');
    std::string block(generator.header());
    const auto flush = [&] {
      const iovec piece{block.data(), block.size()};
      sink->write({&piece, 1});
      block.clear();
    };
    try {
      for (std::uint64_t i = 0; i < shape_.events; ++i) {
        generator.append_record(block);
        if (block.size() >= kBlock) flush();
      }
      if (!block.empty()) flush();
      sink->finish();
    } catch (const ClosedOutput&) {
      // `generate | head` has what it wanted.
    }
    return kOk;
  }

 private:
  EventGenerator make_generator() const {
    try {
      return EventGenerator(shape_);
    } catch (const Error& error) {
      throw UsageError(error.what());  // flags that do not go together
    }
  }

  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  StreamShape shape_;
  std::optional<Distance> distance_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_generate() { return std::make_unique<Generate>(); }

}  // namespace nodup::cli
