// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace nodup::cli {

// The files that a run reads and writes.
struct FilesUsed {
  std::vector<std::string> inputs;         // "-": standard input
  std::string output;                      // empty: standard output
  std::vector<std::string> other_outputs;  // empty names are none
  std::string state;                       // empty: none
};

// Throws UsageError when an output is also an input, or two outputs are one file: before anything is opened.
void refuse_same_files(const FilesUsed& files);

}  // namespace nodup::cli
