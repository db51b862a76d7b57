// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace nodup {

// The file that a name stands for: links are followed, also when the last one points to nothing yet. What is written
// beside a file and renamed over it, or locked under its name, must be called after the file, not after a link to it.
std::string behind_links(const std::string& path);

// The folder that a path lies in.
std::string folder_of(const std::string& path);

}  // namespace nodup
