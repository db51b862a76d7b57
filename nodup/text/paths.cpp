// SPDX-License-Identifier: Apache-2.0
#include "nodup/text/paths.hpp"

#include <filesystem>
#include <system_error>

namespace nodup {

std::string behind_links(const std::string& path) {
  std::filesystem::path file = path;
  std::error_code error;
  // As many as Linux follows; in a ring the last name is as good as the first.
  for (int links = 0; links < 40 && std::filesystem::is_symlink(file, error); ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(file, error);
    if (error) break;
    file = target.is_absolute() ? target : file.parent_path() / target;
  }
  return file.string();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace nodup
