// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"

int main(int argc, char** argv) {
  using namespace nodup::cli;
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--version") {
      std::puts("nodup " NODUP_VERSION);
      return kOk;
    }
    // The first word may name a command; a file of that name can be given as ./plan.
    const CommandEntry* entry = &commands().front();
    if (!words.empty() && !words[0].empty())
      for (const CommandEntry& candidate : commands())
        if (candidate.name == words[0]) entry = &candidate;
    if (!entry->name.empty()) words.erase(words.begin());
    return run_command(*entry->make(), std::move(words));
  } catch (const UsageError& error) {
    fmt::print(stderr, "nodup: {}\n", error.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "nodup: the machine has no more memory\n");
    return kFailure;
  } catch (const std::exception& error) {
    fmt::print(stderr, "nodup: {}\n", error.what());
    return kFailure;
  }
}
