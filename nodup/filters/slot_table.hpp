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

// Which of four slots.
using Four = unsigned;
constexpr unsigned lowest(Four slots) { return static_cast<unsigned>(std::countr_zero(slots)); }
constexpr unsigned how_many(Four slots) { return 0x4332322132212110u >> (4 * slots) & 7; }

template <bool kTagged>
class SlotTable {
 public:
  static constexpr unsigned kSlots = 4;  // per bucket
  static constexpr unsigned kWidestFingerprint = 57;

  struct Shape {
    std::uint64_t buckets = 1;
    unsigned fingerprint_bits = 8;
    unsigned tag_bits = kTagged ? 4 : 0;  // at most 6: a TagSet has 64 bits
    unsigned bucket_bits() const { return kSlots * (fingerprint_bits + tag_bits); }
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
  struct Slot {
    std::uint64_t bucket = 0;
    unsigned index = kSlots;
    bool exists() const { return index < kSlots; }
  };

  SlotTable(const Shape& shape, PagePolicy policy)
      : shape_(shape),
        bucket_width_(shape.bucket_bits()),
        tag_width_(shape.tag_bits),
        tag_mask_((1u << tag_width_) - 1),
        width_(shape.fingerprint_bits),
        mask_(~std::uint64_t{0} >> (64 - width_)),
        per_word_(width_ <= 14   ? 4
                  : width_ <= 28 ? 2
                                 : 1),
        pages_(shape.bytes(), policy) {
    for (unsigned i = 0; i < per_word_; ++i) {
      ones_ |= std::uint64_t{1} << (i * width_);
      tops_ |= std::uint64_t{1} << (i * width_ + width_ - 1);
    }
    below_tops_ = ones_ * mask_ & ~tops_;
    set_free(1);
  }

  const Shape& shape() const { return shape_; }
  std::uint64_t bytes() const { return pages_.bytes(); }
  std::span<std::byte> payload() { return pages_.span().first(shape_.payload_bytes()); }
  std::span<const std::byte> payload() const { return pages_.span().first(shape_.payload_bytes()); }

  // Slots with these tags may be overwritten. Tag 0, the empty slot, is always among them.
  void set_free(TagSet tags) {
    free_ = tags | 1;
    if constexpr (kTagged) {
      const auto two = [](TagSet set, unsigned pair) {
        return static_cast<unsigned>((set >> (pair & 15) & 1) | (set >> (pair >> 4) & 1) << 1);
      };
      for (unsigned pair = 0; pair < 256; ++pair)
        free_pairs_[pair] = static_cast<std::uint8_t>(two(free_, pair) | two(free_ & ~TagSet{1}, pair) << 4);
    }
  }

  [[gnu::always_inline]] Place place(Digest d) const noexcept {
    const std::uint64_t first = fastrange(d.lo, shape_.buckets);
    std::uint64_t fingerprint = d.hi & mask_;
    if constexpr (!kTagged) fingerprint += fingerprint == 0;
    return place(first, fingerprint);
  }
  [[gnu::always_inline]] Place place(std::uint64_t first, std::uint64_t fingerprint) const noexcept {
    return {fingerprint, first, other(first, fingerprint)};
  }
  [[gnu::always_inline]] void prefetch(Digest d) const noexcept {
    const Place p = place(d);
    prefetch_bucket(p.first);
    prefetch_bucket(p.second);
  }

  // Slots of a bucket that may be overwritten.
  [[gnu::always_inline]] Four free(std::uint64_t bucket) const noexcept {
    if constexpr (!kTagged) return equal(bucket, 0);
    return free_and_stale(bucket * bucket_width_) & 15;
  }
  // Empties the slots of `count` buckets that may be overwritten; f(tag) is told of each that was not empty.
  template <class Visit>
  void clear_stale(std::uint64_t first, std::uint64_t count, Visit&& f) noexcept {
    std::uint64_t bit = first * bucket_width_;
    for (std::uint64_t bucket = first; bucket < first + count; ++bucket, bit += bucket_width_) {
      for (Four left = free_and_stale(bit) >> 4; left != 0; left &= left - 1) {
        const Slot slot{bucket, lowest(left)};
        f(tag(slot));
        set_tag(slot, 0);
      }
    }
  }
  // Slots of a bucket with this fingerprint, whatever their tag.
  [[gnu::always_inline]] Four equal(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    const std::uint64_t from = bucket * bucket_width_ + kSlots * tag_width_;
    if (per_word_ == 2) {
      const std::uint64_t pattern = fingerprint * ones_;
      const std::uint64_t low = zero_fields(word_at(from) ^ pattern);
      const std::uint64_t high = zero_fields(word_at(from + 2 * width_) ^ pattern);
      if ((low | high) == 0) [[likely]]
        return 0;
      return fields(low) | fields(high) << 2;
    }
    if (per_word_ == 4) {
      const std::uint64_t found = zero_fields(word_at(from) ^ fingerprint * ones_);
      return found == 0 ? 0 : fields(found);
    }
    Four found = 0;
    for (unsigned i = 0; i < kSlots; ++i)
      found |= static_cast<Four>((word_at(from + i * width_) & mask_) == fingerprint) << i;
    return found;
  }
  unsigned tag(Slot slot) const noexcept {
    if constexpr (!kTagged) return fingerprint(slot) != 0;
    return tags_at(slot.bucket * bucket_width_) >> slot.index * tag_width_ & tag_mask_;
  }
  std::uint64_t fingerprint(Slot slot) const noexcept {
    return word_at(slot.bucket * bucket_width_ + kSlots * tag_width_ + slot.index * width_) & mask_;
  }
  // The slot of the key with one of these tags, or none.
  Slot find(const Place& place, TagSet tags) const noexcept {
    for (const std::uint64_t bucket : {place.first, place.second})
      for (Four left = equal(bucket, place.fingerprint); left != 0; left &= left - 1)
        if (const Slot slot{bucket, lowest(left)}; (tags >> tag(slot) & 1) != 0) return slot;
    return {};
  }

