// SPDX-License-Identifier: Apache-2.0
//
// A cuckoo table of fingerprints: buckets of four slots, two buckets for each key.
//
// After Fan, Andersen, Kaminsky and Mitzenmacher (2014): a slot keeps some bits of the key's hash, the fingerprint, and
// the second bucket of a key follows from its first bucket and its fingerprint alone, so that a slot can be moved
// without knowing its key. Tables of two buckets of four slots can be filled to 98 %; up to 95 % a search over few
// buckets finds room. Here the second bucket is (hash of fingerprint - first) mod buckets, which works for any number
// of buckets, not only powers of two.
//
// With tags, each slot also carries a number of a few bits that its owner gives a meaning to: tag 0 is an empty slot,
// and the owner says which other tags make a slot free to be overwritten. Without tags, fingerprint 0 is an empty slot,
// and all others have tag 1.
//
// A bucket is packed without gaps: its four tags, then its four fingerprints. It is read through unaligned words of
// eight bytes; a field begins at most 7 bits into its byte, so 57 bits is the widest fingerprint in general.
//
// A slot is never lost: room is searched first (breadth first), and only a complete path of moves is carried out.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "nodup/hash/digest.hpp"
#include "nodup/hash/positions.hpp"
#include "nodup/memory/pages.hpp"
#include "nodup/memory/prefetch.hpp"

namespace nodup {

using TagSet = std::uint64_t;  // one bit for each tag

template <bool kTagged>
class SlotTable {
 public:
  static constexpr unsigned kSlots = 4;  // per bucket
  static constexpr unsigned kWidestFingerprint = 57;

  struct Shape {
    std::uint64_t buckets = 1;
    unsigned fingerprint_bits = 8;
    unsigned tag_bits = kTagged ? 4 : 0;  // at most 6: a TagSet has 64 bits
    unsigned slot_bits() const { return fingerprint_bits + tag_bits; }
    unsigned bucket_bits() const { return kSlots * slot_bits(); }
    std::uint64_t slots() const { return buckets * kSlots; }
    std::uint64_t payload_bytes() const {
      return static_cast<std::uint64_t>((static_cast<unsigned __int128>(buckets) * bucket_bits() + 7) / 8);
    }
    // Spare bytes keep the last access inside.
    std::uint64_t bytes() const { return (payload_bytes() + 8 + 63) / 64 * 64; }
  };

  // Where a key may lie.
  struct Place {
    std::uint64_t fingerprint;
    std::uint64_t first, second;  // buckets
  };
  // What a look at a bucket tells, one bit for each slot.
  struct Look {
    unsigned hits;  // the fingerprint, with a tag that counts
    unsigned free;
  };
  struct Slot {
    std::uint64_t bucket;
    unsigned index;
  };

  SlotTable(const Shape& shape, PagePolicy policy)
      : shape_(shape),
        tag_width_(shape.tag_bits),
        fingerprint_width_(shape.fingerprint_bits),
        bucket_width_(shape.bucket_bits()),
        fingerprint_mask_(~std::uint64_t{0} >> (64 - shape.fingerprint_bits)),
        tag_mask_((std::uint32_t{1} << shape.tag_bits) - 1),
        pages_(shape.bytes(), policy) {}

  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return pages_.bytes(); }
  std::span<std::byte> payload() { return pages_.span().first(shape_.payload_bytes()); }
  std::span<const std::byte> payload() const { return pages_.span().first(shape_.payload_bytes()); }

  [[gnu::always_inline]] Place place(Digest d) const noexcept {
    const std::uint64_t first = fastrange(d.lo, shape_.buckets);
    std::uint64_t fingerprint = d.hi & fingerprint_mask_;
    if constexpr (!kTagged) fingerprint += fingerprint == 0;
    return {fingerprint, first, other(first, fingerprint)};
  }
  [[gnu::always_inline]] void prefetch(Digest d) const noexcept {
    const Place p = place(d);
    prefetch_bucket(p.first);
    prefetch_bucket(p.second);
  }

  [[gnu::always_inline]] Look look(std::uint64_t bucket, std::uint64_t fingerprint, TagSet counting,
                                   TagSet free) const noexcept {
    Look found{0, 0};
    const std::uint64_t base = bucket * bucket_width_;
    const std::uint32_t tags = kTagged ? tags_at(base) : 0;
    const std::uint64_t fields = base + kSlots * tag_width_;
    for (unsigned i = 0; i < kSlots; ++i) {
      const std::uint64_t here = field_at(fields + i * fingerprint_width_);
      const unsigned tag = kTagged ? tags >> (i * tag_width_) & tag_mask_ : here != 0;
      found.hits |= static_cast<unsigned>((here == fingerprint) & (counting >> tag)) << i;
      found.free |= static_cast<unsigned>(free >> tag & 1) << i;
    }
    return found;
  }
  unsigned tag(Slot slot) const noexcept {
    const std::uint64_t base = slot.bucket * bucket_width_;
    if constexpr (kTagged)
      return tags_at(base) >> (slot.index * tag_width_) & tag_mask_;
    else
      return fingerprint(slot) != 0;
  }
  std::uint64_t fingerprint(Slot slot) const noexcept {
    return field_at(slot.bucket * bucket_width_ + kSlots * tag_width_ + slot.index * fingerprint_width_);
  }
  void set_tag(Slot slot, unsigned tag) noexcept {
    static_assert(kTagged);
    const std::uint64_t bit = slot.bucket * bucket_width_ + slot.index * tag_width_;
    std::uint16_t word;  // a tag has at most 6 bits
    std::memcpy(&word, bytes_at(bit), sizeof word);
    const unsigned shift = bit % 8;
    word = static_cast<std::uint16_t>((word & ~(tag_mask_ << shift)) | tag << shift);
    std::memcpy(bytes_at(bit), &word, sizeof word);
  }
  void set(Slot slot, std::uint64_t fingerprint, unsigned tag) noexcept {
    const std::uint64_t bit = slot.bucket * bucket_width_ + kSlots * tag_width_ + slot.index * fingerprint_width_;
    const unsigned shift = bit % 8;
    std::uint64_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    word = (word & ~(fingerprint_mask_ << shift)) | fingerprint << shift;
    std::memcpy(bytes_at(bit), &word, sizeof word);
    if constexpr (kTagged) set_tag(slot, tag);
  }

