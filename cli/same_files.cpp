// SPDX-License-Identifier: Apache-2.0
#include "cli/same_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "nodup/text/paths.hpp"

namespace nodup::cli {

namespace {

// A file by what it is, not by how it is called.
struct Identity {
  dev_t device;
  ino_t inode;
  friend bool operator==(const Identity&, const Identity&) = default;
};

std::optional<Identity> regular_file(const std::string& path, int standard_fd) {
  struct stat status {};
  const int result = path == "-" || path.empty() ? ::fstat(standard_fd, &status) : ::stat(path.c_str(), &status);
  if (result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

// Will these two name one file once it is made? What exists already is told by its identity.
bool same_name(const std::string& a, const std::string& b) {
  const auto place = [](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, ignored), ignored);
  };
  return a == b || place(a) == place(b);
}

}  // namespace

// `nodup log > log` has emptied the log before we start, but `>> log`, `-o log` or `--state log` can be stopped.
void refuse_same_files(const FilesUsed& files) {
  struct Named {
    std::string name;
    std::optional<Identity> file;
  };
  std::vector<Named> written = {
      {"standard output", files.output.empty() ? regular_file("-", STDOUT_FILENO) : std::nullopt}};
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (!path.empty()) paths.push_back(path);
  };
  add(files.output);
  for (const std::string& path : files.other_outputs) add(path);
  add(files.state);
  if (!files.state.empty()) {
    // What stands beside the state while it is in use (stream/state.cpp, filters/format.cpp).
    const std::string file = behind_links(files.state);
    paths.push_back(file + ".lock");
    paths.push_back(file + ".saving");
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (same_name(paths[i], paths[j])) throw UsageError(fmt::format("{} is named for two outputs", paths[i]));
    written.push_back({paths[i], regular_file(paths[i], -1)});
  }
  for (std::size_t i = 0; i < written.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (written[i].file && written[i].file == written[j].file)
        throw UsageError(fmt::format("{} and {} are the same file", written[j].name, written[i].name));
  for (const std::string& path : files.inputs) {
    const std::optional<Identity> input = regular_file(path, STDIN_FILENO);
    for (const Named& output : written)
      if (input && output.file == input)
        throw UsageError(
            fmt::format("{} is both input and output ({}): write to another file and rename it", path, output.name));
  }
}

}  // namespace nodup::cli
