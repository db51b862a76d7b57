// SPDX-License-Identifier: Apache-2.0
//
// Hostile records: every kind of key and time on any bytes gives a digest and a tick or a reason, never a crash; the
// time never changes the key; a field's digest is that of its own key; and the records are the same however the bytes
// are cut into reads. Records read as text have the members that keys see, and columns that can be written again.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "nodup/stream/records.hpp"
#include "nodup/stream/registry.hpp"
#include "nodup/stream/row_text.hpp"

namespace {

using namespace nodup;

constexpr RecordFormat kFormat{.delimiter = ',', .quoted = true};

void require(bool holds) {
  if (!holds) __builtin_trap();
}

Batch make_batch(std::string_view bytes) {
  Batch batch;
  batch.bytes.reserve(bytes.size() + 1);
  if (!bytes.empty()) std::memcpy(batch.bytes.data(), bytes.data(), bytes.size());
  batch.bytes.resize(bytes.size());
  return batch;
}

Batch only(std::string_view record, std::uint64_t number) {
  Batch alone = make_batch(record);
  alone.ends.push_back(record.size());
  alone.first_record = number;
  return alone;
}

void check_fields(const Batch& batch, const char* key, bool by_text) {
  const std::size_t fields = key_fields(key).size();
  require(batch.fields_per_record == fields && batch.fields.size() == fields * batch.size());
  for (std::size_t field = 0; field < fields; ++field) {
    Batch alone = make_batch({batch.bytes.data(), batch.bytes.size()});
    alone.ends = batch.ends;
    alone.unterminated_quote = batch.unterminated_quote;
    make_key(key_of_fields(key, std::array{field}), {.format = kFormat, .header = {}, .by_text = by_text})
        ->extract(alone, Hasher(0));
    auto bad = batch.bad.begin();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (bad != batch.bad.end() && bad->index == i)
        ++bad;
      else
        require(batch.fields[i * fields + field] == alone.digests[i]);
    }
  }
}

void read_members(std::string_view record) {
  JsonMembers json;
  Batch batch = only(record, 2);
  if (!json.read(batch.record(0))) return require(!json.reason().empty() && json.members().empty());
  const auto key = make_key("json:a", {.format = kFormat, .header = {}, .by_text = true});
  key->extract(batch, Hasher(0));
  const auto found = std::ranges::find(json.members(), "a", &JsonMembers::Member::name);
  require(batch.bad.empty() == (found != json.members().end() && found->value_raw != "null"));
  if (!batch.bad.empty()) return;
  Batch again = only("{\"a\":" + std::string(found->value_raw) + "}", 2);
  key->extract(again, Hasher(0));
  require(again.bad.empty() && again.digests[0] == batch.digests[0]);
}

void read_columns(std::string_view record) {
  CsvColumns csv(kFormat), again(kFormat);
  if (!csv.read(record)) return require(csv.columns().empty());
  std::string written;
  for (std::size_t i = 0; i < csv.columns().size(); ++i) {
    if (i > 0) written += kFormat.delimiter;
    require(append_csv_field(written, csv.columns()[i], kFormat));
  }
  require(again.read(written));
  require(std::equal(csv.columns().begin(), csv.columns().end(), again.columns().begin(), again.columns().end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const char* const kKeys[] = {"line", "json:a,b.c,d[1]", "col:1,3", "col:2"};
  static const char* const kTimes[] = {"", "json:t", "json:b.t", "json:a.t", "json:a", "json:d.0", "col:2", "col:4"};
  const char* const key = kKeys[data[0] % std::size(kKeys)];
  const char* const time = kTimes[data[0] / std::size(kKeys) % std::size(kTimes)];
  const std::size_t step = data[1] % 16 + 1;
  const bool by_text = data[1] / 16 % 2 == 1;
  data += 2;
  size -= 2;

  Batch batch = make_batch({reinterpret_cast<const char*>(data), size});
  RecordScanner whole(kFormat), pieces(kFormat);
  whole.scan(batch.bytes.data(), 0, size, batch.ends);
  std::vector<std::uint64_t> ends;
  for (std::size_t at = 0; at < size; at += step) pieces.scan(batch.bytes.data(), at, std::min(at + step, size), ends);
  require(ends == batch.ends);
  if (batch.ends.empty() || batch.ends.back() + 1 < size) {
    batch.ends.push_back(size);
    batch.unterminated_quote = whole.inside_quotes();
  }
  const auto made =
      make_key(key, {.format = kFormat, .header = {}, .time = time, .by_text = by_text, .each_field = true});
  // The key alone, for the digests that it gives.
  make_key(key, {.format = kFormat, .header = {}, .by_text = by_text})->extract(batch, Hasher(0));
  require(batch.fields_per_record == 0 && batch.fields.empty());
  const std::vector<Digest> without_time = batch.digests;
  made->extract(batch, Hasher(0));
  require(batch.digests.size() == batch.size());
  require(batch.ticks.size() == (*time == 0 ? 0 : batch.size()));
  check_fields(batch, key, by_text);

  // A record has the same key, the same time and the same fault alone as among others. (Quotes that never close are the
  // batch's to tell.)
  auto bad = batch.bad.begin();
  for (std::size_t i = 0; i < batch.size() && !batch.unterminated_quote; ++i) {
    Batch alone = only(batch.record(i), i + 1);
    made->extract(alone, Hasher(0));
    const bool is_bad = bad != batch.bad.end() && bad->index == i;
    require(is_bad == !alone.bad.empty());
    require(is_bad ? bad->reason == alone.bad[0].reason : batch.digests[i] == alone.digests[0]);
    require(is_bad || batch.digests[i] == without_time[i]);
    require(batch.ticks.empty() ? alone.ticks.empty() : batch.ticks[i] == alone.ticks[0]);
    bad += is_bad;
    read_members(batch.record(i));
    read_columns(batch.record(i));
  }
  return 0;
}
