// SPDX-License-Identifier: Apache-2.0
#include "experiments/p0_windows/p0_windows.hpp"

void nodup::lab::run(const Experiment& lab) {
  equal_timers(lab);
  late_events(lab);
  dynamic_size(lab);
}
