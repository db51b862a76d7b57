// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace nodup {

// The one exception of the library: thrown when building, loading, making room or doing I/O, never by
// insert or contains. Its text says what was wrong, where, and what to do, in words fit for a user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodup
