// SPDX-License-Identifier: Apache-2.0
#include "nodup/spread/attenuated.hpp"

#include <gtest/gtest.h>

#include "nodup/spread/route.hpp"
#include "tests/spread/rows.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::loaded;
using testing::own_bytes;
using testing::set_of;

// A line of nodes, each with one key: what the node at 0 is told of the nodes 1, 2, ... `nodes`.
AttenuatedFilter line_of(std::uint64_t nodes, std::size_t depth) {
  const auto own = [](std::uint64_t node) { return BitRow(set_of({KeyMaker(node)()})); };
  AttenuatedFilter told = AttenuatedFilter::told(own(nodes), {}, depth);
  for (std::uint64_t node = nodes - 1; node > 0; --node) {
    const AttenuatedFilter* beyond[] = {&told};
    told = AttenuatedFilter::told(own(node), beyond, depth);
  }
  return told;
}

TEST(Attenuated, EveryNodeOnTheWayIsOneHopFurther) {
  const AttenuatedFilter filter = line_of(6, 4);
  EXPECT_EQ(filter.depth(), 4u);
  for (std::uint64_t hops = 1; hops <= 4; ++hops) EXPECT_EQ(filter.distance(KeyMaker(hops)()), hops);
  for (std::uint64_t hops = 5; hops <= 6; ++hops) EXPECT_EQ(filter.distance(KeyMaker(hops)()), std::nullopt);
  for (const Digest& other : KeyMaker(99).make(1000)) EXPECT_EQ(filter.distance(other), std::nullopt);
}

TEST(Attenuated, LevelsAreTheUnionOfTheOtherDirections) {
  const BitRow own(set_of({KeyMaker(1)()}));
  const AttenuatedFilter short_line = line_of(2, 3), long_line = line_of(5, 3);
  const AttenuatedFilter other = AttenuatedFilter::told(BitRow(set_of({KeyMaker(50)()})), {}, 1);
  const AttenuatedFilter* beyond[] = {&short_line, &long_line, &other};
  const AttenuatedFilter filter = AttenuatedFilter::told(own, beyond, 3);
  // The key of node 1 is also in the set of the neighbour itself: the nearest counts.
  EXPECT_EQ(filter.distance(KeyMaker(1)()), 1u);
  EXPECT_EQ(filter.distance(KeyMaker(2)()), 3u);
  EXPECT_EQ(filter.distance(KeyMaker(50)()), 2u);
  for (std::size_t hops = 2; hops <= 3; ++hops) {
    BitRow united = own.empty_like();
    for (const AttenuatedFilter* direction : beyond)
      if (hops - 1 <= direction->depth()) united.merge(direction->level(hops - 1));
    EXPECT_EQ(own_bytes(filter.level(hops)), own_bytes(united));
  }
}

TEST(Attenuated, SavedAndLoaded) {
  const AttenuatedFilter filter = line_of(3, 2);
  EXPECT_EQ(own_bytes(loaded<AttenuatedFilter>(own_bytes(filter))), own_bytes(filter));
  testing::expect_safe_to_load(filter, false);
  EXPECT_THROW((void)line_of(3, 0), Error);
}

TEST(Route, GoesWhereTheKeyIsNearestAndNowhereTwice) {
  Route route(1, 5);
  EXPECT_EQ(route.next(std::vector<Direction>{{2, {}}, {3, 2}, {4, 1}}, 0), 4u);
  EXPECT_EQ(route.next(std::vector<Direction>{{4, 1}, {1, 1}, {5, 3}}, 0), 5u);
  EXPECT_EQ(route.next(std::vector<Direction>{{4, 1}, {6, {}}}, ~0ull), 6u);
  // Nothing but known nodes: back to one of them.
  EXPECT_EQ(route.next(std::vector<Direction>{{4, 1}, {5, {}}}, 0), 4u);
  EXPECT_EQ(route.hops_left(), 1u);
  EXPECT_EQ(route.next({}, 0), std::nullopt);
  EXPECT_EQ(route.next(std::vector<Direction>{{7, 1}}, 0), 7u);
  EXPECT_EQ(route.next(std::vector<Direction>{{8, 1}}, 0), std::nullopt);
}

TEST(Route, TheDrawnNumberChoosesAmongTheBest) {
  const std::vector<Direction> directions{{2, 3}, {3, 2}, {4, 2}, {5, {}}, {6, 2}};
  testing::Random random(1);
  std::vector<double> taken(7);
  for (int i = 0; i < 9000; ++i) ++taken[*Route(1, 1).next(directions, random())];
  for (const PeerId node : {3, 4, 6}) EXPECT_NEAR(taken[node], 3000, 5 * std::sqrt(2000.0));
  EXPECT_EQ(taken[2] + taken[5], 0);
}

}  // namespace
}  // namespace nodup
