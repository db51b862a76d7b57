// SPDX-License-Identifier: Apache-2.0
//
// `nodup man` and `nodup completions`: what packagers install, printed from the lists.
#include <cstdio>

#include "cli/command.hpp"
#include "cli/commands.hpp"

namespace nodup::cli {

namespace {

constexpr Example kManExamples[] = {{"nodup man | man -l -", "read it"}};
constexpr CommandText kManText = {.name = "man",
                                  .usage = "man",
                                  .summary = "the manual page",
                                  .about = "Printed as roff source.",
                                  .examples = kManExamples};

class Man final : public Command {
 public:
  const CommandText& text() const override { return kManText; }
  std::vector<Flag> flags() override { return {}; }
  int run() override {
    std::fputs(man_page().c_str(), stdout);
    return kOk;
  }
};

constexpr Example kCompletionExamples[] = {{"source <(nodup completions bash)", "in this shell"}};
constexpr CommandText kCompletionText = {.name = "completions",
                                         .usage = "completions bash|zsh|fish",
                                         .summary = "completions for your shell",
                                         .about = "Prints a script for the shell to read.",
                                         .examples = kCompletionExamples};

class Completions final : public Command {
 public:
  const CommandText& text() const override { return kCompletionText; }
  std::vector<Flag> flags() override { return {}; }
  void operand(const std::string& word) override { shell_ = word; }
  int run() override {
    if (shell_.empty()) throw UsageError("which shell? bash, zsh or fish");
    std::fputs(completions(shell_).c_str(), stdout);
    return kOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_man() { return std::make_unique<Man>(); }
std::unique_ptr<Command> make_completions() { return std::make_unique<Completions>(); }

}  // namespace nodup::cli
