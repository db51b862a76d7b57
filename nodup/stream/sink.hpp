// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>

#include "nodup/error.hpp"

namespace nodup {

// The reader of our output went away (`nodup ... | head`): not a failure of ours.
class ClosedOutput : public Error {
 public:
  using Error::Error;
};

// Where records go.
class Sink {
 public:
  virtual ~Sink() = default;
  // Writes all pieces in order before it returns. Throws Error, or ClosedOutput.
  virtual void write(std::span<const iovec> pieces) = 0;
  // Makes what was written safe against a crash, as far as the kind of output allows.
  virtual void sync() = 0;
  // Does the output go on behind what an earlier run wrote? Then a header row is not repeated.
  virtual bool continues() const { return false; }
  // The end: the output takes its place. A sink destroyed without finish() leaves nothing half-written behind.
  virtual void finish() = 0;
};

}  // namespace nodup
