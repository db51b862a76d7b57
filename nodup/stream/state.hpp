// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "nodup/filters/format.hpp"
#include "nodup/sets/saved.hpp"

namespace nodup {

// A saved filter that one process at a time goes on with: the file, its lock and the rhythm of its checkpoints.
//
// The lock is on a file of its own (PATH.lock), because the state itself is replaced by every save. The lock ends with
// the process, however that ends; only its file may stay behind, and does no harm.
class StateFile {
 public:
  // Throws Error when another process holds the state.
  explicit StateFile(const std::string& path);
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;
  ~StateFile();

  const std::string& path() const { return path_; }
  // Nothing, if there is no such file yet. Throws Error when it is damaged; the file stays untouched.
  std::optional<SavedFilter> load() const;
  std::optional<SavedSet> load_set() const;  // also rows with attributes
  void save(const AnyFilter& filter, std::uint64_t seed, const Notes& notes);
  void save(const AttributeSet& set, std::uint64_t seed, const Notes& notes);

  // Is it time for a checkpoint? Every `interval`, stretched so that saving takes at most a twentieth of the time.
  bool due(std::chrono::nanoseconds interval) const;

 private:
  void save_timed(const std::function<void()>& save);
  bool exists() const;

  using Clock = std::chrono::steady_clock;
  std::string path_;
  std::string lock_path_;
  int lock_fd_ = -1;
  Clock::time_point saved_at_ = Clock::now();
  Clock::duration save_took_{};
};

}  // namespace nodup
