// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "nodup/stream/sink.hpp"

namespace nodup {

// Standard output, or any open descriptor; not closed by the sink.
std::unique_ptr<Sink> descriptor_sink(int fd, std::string name);

// The same for a run with a state, whose output may go on behind what an earlier run wrote (`>> file`): then a torn
// last record is mended as in FileMode::append.
std::unique_ptr<Sink> continued_sink(int fd, std::string name, char separator);

enum class FileMode {
  replace,  // written beside the target and renamed over it by finish(): all or nothing
  append    // added to what is there: goes with a state, whose next run must not lose this one's output
};

// A file; something that is no regular file (/dev/null, a fifo) is written to as it stands. In append mode a file that
// does not end with `separator` (a torn last record) gets one first.
std::unique_ptr<Sink> file_sink(const std::string& path, FileMode mode, char separator);

}  // namespace nodup
