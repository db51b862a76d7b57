// SPDX-License-Identifier: Apache-2.0
//
// Signals and the clock, for a run that must not be interrupted at a bad moment. All signals of interest are blocked
// in every thread and waited for by one: no code of theirs ever runs "inside" a signal. (SIGBUS is another matter:
// stream/sources/file_window.hpp.)
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace nodup::cli {

class Monitor {
 public:
  struct Calls {
    std::function<void()> stop;        // SIGINT, SIGTERM or SIGHUP came: finish what was read
    std::function<void()> show_stats;  // SIGUSR1
    std::function<void()> tick;        // every `period`
  };

  // Blocks the signals; to be made before any other thread. Watching begins with start().
  Monitor();
  ~Monitor();
  // Readable once a stop was asked for: sources wait on it beside their input.
  int wake_fd() const { return wake_fd_; }
  // Makes it readable: whoever waits for input shall wait no longer.
  void wake();
  void start(Calls calls, std::chrono::milliseconds period);
  // No call is made once this has returned.
  void finish();
  // The signal that asked to stop, or 0.
  int stop_signal() const { return stop_signal_; }
  // Ends the process by that signal, as the shell expects of an interrupted program.
  [[noreturn]] static void die_by(int signal);

 private:
  void watch(const Calls& calls, std::chrono::milliseconds period, const std::stop_token& end);

  int wake_fd_;
  std::atomic<int> stop_signal_ = 0;
  std::jthread watcher_;
};

}  // namespace nodup::cli
