// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/batch.hpp"

#include <algorithm>

namespace nodup {

void keep_keyed(Batch& batch, bool timed) {
  if (batch.header == 0 && batch.bad.empty()) return;
  const std::size_t fields = batch.fields_per_record;
  std::size_t kept = 0;
  auto bad = batch.bad.begin();
  for (std::size_t i = batch.header; i < batch.digests.size(); ++i) {
    if (bad != batch.bad.end() && bad->index == i) {
      ++bad;
      continue;
    }
    if (timed) batch.ticks[kept] = batch.ticks[i];
    for (std::size_t field = 0; field < fields; ++field)
      batch.fields[kept * fields + field] = batch.fields[i * fields + field];
    batch.digests[kept++] = batch.digests[i];
  }
  batch.digests.resize(kept);
  batch.fields.resize(kept * fields);
  if (timed) batch.ticks.resize(kept);
}

void cut_at_bad(Batch& batch) {
  const std::size_t records = batch.bad.front().index;
  batch.ends.resize(records);
  batch.digests.resize(records - batch.header);
  batch.fields.resize(batch.digests.size() * batch.fields_per_record);
  batch.ticks.resize(std::min(batch.ticks.size(), batch.digests.size()));
  batch.bad.clear();
  if (records > 0) batch.bytes.resize(batch.ends.back() + 1);
}

}  // namespace nodup
