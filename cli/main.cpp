// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"

namespace {

// Help, plans and readings are written in one piece at the end, where a failure is seen. Events do not pass here.
char output_buffer[std::size_t{1} << 20];

// Started without one of the standard descriptors (`>&-`), the first file opened would take its number, and events
// would be written into it. What holds the place here fails when it is used.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace nodup::cli;
  hold_standard_descriptors();
  // A closed output and a file at its limit (ulimit -f) are errors of write(), not a sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::setvbuf(stdout, output_buffer, _IOFBF, sizeof output_buffer);
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--version") {
      std::puts("nodup " NODUP_VERSION);
      return std::fflush(stdout) == 0 ? kOk : kFailure;
    }
    // The first word may name a command; a file of that name can be given as ./plan.
    const CommandEntry* entry = &commands().front();
    if (!words.empty() && !words[0].empty())
      for (const CommandEntry& candidate : commands())
        if (candidate.name == words[0]) entry = &candidate;
    if (!entry->name.empty()) words.erase(words.begin());
    const int code = run_command(*entry->make(), std::move(words));
    // A full disk shows only now. A reader that went away has what it wanted.
    if (std::fflush(stdout) != 0 && errno != EPIPE)
      throw nodup::Error(fmt::format("cannot write standard output: {}", std::strerror(errno)));
    return code;
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