  void set_tag(Slot slot, unsigned tag) noexcept {
    static_assert(kTagged);
    const std::uint64_t bit = slot.bucket * bucket_width_ + slot.index * tag_width_;
    const unsigned shift = bit % 8;
    std::uint16_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    word = static_cast<std::uint16_t>((word & ~(tag_mask_ << shift)) | tag << shift);
    std::memcpy(bytes_at(bit), &word, sizeof word);
  }
  void set(Slot slot, std::uint64_t fingerprint, unsigned tag) noexcept {
    const std::uint64_t bit = slot.bucket * bucket_width_ + kSlots * tag_width_ + slot.index * width_;
    const unsigned shift = bit % 8;
    std::uint64_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    word = (word & ~(mask_ << shift)) | fingerprint << shift;
    std::memcpy(bytes_at(bit), &word, sizeof word);
    if constexpr (kTagged) set_tag(slot, tag);
  }

  // Frees a slot in one of the two buckets of a key, by moving others if both are full. Slots with free tags are
  // overwritten, never moved.
  struct Way {
    Slot slot;             // none: no room within reach, and nothing has moved
    unsigned overwritten;  // tag of the slot that is no more
  };
  Way make_way(const Place& place) noexcept;

 private:
  [[gnu::always_inline]] std::uint64_t other(std::uint64_t bucket, std::uint64_t fingerprint) const noexcept {
    const std::uint64_t sum = fastrange(remix(fingerprint * 0xC2B2AE3D27D4EB4Fu), shape_.buckets);
    return sum >= bucket ? sum - bucket : sum + shape_.buckets - bucket;
  }
  const unsigned char* bytes_at(std::uint64_t bit) const noexcept { return pages_.as<unsigned char>() + bit / 8; }
  unsigned char* bytes_at(std::uint64_t bit) noexcept { return pages_.as<unsigned char>() + bit / 8; }
  // Of the bucket that begins at this bit: four bits for the slots that are free, four for those that are also not
  // empty.
  [[gnu::always_inline]] unsigned free_and_stale(std::uint64_t bit) const noexcept {
    const std::uint32_t tags = tags_at(bit);
    if (tag_width_ == 4) return free_pairs_[tags & 255] | free_pairs_[tags >> 8 & 255] << 2;
    unsigned found = 0;
    for (unsigned i = 0; i < kSlots; ++i) {
      const unsigned tag = tags >> i * tag_width_ & tag_mask_;
      found |= static_cast<unsigned>(free_ >> tag & 1) * (tag == 0 ? 0x01 : 0x11) << i;
    }
    return found;
  }
  // The bits from here on, at least 57 of them.
  [[gnu::always_inline]] std::uint64_t word_at(std::uint64_t bit) const noexcept {
    std::uint64_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    return word >> bit % 8;
  }
  [[gnu::always_inline]] std::uint32_t tags_at(std::uint64_t bit) const noexcept {
    std::uint32_t word;
    std::memcpy(&word, bytes_at(bit), sizeof word);
    return word >> bit % 8;
  }
  // The top bit of every field of the word that is zero: adding all ones below it carries into it otherwise.
  [[gnu::always_inline]] std::uint64_t zero_fields(std::uint64_t word) const noexcept {
    return ~(((word & below_tops_) + below_tops_) | word) & tops_;
  }
  Four fields(std::uint64_t tops) const noexcept {
    Four found = 0;
    for (unsigned i = 0; i < per_word_; ++i) found |= static_cast<Four>(tops >> (i * width_ + width_ - 1) & 1) << i;
    return found;
  }
  // A bucket may reach into the next line.
  [[gnu::always_inline]] void prefetch_bucket(std::uint64_t bucket) const noexcept {
    const std::uint64_t bit = bucket * bucket_width_;
    nodup::prefetch(bytes_at(bit));
    nodup::prefetch(bytes_at(bit + bucket_width_ - 1));
  }

  Shape shape_;
  std::uint64_t bucket_width_;
  unsigned tag_width_, tag_mask_;
  unsigned width_;  // of a fingerprint
  std::uint64_t mask_;
  unsigned per_word_;  // fingerprints that fit into the 57 bits of a word
  // Of each field of such a word: its lowest bit; its highest; those below the highest.
  std::uint64_t ones_ = 0, tops_ = 0, below_tops_ = 0;
  TagSet free_ = 1;
  std::array<std::uint8_t, kTagged ? 256 : 0> free_pairs_ = {};  // by two tags of four bits: which are free
  Pages pages_;
};

template <bool kTagged>
typename SlotTable<kTagged>::Way SlotTable<kTagged>::make_way(const Place& place) noexcept {
  // At a load of 95 % one bucket in five has room and a few looks are enough; at 97 % it may take hundreds.
  constexpr std::size_t kMostNodes = 2048;
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
    const Four room = free(node.bucket);
    if (room != 0) {
      // Backwards from the free slot: each move frees the slot that the move before it goes to.
      Slot to{node.bucket, lowest(room)};
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
  return {{}, 0};
}

}  // namespace nodup
