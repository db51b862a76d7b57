// SPDX-License-Identifier: Apache-2.0
#include "nodup/stream/state.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nodup/filters/registry.hpp"
#include "tests/oracle.hpp"
#include "tests/stream/temporary_folder.hpp"

namespace nodup {
namespace {

using testing::KeyMaker;
using testing::TemporaryFolder;

AnyFilter filter_of(const std::vector<Digest>& keys) {
  AnyFilter filter = filter_kind("exact").make({.keys = 10});
  filter.make_room(keys.size());
  const auto is_new = std::make_unique<bool[]>(keys.size());
  filter.insert_all(keys, is_new.get());
  return filter;
}

TEST(StateFile, GoesOnWithWhatWasSaved) {
  const TemporaryFolder folder;
  const std::vector<Digest> keys = KeyMaker(1).make(100);
  {
    StateFile state(folder.path("state"));
    EXPECT_FALSE(state.load());
    state.save(filter_of(keys), 17, {{"key", "line"}});
  }
  const StateFile state(folder.path("state"));
  const auto saved = state.load();
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->seed, 17u);
  EXPECT_EQ(saved->notes.at("key"), "line");
  EXPECT_EQ(saved->filter.keys(), 100u);
}

TEST(StateFile, HoldsRowsWithAttributesToo) {
  const TemporaryFolder folder;
  StateFile state(folder.path("state"));
  EXPECT_FALSE(state.load_set());
  AttributeSet set({.rows = 10});
  const std::vector<Attribute> row = {{set.attribute("user"), {1, 2}}};
  set.add(row);
  state.save(set, 18, {{"key", "json:user"}});
  const auto saved = state.load_set();
  ASSERT_TRUE(saved && std::holds_alternative<SavedAttributeSet>(*saved));
  EXPECT_EQ(std::get<SavedAttributeSet>(*saved).seed, 18u);
  EXPECT_TRUE(std::get<SavedAttributeSet>(*saved).set.contains_row(row));
  EXPECT_THROW((void)state.load(), Error);

  state.save(filter_of(KeyMaker(2).make(3)), 19, {});
  const auto filter = state.load_set();
  ASSERT_TRUE(filter && std::holds_alternative<SavedFilter>(*filter));
  EXPECT_EQ(std::get<SavedFilter>(*filter).filter.keys(), 3u);
}

TEST(StateFile, OneAtATime) {
  const TemporaryFolder folder;
  {
    const StateFile state(folder.path("state"));
    try {
      const StateFile second(folder.path("state"));
      FAIL() << "two hold it";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(folder.path("state")), std::string::npos) << error.what();
    }
    const StateFile other(folder.path("other"));
  }
  const StateFile again(folder.path("state"));
}

TEST(StateFile, LeavesNothingButTheState) {
  const TemporaryFolder folder;
  { const StateFile state(folder.path("state")); }
  EXPECT_TRUE(folder.names().empty());
  { StateFile(folder.path("state")).save(filter_of({}), 0, {}); }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state"});
}

// The lock of a process that was killed hinders nobody.
TEST(StateFile, LockEndsWithTheProcess) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const StateFile held(folder.path("state"));
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROW(StateFile(folder.path("state")), Error);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(std::filesystem::exists(folder.path("state.lock")));
  EXPECT_NO_THROW(StateFile(folder.path("state")));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(StateFile, DamageIsToldAndLeftAlone) {
  const TemporaryFolder folder;
  const std::string damaged = "this is no state";
  folder.write("state", damaged);
  EXPECT_THROW((void)StateFile(folder.path("state")).load(), Error);
  EXPECT_EQ(folder.read("state"), damaged);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state"});
}

TEST(StateFile, DueAfterTheInterval) {
  const TemporaryFolder folder;
  StateFile state(folder.path("state"));
  EXPECT_TRUE(state.due(std::chrono::nanoseconds(0)));
  EXPECT_FALSE(state.due(std::chrono::hours(1)));
  state.save(filter_of({}), 0, {});
  EXPECT_FALSE(state.due(std::chrono::hours(1)));
}

// A full disk must not make every look at the clock another try.
TEST(StateFile, AFailedSaveWaitsForItsTurn) {
  const TemporaryFolder folder;
  StateFile state(folder.path("state"));
  std::filesystem::create_directory(folder.path("state"));
  constexpr std::chrono::milliseconds interval(100);
  while (!state.due(interval)) ::usleep(10'000);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THROW(state.save(filter_of({}), 0, {}), Error);
  // Counted from the failure: never due again earlier than one interval after it began.
  while (!state.due(interval)) ::usleep(1'000);
  EXPECT_GE(std::chrono::steady_clock::now() - before, interval);
}

}  // namespace
}  // namespace nodup
