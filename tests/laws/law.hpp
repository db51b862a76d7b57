// SPDX-License-Identifier: Apache-2.0
//
// What the laws share: every law is run over every kind of filter in the registry, through the face that the command
// and the module use, so a new kind is under all laws from its first line in the list.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nodup/filters/filter.hpp"
#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "tests/in_memory.hpp"
#include "tests/oracle.hpp"

namespace nodup::testing {

class Law : public ::testing::TestWithParam<std::string> {
 protected:
  const Kind& kind() const { return filter_kind(GetParam()); }
};

inline std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : filter_kinds()) names.emplace_back(kind.name);
  return names;
}

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

// Declares the suite of a law; its tests follow as TEST_P(suite, ...).
#define NODUP_LAW(suite)                         \
  class suite : public ::nodup::testing::Law {}; \
  INSTANTIATE_TEST_SUITE_P(Kinds, suite, ::testing::ValuesIn(::nodup::testing::kind_names()), ::nodup::testing::name_of)

// std::vector<bool> has no bool* to give.
struct Answers {
  explicit Answers(std::size_t count) : data(std::make_unique<bool[]>(count)), size(count) {}
  bool operator[](std::size_t i) const { return data[i]; }
  std::size_t count(bool value) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < size; ++i) n += data[i] == value;
    return n;
  }
  std::unique_ptr<bool[]> data;
  std::size_t size;
};

// In batches of `batch` keys, with room made before each, as the pipeline does.
inline Answers insert(AnyFilter& filter, std::span<const Digest> keys, std::size_t batch = 256) {
  Answers is_new(keys.size());
  for (std::size_t i = 0; i < keys.size(); i += batch) {
    const auto part = keys.subspan(i, std::min(batch, keys.size() - i));
    filter.make_room(part.size());
    filter.insert_all(part, is_new.data.get() + i);
  }
  return is_new;
}

inline Answers contains(const AnyFilter& filter, std::span<const Digest> keys) {
  Answers seen(keys.size());
  filter.contains_all(keys, seen.data.get());
  return seen;
}

inline constexpr std::uint64_t kSeed = 42;

inline std::string saved(const AnyFilter& filter) {
  std::string bytes;
  Writer out = writer_to(bytes);
  save(out, filter, kSeed, {{"note", "of a law"}});
  return bytes;
}

inline SavedFilter load_saved(const std::string& bytes) {
  Reader in = reader_of(bytes);
  return load(in);
}

}  // namespace nodup::testing
