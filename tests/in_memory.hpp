// SPDX-License-Identifier: Apache-2.0
//
// Saved filters without files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "nodup/filters/format.hpp"

namespace nodup::testing {

inline Writer writer_to(std::string& bytes) {
  return Writer([&bytes](std::span<const std::byte> data) {
    bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  });
}

// `bytes` must outlive the reader.
inline Reader reader_of(const std::string& bytes) {
  return Reader(
      [&bytes, at = std::size_t{0}](std::span<std::byte> room) mutable {
        const std::size_t n = std::min(room.size(), bytes.size() - at);
        if (n > 0) std::memcpy(room.data(), bytes.data() + at, n);
        at += n;
        return n;
      },
      bytes.size());
}

// What the filter itself writes, without the frame of a file.
template <class F>
std::string own_bytes(const F& filter) {
  std::string bytes;
  Writer out = writer_to(bytes);
  filter.save(out);
  return bytes;
}

template <class F>
F loaded(const std::string& bytes) {
  Reader in = reader_of(bytes);
  return F::load(in);
}

}  // namespace nodup::testing