  // Frees a slot in one of the two buckets of a key, by moving others if both are full. Slots with free tags are
  // overwritten, never moved.
  struct Way {
    Slot slot;             // index kSlots: no room within reach, and nothing has moved
    unsigned overwritten;  // tag of the slot that is no more
  };
  Way make_way(const Place& place, TagSet free) noexcept;

  // Calls f(slot, tag) for all slots of a bucket.
  template <class Visit>
  [[gnu::always_inline]] void visit(std::uint64_t bucket, Visit&& f) const {
    for (unsigned i = 0; i < kSlots; ++i) f(Slot{bucket, i}, tag({bucket, i}));
  }
  // All four tags of a bucket, tag_bits each, the first in the lowest bits.
  std::uint32_t tags(std::uint64_t bucket) const noexcept { return tags_at(bucket * bucket_width_); }

 private:
  [[gnu::always_inline]] std::uint64_t other(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    const std::uint64_t sum = fastrange(remix(fingerprint * 0xC2B2AE3D27D4EB4Fu), shape_.buckets);
    return sum >= bucket ? sum - bucket : sum + shape_.buckets - bucket;
  }
  const unsigned char* bytes_at(std::uint64_t bit) const noexcept { return pages_.as<unsigned char>() + bit / 8; }
  unsigned char* bytes_at(std::uint64_t bit) noexcept { return pages_.as<unsigned char>() + bit / 8; }
  [[gnu::always_inline]] std::uint64_t field_at(std::uint64_t bit) const noexcept {
    std::uint64_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    return word >> bit % 8 & fingerprint_mask_;
  }
  [[gnu::always_inline]] std::uint32_t tags_at(std::uint64_t bit) const noexcept {
    std::uint32_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    return word >> bit % 8;
  }
  // A bucket may reach into the next line.
  [[gnu::always_inline]] void prefetch_bucket(std::uint64_t bucket) const noexcept {
    const std::uint64_t bit = bucket * bucket_width_;
    nodup::prefetch(bytes_at(bit));
    nodup::prefetch(bytes_at(bit + bucket_width_ - 1));
  }

  Shape shape_;
  // Once more, next to each other and as the loops want them.
  std::uint64_t tag_width_, fingerprint_width_, bucket_width_;
  std::uint64_t fingerprint_mask_;
  std::uint32_t tag_mask_;
  Pages pages_;
};

template <bool kTagged>
typename SlotTable<kTagged>::Way SlotTable<kTagged>::make_way(const Place& place, TagSet free) noexcept {
  // At a load of 95 % one bucket in five has room: 340 (four generations of two roots) are far more than it takes.
  constexpr std::size_t kMostNodes = 340;
  constexpr std::uint16_t kRoot = UINT16_MAX;
  struct Node {
    std::uint64_t bucket;
    std::uint16_t parent;  // in whose bucket
    std::uint16_t index;   // this slot would move here
  };
  std::array<Node, kMostNodes> nodes;
  nodes[0] = {place.first, kRoot, 0};
  nodes[1] = {place.second, kRoot, 0};
  std::size_t count = 2;
  for (std::size_t at = 0; at < count; ++at) {
    const Node node = nodes[at];
    const unsigned room = look(node.bucket, 0, 0, free).free;
    if (room != 0) {
      // Backwards from the free slot: each move frees the slot that the move before it goes to.
      Slot to{node.bucket, static_cast<unsigned>(std::countr_zero(room))};
      const unsigned overwritten = tag(to);
      for (std::size_t step = at; nodes[step].parent != kRoot; step = nodes[step].parent) {
        const Slot from{nodes[nodes[step].parent].bucket, nodes[step].index};
        set(to, fingerprint(from), tag(from));
        to = from;
      }
      return {to, overwritten};
    }
    for (unsigned i = 0; i < kSlots && count < kMostNodes; ++i) {
      const std::uint64_t bucket = other(node.bucket, fingerprint({node.bucket, i}));
      // A path that comes back to a bucket would move the same slot twice.
      bool met = bucket == place.first || bucket == place.second;
      for (std::size_t step = at; nodes[step].parent != kRoot; step = nodes[step].parent)
        met |= nodes[step].bucket == bucket;
      if (met) continue;
      prefetch_bucket(bucket);
      nodes[count++] = {bucket, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(i)};
    }
  }
  return {{0, kSlots}, 0};
}

}  // namespace nodup
