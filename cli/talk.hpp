// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/input_options.hpp"

namespace nodup::cli {

// What a run says on standard error: lines, and on a terminal a progress line that they never tear. One thread at a
// time.
class Talk {
 public:
  // To be called once the flags are read.
  void begin(const TalkOptions& options) {
    quiet_ = options.quiet;
    shows_progress_ = options.progress && !quiet_ && ::isatty(STDERR_FILENO) == 1;
  }

  void say(const std::string& line) {
    // In one piece: others may write to the same terminal or log.
    const std::string text = (progress_shown_ ? kEraseLine : "") + line + '\n';
    progress_shown_ = false;
    std::fputs(text.c_str(), stderr);
  }
  void note(const std::string& line) {
    if (!quiet_) say("nodup: " + line);
  }
  // The first few with their place; the others are only counted.
  void bad_record(const std::string& text) {
    constexpr int kShown = 5;
    if (++bad_shown_ <= kShown) note("bad record: " + text);
    if (bad_shown_ == kShown + 1) note("further bad records are only counted");
  }

  bool shows_progress() const { return shows_progress_; }
  void progress(const std::string& line) {
    std::fputs((kEraseLine + line).c_str(), stderr);
    progress_shown_ = true;
  }
  void end_progress() {
    if (progress_shown_) std::fputs(kEraseLine, stderr);
    progress_shown_ = false;
  }

 private:
  static constexpr const char* kEraseLine = "\r\x1b[K";
  bool quiet_ = false;
  bool shows_progress_ = false;
  bool progress_shown_ = false;
  int bad_shown_ = 0;
};

}  // namespace nodup::cli
