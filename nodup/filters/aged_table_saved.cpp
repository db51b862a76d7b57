// SPDX-License-Identifier: Apache-2.0
//
// The saved bytes of aged_table.
#include <algorithm>
#include <utility>

#include "nodup/filters/aged_table.hpp"
#include "nodup/filters/format.hpp"

namespace nodup {

// keys u64 | error f64 | load f64 | tag bits, fingerprint bits, buckets u64 | window | generations | events since the
// last clearing u64 | tables u64 | each: number, buckets, cursor u64, packed slots
void AgedTable::save(Writer& out) const {
  params_.save(out);
  generations_.save(out);
  for (std::uint64_t age = 0; age < generations_.count(); ++age) {
    const std::uint64_t tag = generations_[age].tag;
    out.u64(lists_[tag].table);
    out.u64(lists_[tag].size);
    for (std::uint64_t k = 0; k < lists_[tag].size && lists_[tag].size <= list_room(); ++k) {
      out.u64(listed_[tag * list_room() + k].first);
      out.u64(listed_[tag * list_room() + k].fingerprint);
    }
  }
  out.u64(events_uncleared_);
  out.u64(tables_.in_use().size());
  for (const Table& table : tables_.in_use()) {
    out.u64(table.number);
    out.u64(table.slots.shape().buckets);
    out.u64(table.cursor);
    out.bytes(table.slots.payload());
  }
}

AgedTable AgedTable::load(Reader& in) {
  const Params p = Params::load(in);
  AgedTable filter(p, PagePolicy::huge, Empty{});
  filter.generations_.load(in, (1u << p.tag_bits) - 1);
  for (std::uint64_t age = 0; age < filter.generations_.count(); ++age) {
    const TagSet tag = set_of(filter.generations_[age].tag);
    if (tag == set_of(0) || (filter.tags_live_ & tag) != 0) in.damaged("two generations have one tag");
    filter.tags_live_ |= tag;
  }
  // What a list says is looked up before anything is cleared, so any key of its table will do.
  for (std::uint64_t age = 0; age < filter.generations_.count(); ++age) {
    const std::uint64_t tag = filter.generations_[age].tag;
    List& list = filter.lists_[tag];
    list.table = in.u64("table of a list", 1, Params::kMostTables);
    list.size = in.u64("length of a list", 0, filter.list_room() + 1);
    for (std::uint64_t k = 0; k < list.size && list.size <= filter.list_room(); ++k) {
      Listed& key = filter.listed_[tag * filter.list_room() + k];
      key.first = in.u64("bucket of a listed key", 0, p.shape(list.table).buckets - 1);
      key.fingerprint = in.u64("fingerprint of a listed key");
    }
  }
  filter.events_uncleared_ = in.u64("events since the last clearing", 0, kEventsPerClearing - 1);
  const std::uint64_t tables = in.u64("number of tables", 1, Params::kMostTables);
  for (std::uint64_t i = 0, number = 0; i < tables; ++i) {
    number = in.u64("number of a table", number + 1, Params::kMostTables);
    Slots::Shape wanted = p.shape(number);
    // Only the last table within a limit is smaller; see shape_within_limit.
    wanted.buckets =
        in.u64("number of buckets", number == 1 ? wanted.buckets : std::max<std::uint64_t>(wanted.buckets / 16, 1),
               wanted.buckets);
    const std::uint64_t cursor = in.u64("cursor", 0, wanted.buckets - 1);
    in.require(wanted.payload_bytes(), "slots");
    Table table = filter.make_table(number, wanted);
    table.cursor = cursor;
    in.bytes(table.slots.payload(), "slots");
    for (std::uint64_t bucket = 0; bucket < wanted.buckets; ++bucket) {
      for (unsigned index = 0; index < Slots::kSlots; ++index) {
        const unsigned tag = table.slots.tag({bucket, index});
        ++table.carried[tag];
        (filter.tags_live_ >> tag & 1 ? table.live : table.stale) += tag != 0;
      }
    }
    table.slots.set_free(~filter.tags_live_);
    filter.tables_.add(p, std::move(table));
  }
  return filter;
}

}  // namespace nodup
