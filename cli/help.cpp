// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "cli/command.hpp"

namespace nodup::cli {

namespace {

constexpr std::size_t kWidth = 96;   // of help texts
constexpr std::size_t kColumn = 28;  // where the explanation of a flag begins

// Breaks a paragraph into lines; lines that the text itself breaks stay broken.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    while (line.size() > kWidth - indent) {
      std::size_t cut = line.rfind(' ', kWidth - indent);
      if (cut == std::string_view::npos) cut = line.size();
      out += fmt::format("{:{}}{}\n", "", indent, line.substr(0, cut));
      line.remove_prefix(std::min(cut + 1, line.size()));
    }
    if (!line.empty()) out += fmt::format("{:{}}{}\n", "", indent, line);
    from = end + 1;
  }
  return out;
}

std::string shown_names(const Flag& flag) {
  std::string names = flag.names;
  if (const std::size_t comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  if (names.starts_with("--")) names = "    " + names;
  return flag.value.empty() ? names : fmt::format("{} {}", names, flag.value);
}

std::string flag_lines(const Flag& flag, bool with_detail) {
  std::string left = "  " + shown_names(flag);
  std::string right = wrapped(flag.brief, kColumn);
  std::string text =
      left.size() + 1 < kColumn ? fmt::format("{:<{}}{}", left, kColumn, right.substr(kColumn)) : left + "\n" + right;
  if (with_detail) text += wrapped(flag.detail, kColumn);
  return text;
}

std::vector<std::string> groups_of(const std::vector<Flag>& flags) {
  std::vector<std::string> groups;
  for (const Flag& flag : flags)
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  return groups;
}

std::string usage_line(Command& command) { return fmt::format("Usage: nodup {}\n", command.text().usage); }

// What every command understands besides its own flags (parse.cpp answers them).
std::vector<Flag> help_flags() {
  return {{"-h", "", "Help", "the common flags", "", {}}, {"--help", "", "Help", "everything, with examples", "", {}}};
}

// Every command with its flags, for the man page and the completions.
template <class Visit>
void for_each_command(Visit&& visit) {
  for (const CommandEntry& entry : commands()) {
    const std::unique_ptr<Command> command = entry.make();
    visit(*command, command->flags());
  }
}

std::string flag_words(const std::vector<Flag>& flags) {
  std::string words = "-h --help";
  for (const Flag& flag : flags) {
    std::string names = flag.names;
    std::ranges::replace(names, ',', ' ');
    words += " " + names;
  }
  return words;
}

std::string long_name(const Flag& flag) { return flag.names.substr(flag.names.find("--")); }

std::string command_names() {
  std::string names;
  for (const CommandEntry& entry : commands()) names += (names.empty() ? "" : " ") + std::string(entry.name);
  return names;
}

std::string bash_completions() {
  std::string cases, values;
  for_each_command([&](Command& command, const std::vector<Flag>& flags) {
    if (!command.text().name.empty())
      cases += fmt::format("    {}) words=\"{}\" verbs=\"{}\" ;;\n", command.text().name, flag_words(flags),
                           fmt::join(command.text().verbs, " "));
    else
      cases += fmt::format("    *) words=\"{}\" ;;\n", flag_words(flags));
    for (const Flag& flag : flags)
      if (!flag.choices.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n", long_name(flag),
                              fmt::join(flag.choices, " "));
  });
  // The case for "any other word" must come last.
  const std::size_t star = cases.find("    *)");
  const std::size_t end = cases.find('\n', star) + 1;
  cases = cases.substr(0, star) + cases.substr(end) + cases.substr(star, end - star);
  return fmt::format(
      "_nodup() {{\n  local current=${{COMP_WORDS[COMP_CWORD]}} words verbs\n"
      "  case ${{COMP_WORDS[COMP_CWORD-1]}} in\n{}  esac\n  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  [[ $COMP_CWORD -eq 1 ]] && words=\"$words {}\"\n"
      "  [[ $COMP_CWORD -eq 2 && $verbs ]] && {{ COMPREPLY=($(compgen -W \"$verbs $words\" -- \"$current\")); return; "
      "}}\n"
      "  if [[ $current == -* || $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\")); fi\n"
      "}}\ncomplete -o default -F _nodup nodup\n",
      values, cases, command_names());
}

std::string zsh_completions() {
  std::string text = "#compdef nodup\n_nodup() {\n  local -a flags verbs\n  case $words[2] in\n";
  std::string fallback;
  for_each_command([&](Command& command, const std::vector<Flag>& flags) {
    std::string list;
    for (const Flag& flag : flags) {
      std::string brief = flag.brief;
      for (const char special : {'[', ']', ':', '\''}) std::ranges::replace(brief, special, ' ');
      list += fmt::format(" '{}[{}]{}'", long_name(flag), brief,
                          flag.value.empty()     ? ""
                          : flag.choices.empty() ? fmt::format(":{}:_files", flag.value)
                                                 : fmt::format(":{}:({})", flag.value, fmt::join(flag.choices, " ")));
    }
    const std::string line =
        fmt::format("    {}) flags=({}) verbs=({}) ;;\n", command.text().name.empty() ? "*" : command.text().name, list,
                    fmt::join(command.text().verbs, " "));
    (command.text().name.empty() ? fallback : text) += line;
  });
  return fmt::format(
      "{}{}  esac\n  (( CURRENT == 2 )) && compadd {}\n  (( CURRENT == 3 )) && compadd $verbs\n  _arguments $flags "
      "'*:file:_files'\n}}\n_nodup \"$@\"\n",
      text, fallback, command_names());
}

std::string fish_completions() {
  std::string text;
  for_each_command([&](Command& command, const std::vector<Flag>& flags) {
    const std::string_view name = command.text().name;
    const std::string when = name.empty() ? fmt::format("not __fish_seen_subcommand_from {}", command_names())
                                          : fmt::format("__fish_seen_subcommand_from {}", name);
    if (!name.empty())
      text += fmt::format("complete -c nodup -n __fish_use_subcommand -a {} -d \"{}\"\n", name, command.text().summary);
    if (!command.text().verbs.empty())
      text += fmt::format("complete -c nodup -n \"{}\" -a \"{}\"\n", when, fmt::join(command.text().verbs, " "));
    for (const Flag& flag : flags)
      text += fmt::format("complete -c nodup -n \"{}\" -l {}{}{} -d \"{}\"\n", when, long_name(flag).substr(2),
                          flag.value.empty() ? "" : " -r",
                          flag.choices.empty() ? "" : fmt::format(" -f -a \"{}\"", fmt::join(flag.choices, " ")),
                          flag.brief);
  });
  return text;
}

// Text for roff: a dot or quote at the line's beginning and every backslash have a meaning there.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += fmt::format("\\&{}", c);
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string short_help(Command& command) {
  const std::vector<Flag> flags = command.flags();
  std::string text = fmt::format("{}\n{}\n", wrapped(command.text().summary, 0), usage_line(command));
  for (const Flag& flag : flags)
    if (flag.common || flags.size() < 12) text += flag_lines(flag, false);
  for (const Flag& flag : help_flags()) text += flag_lines(flag, false);
  return text;
}

std::string long_help(Command& command) {
  const CommandText& about = command.text();
  std::string text = fmt::format("{}\n{}\n{}", wrapped(about.summary, 0), usage_line(command), wrapped(about.about, 0));
  if (about.name.empty()) {
    text += "\nCommands:\n";
    for_each_command([&](Command& other, const std::vector<Flag>&) {
      if (!other.text().name.empty())
        text += fmt::format("  nodup {:<20}{}\n", other.text().name, other.text().summary);
    });
  }
  std::vector<Flag> flags = command.flags();
  std::ranges::move(help_flags(), std::back_inserter(flags));
  for (const std::string& group : groups_of(flags)) {
    text += fmt::format("\n{}:\n", group);
    for (const Flag& flag : flags)
      if (flag.group == group) text += flag_lines(flag, true);
  }
  text += "\nExamples:\n";
  for (const Example& example : about.examples) text += fmt::format("  {}\n      {}\n", example.line, example.meaning);
  text += "\nExit code: 0 all went well, 1 something failed, 2 the command line was wrong.\n";
  return text;
}

std::string man_page() {
  std::string text = ".TH NODUP 1 \"\" \"nodup " NODUP_VERSION "\"\n";
  for_each_command([&](Command& command, const std::vector<Flag>& flags) {
    const CommandText& about = command.text();
    if (about.name.empty())
      text += fmt::format(".SH NAME\nnodup \\- {}\n.SH SYNOPSIS\nnodup {}\n.SH DESCRIPTION\n", roff(about.summary),
                          roff(about.usage));
    else
      text += fmt::format(".SH NODUP {}\n{}\n.PP\nnodup {}\n.PP\n", about.name, roff(about.summary), roff(about.usage));
    text += roff(about.about) + "\n";
    const auto add = [&](const Flag& flag) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(shown_names(flag)), roff(flag.brief));
      if (!flag.detail.empty()) text += fmt::format(".RS\n.nf\n{}\n.fi\n.RE\n", roff(flag.detail));
    };
    for (const Flag& flag : flags) add(flag);
    for (const Flag& flag : help_flags()) add(flag);
    for (const Example& example : about.examples)
      text += fmt::format(".PP\n.nf\n{}\n.fi\n{}\n", roff(example.line), roff(example.meaning));
  });
  text += ".SH EXIT STATUS\n0 all went well, 1 something failed, 2 the command line was wrong.\n";
  return text;
}

std::string completions(std::string_view shell) {
  if (shell == "bash") return bash_completions();
  if (shell == "zsh") return zsh_completions();
  if (shell == "fish") return fish_completions();
  throw UsageError(fmt::format("no completions for `{}`; there are: bash, zsh, fish", shell));
}

}  // namespace nodup::cli
