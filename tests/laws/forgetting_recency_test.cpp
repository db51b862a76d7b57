// SPDX-License-Identifier: Apache-2.0
//
// Law: what just passed is known at least as well as what passed at any time before. (Not always: `reservoir` lets keys
// pass that it does not take in.)
#include "tests/laws/forgetting.hpp"

namespace nodup::testing {
namespace {

NODUP_FORGETTING_LAW(ForgettingRecency);

TEST_P(ForgettingRecency, TheNewestAreKnownAtLeastAsWellAsTheRest) {
  AnyFilter filter = kind().make(endless_goal());
  KeyMaker make(75);
  std::vector<Digest> passed;
  for (std::uint64_t told = 0; told < 10 * kRoom; told += 1000) {
    const std::vector<Digest> some = make.make(1000);
    const Answers is_new = insert(filter, some);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (is_new[i]) passed.push_back(some[i]);
  }
  const double of_all = share_known(filter, passed);
  std::size_t newest = 0, known = 0;
  for (const Digest& key : make.make(4000)) {
    if (!insert(filter, {&key, 1})[0]) continue;
    ++newest;
    known += contains(filter, {&key, 1})[0];
  }
  ASSERT_GT(newest, 0u);
  EXPECT_GE(static_cast<double>(known) / static_cast<double>(newest), of_all - five_sigma(of_all, newest));
}

}  // namespace
}  // namespace nodup::testing
