// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include "nodup/nodup.hpp"

int main() {
  const nodup::Hasher hasher(42);
  nodup::AnyFilter seen = nodup::filter_kind("growing").make({.keys = 1000, .error = 1e-6});
  const std::array keys = {hasher("login ann"), hasher("login bob"), hasher("login ann")};
  std::array<bool, keys.size()> is_new{};
  seen.make_room(keys.size());  // may throw; insert_all never does
  seen.insert_all(keys, is_new.data());
  for (const bool pass : is_new) std::puts(pass ? "new" : "seen before");

  nodup::save_file("seen.nodup", seen, hasher.seed(), {});
  const nodup::SavedFilter saved = nodup::load_file("seen.nodup");
  std::printf("%llu keys in the file\n", static_cast<unsigned long long>(saved.filter.keys()));
}
