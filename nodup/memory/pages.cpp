// SPDX-License-Identifier: Apache-2.0
#include "nodup/memory/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "nodup/error.hpp"

namespace nodup {

namespace {
constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

void* map_zeroed(std::uint64_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw Error(fmt::format("cannot get {} bytes of memory from the system", bytes));
  return p;
}

// A mapping that begins on a huge page border: map one huge page more, give the ends back.
void* map_aligned(std::uint64_t bytes) {
  auto* raw = static_cast<char*>(map_zeroed(bytes + kHugePage));
  auto* begin = reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(raw), kHugePage));
  if (begin > raw) ::munmap(raw, static_cast<std::size_t>(begin - raw));
  const auto tail = static_cast<std::size_t>(raw + kHugePage - begin);
  if (tail > 0) ::munmap(begin + bytes, tail);
  return begin;
}

std::uint64_t mapped_size(std::uint64_t bytes) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return round_up(bytes, page);
}
}  // namespace

void require_memory(std::uint64_t bytes) {
  static const std::uint64_t machine =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > machine)
    throw Error(
        fmt::format("{:.1f} GiB of memory are wanted and this machine has {:.1f}: give less memory, or accept a larger "
                    "error or fewer keys",
                    static_cast<double>(bytes) / (1 << 30), static_cast<double>(machine) / (1 << 30)));
}

Pages::Pages(std::uint64_t bytes, PagePolicy policy) : bytes_(bytes) {
  if (bytes == 0) return;
  require_memory(bytes);
  if (policy == PagePolicy::huge && bytes >= kHugePage) {
    data_ = map_aligned(mapped_size(bytes));
    // A wish: where the system has no huge pages, small ones serve.
    (void)::madvise(data_, mapped_size(bytes), MADV_HUGEPAGE);
  } else {
    data_ = map_zeroed(mapped_size(bytes));
    // Where the system gives huge pages unasked, a policy of small ones has to be told.
    if (policy == PagePolicy::small) (void)::madvise(data_, mapped_size(bytes), MADV_NOHUGEPAGE);
  }
}

void Pages::clear() noexcept {
  if (data_ == nullptr) return;
  if (::madvise(data_, mapped_size(bytes_), MADV_DONTNEED) != 0) __builtin_memset(data_, 0, bytes_);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, mapped_size(bytes_));
}

}  // namespace nodup
