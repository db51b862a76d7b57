// SPDX-License-Identifier: Apache-2.0
//
// Law: a kind that forgets takes any number of keys in the memory it began with, all that it was allowed, and never
// loses a larger share of new events than was planned. What it reports of itself is what is measured.
#include "tests/laws/forgetting.hpp"

namespace nodup::testing {
namespace {

NODUP_FORGETTING_LAW(ForgettingEndless);

TEST_P(ForgettingEndless, MemoryStaysAndEventsLostStayWithinThePlan) {
  for (const double error : {0.3, 0.05, 1e-3}) {
    SCOPED_TRACE(error);
    const Goal goal = endless_goal(error);
    const Plan plan = kind().plan(goal);
    EXPECT_LE(plan.bytes, goal.bytes);
    EXPECT_GT(plan.bytes + 64, goal.bytes) << "memory that was allowed and not taken";
    AnyFilter filter = kind().make(goal);
    const std::uint64_t bytes = filter.bytes();
    EXPECT_EQ(bytes, plan.bytes);

    KeyMaker make(71);
    const std::vector<Digest> fresh = KeyMaker(72).make(100'000);
    std::uint64_t told = 0;
    for (const std::uint64_t until : {kRoom / 2, kRoom, 4 * kRoom, 20 * kRoom, kEndless}) {
      for (; told < until; told += 1000) insert(filter, make.make(1000));
      EXPECT_EQ(filter.bytes(), bytes) << told << " keys";
      const double measured = share_known(filter, fresh);
      // 2 %: the model's error, and the chance in which bits were reset.
      const double planned = plan.rates.false_positive, reported = filter.rates().false_positive;
      EXPECT_LE(measured, planned * 1.02 + five_sigma(planned, fresh.size())) << told << " keys";
      EXPECT_NEAR(measured, reported, reported * 0.05 + five_sigma(reported, fresh.size())) << told << " keys";
    }
  }
}

// Of the keys that passed, each equally likely; keys() counts them.
TEST_P(ForgettingEndless, DuplicatesThatPassAreAsReported) {
  AnyFilter filter = kind().make(endless_goal());
  KeyMaker make(73);
  std::vector<Digest> passed;
  for (const std::uint64_t until : {kRoom / 2, 2 * kRoom, 8 * kRoom}) {
    while (passed.size() < until) {
      const std::vector<Digest> some = make.make(1000);
      const Answers is_new = insert(filter, some);
      for (std::size_t i = 0; i < some.size(); ++i)
        if (is_new[i]) passed.push_back(some[i]);
      if (filter.rates().false_positive > 0.9) break;  // it loses all but few: there will not be so many
    }
    EXPECT_EQ(filter.keys(), passed.size());
    const double measured = 1 - share_known(filter, passed), reported = filter.rates().false_negative;
    EXPECT_NEAR(measured, reported, 0.02 + five_sigma(reported, passed.size())) << passed.size() << " keys";
  }
}

}  // namespace
}  // namespace nodup::testing
