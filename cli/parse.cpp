// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "cli/command.hpp"

namespace nodup::cli {

namespace {

// How many letters must be changed, added or removed to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> names_of(const Flag& flag) {
  std::vector<std::string> names;
  std::size_t from = 0;
  while (from <= flag.names.size()) {
    const std::size_t comma = std::min(flag.names.find(',', from), flag.names.size());
    names.push_back(flag.names.substr(from, comma - from));
    from = comma + 1;
  }
  return names;
}

std::string nearest_flag(const std::string& typed, const std::vector<Flag>& flags) {
  const std::string word = typed.substr(0, typed.find('='));
  std::string best = "--help";
  std::size_t best_distance = distance(word, best);
  for (const Flag& flag : flags)
    for (const std::string& name : names_of(flag))
      if (const std::size_t d = distance(word, name); d < best_distance) {
        best = name;
        best_distance = d;
      }
  return best;
}

std::string prefix_of(Command& command) {
  return command.text().name.empty() ? "nodup" : fmt::format("nodup {}", command.text().name);
}

}  // namespace

void Command::operand(const std::string& word) { throw UsageError(fmt::format("`{}` is one word too many", word)); }

int run_command(Command& command, std::vector<std::string> words) {
  CLI::App app;
  app.set_help_flag();  // -h and --help differ, and are ours
  app.allow_extras();
  bool short_wanted = false, long_wanted = false;
  app.add_flag("-h", short_wanted);
  app.add_flag("--help", long_wanted);
  const std::vector<Flag> flags = command.flags();
  for (const Flag& flag : flags) {
    // The last of several wins, as users expect who keep flags in an alias.
    if (flag.value.empty())
      app.add_flag_callback(flag.names, [&flag] { flag.set(""); });
    else
      app.add_option_function<std::string>(flag.names,
                                           [&flag](const std::string& value) {
                                             try {
                                               flag.set(value);
                                             } catch (const Error& error) {
                                               throw UsageError(fmt::format("{}: {}", flag.names, error.what()));
                                             }
                                           })
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  // Behind `--` nothing is a flag.
  const auto end_of_flags = std::ranges::find(words, "--");
  std::vector<std::string> plain;
  if (end_of_flags != words.end()) plain.assign(end_of_flags + 1, words.end());
  words.erase(end_of_flags, words.end());
  try {
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}\nSee `{} --help`.", error.what(), prefix_of(command)));
  }
  if (short_wanted || long_wanted) {
    std::fputs((long_wanted ? long_help(command) : short_help(command)).c_str(), stdout);
    return kOk;
  }
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.starts_with('-'))
      throw UsageError(fmt::format("no flag is called {}; did you mean {}?\nUsage: nodup {}\nSee `{} --help`.", word,
                                   nearest_flag(word, flags), command.text().usage, prefix_of(command)));
    command.operand(word);
  }
  for (const std::string& word : plain) command.operand(word);
  return command.run();
}

}  // namespace nodup::cli
