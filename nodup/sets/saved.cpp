// SPDX-License-Identifier: Apache-2.0
#include "nodup/sets/saved.hpp"

#include <optional>
#include <utility>

namespace nodup {

void save_set(Writer& out, const AttributeSet& set, std::uint64_t seed, const Notes& notes) {
  save_frame(out, {seed, notes, std::string(AttributeSet::kName)});
  set.save(out);
  out.checksum();
}

SavedSet load_set(Reader& in) {
  Frame frame = load_frame(in);
  if (frame.kind != AttributeSet::kName) return load_framed(in, std::move(frame));
  SavedAttributeSet saved{AttributeSet::load(in), frame.seed, std::move(frame.notes)};
  in.checksum();
  return saved;
}

void save_set_file(const std::string& path, const AttributeSet& set, std::uint64_t seed, const Notes& notes) {
  save_file(path, [&](Writer& out) { save_set(out, set, seed, notes); });
}

SavedSet load_set_file(const std::string& path) {
  std::optional<SavedSet> saved;
  load_file(path, [&](Reader& in) { saved = load_set(in); });
  return std::move(*saved);
}

}  // namespace nodup
