// SPDX-License-Identifier: Apache-2.0
//
// Hostile bytes as a saved filter: an Error or a filter that works, never a crash. The checksum would stop most inputs
// at the door, so the content behind the frame is fed to every kind's own reader, too.
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "nodup/filters/format.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/sets/saved.hpp"

namespace {

nodup::Reader reader_of(const std::uint8_t*& data, std::size_t& size) {
  return nodup::Reader(
      [&](std::span<std::byte> room) {
        const std::size_t n = std::min(room.size(), size);
        if (n > 0) std::memcpy(room.data(), data, n);
        data += n;
        size -= n;
        return n;
      },
      size);
}

void use(nodup::AnyFilter filter) {
  const nodup::Digest keys[] = {{1, 2}, {~0ull, ~0ull}, {0, 0}, {1, 2}};
  bool answers[4];
  filter.make_room(4);
  filter.insert_all(keys, answers);
  filter.contains_all(keys, answers);
  for (const bool seen : answers)
    if (!seen && !nodup::filter_kind(filter.kind()).forgets) __builtin_trap();
  (void)filter.rates();
  (void)filter.facts();
}

void use(nodup::AttributeSet set) {
  std::vector<nodup::Attribute> row;
  for (std::size_t i = 0; i < set.names().size(); ++i) row.push_back({i, {i, ~i}});
  set.make_room(1);
  set.add(row);
  if (!set.contains_row(row) || !set.contains_part(row)) __builtin_trap();
  (void)set.rates();
  (void)set.facts();
}

void use(nodup::SavedFilter saved) { use(std::move(saved.filter)); }
void use(nodup::SavedAttributeSet saved) { use(std::move(saved.set)); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto kinds = nodup::filter_kinds();
  const std::size_t choice = data[0] % (kinds.size() + 2);  // and those behind the kinds: a whole file, rows
  ++data;
  --size;
  try {
    nodup::Reader in = reader_of(data, size);
    if (choice < kinds.size())
      use(kinds[choice].load(in));
    else if (choice == kinds.size())
      std::visit([](auto&& saved) { use(std::move(saved)); }, nodup::load_set(in));
    else
      use(nodup::AttributeSet::load(in));
  } catch (const nodup::Error&) {
  }
  return 0;
}
