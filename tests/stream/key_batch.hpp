// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

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

inline Digest framed(const std::vector<std::pair<FieldTag, std::string>>& fields) {
  KeyFrame frame;
  for (const auto& [tag, value] : fields) frame.add(tag, value);
  return frame.hash(Hasher(7));
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
