// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/dedup_options.hpp"

namespace nodup::cli {

// Throws UsageError when an output is also an input, or two outputs are one file: before anything is opened.
void refuse_same_files(const DedupOptions& options);

}  // namespace nodup::cli
