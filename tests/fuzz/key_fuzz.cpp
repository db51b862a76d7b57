// SPDX-License-Identifier: Apache-2.0
//
// Hostile records: every kind of key and time on any bytes gives a digest and a tick or a reason, never a crash; the
// time never changes the key; and the records are the same however the bytes are cut into reads.
#include <cstring>
#include <string>

#include "nodup/stream/records.hpp"
#include "nodup/stream/registry.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nodup;
  if (size < 2) return 0;
  static const char* const kKeys[] = {"line", "json:a,b.c,d[1]", "col:1,3", "col:2"};
  static const char* const kTimes[] = {"", "json:t", "json:b.t", "json:a.t", "json:a", "json:d.0", "col:2", "col:4"};
  const char* const key = kKeys[data[0] % std::size(kKeys)];
  const char* const time = kTimes[data[0] / std::size(kKeys) % std::size(kTimes)];
  const std::size_t step = data[1] % 16 + 1;
  data += 2;
  size -= 2;

  const RecordFormat format{.delimiter = ',', .quoted = true};
  Batch batch;
  batch.bytes.reserve(size + 1);
  if (size > 0) std::memcpy(batch.bytes.data(), data, size);
  batch.bytes.resize(size);
  RecordScanner whole(format), pieces(format);
  whole.scan(batch.bytes.data(), 0, size, batch.ends);
  std::vector<std::uint64_t> ends;
  for (std::size_t at = 0; at < size; at += step) pieces.scan(batch.bytes.data(), at, std::min(at + step, size), ends);
  if (ends != batch.ends) __builtin_trap();
  if (batch.ends.empty() || batch.ends.back() + 1 < size) {
    batch.ends.push_back(size);
    batch.unterminated_quote = whole.inside_quotes();
  }
  const auto made = make_key(key, {.format = format, .header = {}, .time = time});
  // The key alone, for the digests that it gives.
  make_key(key, {.format = format, .header = {}})->extract(batch, Hasher(0));
  const std::vector<Digest> without_time = batch.digests;
  made->extract(batch, Hasher(0));
  if (batch.digests.size() != batch.size()) __builtin_trap();
  if (batch.ticks.size() != (*time == 0 ? 0 : batch.size())) __builtin_trap();

  // A record has the same key, the same time and the same fault alone as among others. (Quotes that never close are the
  // batch's to tell.)
  auto bad = batch.bad.begin();
  for (std::size_t i = 0; i < batch.size() && !batch.unterminated_quote; ++i) {
    const std::string_view record = batch.record(i);
    Batch alone;
    alone.bytes.reserve(record.size() + 1);
    if (!record.empty()) std::memcpy(alone.bytes.data(), record.data(), record.size());
    alone.bytes.resize(record.size());
    alone.ends.push_back(record.size());
    alone.first_record = i + 1;
    made->extract(alone, Hasher(0));
    const bool is_bad = bad != batch.bad.end() && bad->index == i;
    if (is_bad != !alone.bad.empty()) __builtin_trap();
    if (is_bad ? bad->reason != alone.bad[0].reason : batch.digests[i] != alone.digests[0]) __builtin_trap();
    if (!is_bad && batch.digests[i] != without_time[i]) __builtin_trap();
    if (batch.ticks.empty() ? !alone.ticks.empty() : batch.ticks[i] != alone.ticks[0]) __builtin_trap();
    bad += is_bad;
  }
  return 0;
}
