// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "nodup/stream/source.hpp"

namespace nodup {

// Opens an input by its path, "-" for standard input, and unpacks it if it begins as one of packings() does.
// Waits for the first bytes. Throws Error.
//
// wake_fd, unless -1, ends waiting: once it is readable, a read from a pipe, terminal or socket gives nothing
// and the source says stopped(). Reads from files are not waited for, so there the caller looks for itself.
std::unique_ptr<Source> open_source(const std::string& path, int wake_fd = -1);

enum class Ownership { owned, borrowed };  // an owned descriptor is closed at the end

// The bytes of an open descriptor as they are. Throws Error when it is a directory or not open.
std::unique_ptr<Source> descriptor_source(int fd, Ownership ownership, std::string name, int wake_fd = -1);

// What `source` gives, unpacked if it begins as one of packings() does.
std::unique_ptr<Source> unpacked(std::unique_ptr<Source> source);

}  // namespace nodup
