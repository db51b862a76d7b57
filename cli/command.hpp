// SPDX-License-Identifier: Apache-2.0
//
// A command is data and one function: from the same lists come the parser, -h, --help, the man page and the
// completions, so they cannot drift apart.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/error.hpp"

namespace nodup::cli {

// What the user typed cannot be meant: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

enum ExitCode : int { kOk = 0, kFailure = 1, kUsage = 2 };

struct Flag {
  std::string names;   // "-o,--output"
  std::string value;   // "FILE"; empty: a switch
  std::string group;   // heading in the help
  std::string brief;   // one line
  std::string detail;  // what --help and the man page add, or empty
  std::function<void(const std::string&)> set;
  bool common = false;                 // shown by -h, too
  std::vector<std::string> choices{};  // for completions
};

struct Example {
  std::string_view line, meaning;
};

struct CommandText {
  std::string_view name;     // empty: the main job, which needs no name
  std::string_view usage;    // behind "nodup "
  std::string_view summary;  // one line
  std::string_view about;    // paragraphs
  std::span<const Example> examples;
  std::span<const std::string_view> verbs = {};  // what its first operand may be, if that is one of a few
};

// One object per invocation; the flags write into it.
class Command {
 public:
  virtual ~Command() = default;
  virtual const CommandText& text() const = 0;
  virtual std::vector<Flag> flags() = 0;
  virtual void operand(const std::string& word);  // refuses, unless overridden
  virtual int run() = 0;
};

struct CommandEntry {
  std::string_view name;
  std::unique_ptr<Command> (*make)();
};

// THE list of commands (commands.cpp); the first is the main job.
std::span<const CommandEntry> commands();

// Parses the words behind the command's name and runs it. -h and --help are answered here.
int run_command(Command& command, std::vector<std::string> words);

// help.cpp: all of it printed from the lists.
std::string short_help(Command& command);
std::string long_help(Command& command);
std::string man_page();
std::string completions(std::string_view shell);  // bash, zsh or fish; throws UsageError

}  // namespace nodup::cli
