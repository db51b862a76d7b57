// SPDX-License-Identifier: Apache-2.0
#include "cli/input_options.hpp"

#include "nodup/stream/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

using S = const std::string&;

// Below this not even the bookkeeping would be small beside the filter.
constexpr std::uint64_t kLeastMemory = std::uint64_t{64} << 10;

char one_byte(const std::string& value) {
  if (value == "\\t") return '\t';
  if (value.size() != 1) throw Error(fmt::format("`{}` is not one byte; write e.g. ';' or '\\t'", value));
  return value[0];
}

std::string key_details() {
  std::string text;
  for (const KeyKind& kind : key_kinds()) text += fmt::format("{:<24}{}\n", kind.usage, kind.summary);
  return text;
}

}  // namespace

std::string file_name(const std::string& value) {
  if (value.empty()) throw Error("the name of the file is missing");
  return value;
}

double error_rate(const std::string& value) {
  double rate = -1;
  try {
    rate = read_probability(value);
  } catch (const Error&) {
    throw Error(
        fmt::format("`{}` is no error rate: it is a probability from 0 (exact) to below 1, e.g. 1e-6 or 0.1%", value));
  }
  if (rate >= 1) throw Error(fmt::format("an error of {} is out of range: from 0 (exact) to below 1", value));
  return rate;
}

std::uint64_t memory_limit(const std::string& value) {
  const std::uint64_t bytes = read_bytes(value);
  if (bytes < kLeastMemory)
    throw Error(fmt::format("{} is too little: the least possible is {}", value, human_bytes(kLeastMemory)));
  return bytes;
}

std::vector<Flag> record_flags(RecordOptions& o) {
  const std::string in = "Input";
  return {
      {"--csv", "", in, "records are CSV rows: quoting as in RFC 4180, also newlines inside quotes", "",
       [&](S) { o.csv = true; }, true},
      {"--tsv", "", in, "records are tab-separated, without quoting", "", [&](S) { o.tsv = true; }},
      {"-d,--delimiter", "BYTE", in, "columns are separated by BYTE; with --csv quoting still counts", "",
       [&](S v) { o.delimiter = one_byte(v); }},
      {"--header", "", in, "the first row names the columns: it passes once, whatever the number of files", "",
       [&](S) { o.header = true; }, true},
      {"-0,--null", "", in, "records end with a NUL byte instead of a newline", "", [&](S) { o.zero = true; }},
  };
}

RecordFormat record_format(const RecordOptions& o) {
  if (o.csv && o.tsv) throw UsageError("--csv and --tsv exclude each other");
  if (o.tsv && o.delimiter) throw UsageError("--tsv and --delimiter exclude each other");
  RecordFormat format;
  format.separator = o.zero ? '\0' : '\n';
  format.delimiter = o.delimiter ? *o.delimiter : o.csv ? ',' : o.tsv ? '\t' : '\0';
  format.quoted = o.csv;
  format.header = o.header;
  if (o.delimiter && (*o.delimiter == format.separator || (o.csv && *o.delimiter == '"')))
    throw UsageError("--delimiter: this byte already separates records or quotes columns");
  return format;
}

Flag key_flag(std::string& key, std::string group, std::string brief) {
  return {"-k,--key", "KEY", std::move(group), std::move(brief), key_details(), [&](S v) { key = v; }, true};
}

void check_key(const std::string& key, const KeyContext& context) {
  try {
    (void)make_key(key, context);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

Flag on_error_flag(std::function<void(OnBadRecord)> set, std::string brief, std::string detail) {
  return {"--on-error",
          "POLICY",
          "Input",
          std::move(brief),
          std::move(detail),
          [set = std::move(set)](S v) {
            set(choice<OnBadRecord>(
                v, {{"pass", OnBadRecord::pass}, {"drop", OnBadRecord::drop}, {"fail", OnBadRecord::fail}}));
          },
          false,
          {"pass", "drop", "fail"}};
}

Flag threads_flag(unsigned& threads) {
  return {"-t,--threads",
          "N",
          "Reporting",
          "threads to work with (default 1); the output is the same for any N",
          "",
          [&](S v) {
            const std::uint64_t n = read_count(v);
            if (n < 1 || n > 256) throw Error(fmt::format("{} threads are out of range: 1 to 256", v));
            threads = static_cast<unsigned>(n);
          }};
}

Flag stats_flag(Stats& stats) {
  return {"--stats",
          "FORMAT",
          "Reporting",
          "statistics on standard error: text (default), json or none",
          "",
          [&](S v) {
            stats = choice<Stats>(v, {{"text", Stats::text}, {"json", Stats::json}, {"none", Stats::none}});
          },
          false,
          {"text", "json", "none"}};
}

std::vector<Flag> talk_flags(TalkOptions& o) {
  const std::string talk = "Reporting";
  return {
      {"--no-progress", "", talk, "no progress line on a terminal", "", [&](S) { o.progress = false; }},
      {"-q,--quiet", "", talk, "say nothing but errors", "", [&](S) { o.quiet = true; }, true},
  };
}

}  // namespace nodup::cli
