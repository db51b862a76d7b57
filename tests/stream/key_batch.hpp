// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "nodup/error.hpp"
#include "nodup/stream/registry.hpp"

namespace nodup::testing_keys {

// Records as the reader would hand them over. The buffer is exactly as long as it must be, so that a sanitizer sees
// every byte read too far; what stands in the padding is chosen to tempt a parser that looks at it.
inline Batch make_batch(const std::vector<std::string>& records, bool last_separator = true, char separator = '\n',
                        char padding = '}') {
  std::string all;
  Batch batch;
  for (const std::string& record : records) {
    all += record;
    batch.ends.push_back(all.size());
    all += separator;
  }
  if (!last_separator && !all.empty()) all.pop_back();
  batch.bytes.reserve(all.size() + 1);
  std::memset(batch.bytes.data(), padding, all.size() + 1 + ByteBuffer::kPadding);
  std::memcpy(batch.bytes.data(), all.data(), all.size());
  batch.bytes.resize(all.size());
  return batch;
}

inline Batch extract(Key& key, Batch batch) {
  const Hasher hasher(7);
  key.extract(batch, hasher);
  return batch;
}

// The digest of a key as docs/format.md has it, without the code that makes keys: saved states depend on it.
inline Digest framed(const std::vector<std::pair<FieldTag, std::string>>& fields) {
  std::string bytes;
  for (const auto& [tag, value] : fields) {
    bytes += static_cast<char>(tag);
    for (unsigned byte = 0; byte < 8; ++byte) bytes += static_cast<char>(value.size() >> (8 * byte));
    bytes += value;
  }
  return Hasher(7)(bytes);
}

// Values of 0 to 70 bytes, no two bytes of one alike: whatever is copied to a wrong place, or not at all, shows.
inline std::vector<std::string> values_of_every_size() {
  std::vector<std::string> values(1);
  while (values.size() <= 70) values.push_back(values.back() + static_cast<char>('0' + values.size()));
  for (std::string& value : values) std::replace(value.begin(), value.end(), '\\', '!');
  return values;
}

// The message of the Error that making this key throws; empty when it throws none.
inline std::string refusal(std::string_view specification, const KeyContext& context = {}) {
  try {
    make_key(specification, context);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline ::testing::AssertionResult holds(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << '"' << text << "\" does not hold \"" << part << '"';
}

}  // namespace nodup::testing_keys
