// SPDX-License-Identifier: Apache-2.0
#include "cli/monitor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace nodup::cli {

namespace {

// Those of interest that we were not told to ignore (nohup, a job in the background).
sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

Monitor::Monitor() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Monitor::~Monitor() {
  finish();
  ::close(wake_fd_);
}

void Monitor::start(Calls calls, std::chrono::milliseconds period) {
  watcher_ =
      std::jthread([this, calls = std::move(calls), period](const std::stop_token& end) { watch(calls, period, end); });
}

void Monitor::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_fd_, &one, sizeof one);
}

void Monitor::finish() {
  if (!watcher_.joinable()) return;
  watcher_.request_stop();
  pthread_kill(watcher_.native_handle(), SIGUSR1);  // ends the wait
  watcher_.join();
}

void Monitor::watch(const Calls& calls, std::chrono::milliseconds period, const std::stop_token& end) {
  const sigset_t set = watched_signals();
  const timespec wait = {.tv_sec = period.count() / 1000, .tv_nsec = period.count() % 1000 * 1'000'000};
  while (!end.stop_requested()) {
    const int signal = sigtimedwait(&set, nullptr, &wait);
    if (end.stop_requested()) return;
    if (signal == SIGUSR1) {
      calls.show_stats();
    } else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
      // Asked twice: whoever asks does not want to wait for a slow reader of our output.
      if (stop_signal_ != 0) die_by(signal);
      stop_signal_ = signal;
      wake();
      calls.stop();
    } else {
      calls.tick();
    }
  }
}

void Monitor::die_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  std::_Exit(128 + signal);
}

}  // namespace nodup::cli
