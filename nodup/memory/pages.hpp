// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace nodup {

// Huge pages are worth 1.6 times the speed in filters above the reach of the TLB; a server that forks to save
// (copy on write) will want small ones.
enum class PagePolicy { huge, small };

// Zeroed memory straight from the operating system, aligned to 64 bytes at least. Untouched pages cost nothing.
class Pages {
 public:
  Pages() = default;
  // Throws Error when the machine cannot have that much memory; nothing is taken then.
  explicit Pages(std::uint64_t bytes, PagePolicy policy = PagePolicy::huge);
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages();

  std::uint64_t bytes() const { return bytes_; }
  // All zero again: the pages go back to the system, and come back, zeroed, as they are touched.
  void clear() noexcept;

  template <class T>
  T* as() noexcept {
    return static_cast<T*>(data_);
  }
  template <class T>
  const T* as() const noexcept {
    return static_cast<const T*>(data_);
  }
  std::span<std::byte> span() noexcept { return {as<std::byte>(), bytes_}; }
  std::span<const std::byte> span() const noexcept { return {as<std::byte>(), bytes_}; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Throws Error if `bytes` is more than the machine's memory: asked before anything is taken.
void require_memory(std::uint64_t bytes);

}  // namespace nodup
