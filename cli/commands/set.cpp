// SPDX-License-Identifier: Apache-2.0
//
// `nodup set`: one command with four verbs. Flags that only some verbs have are refused with the others.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/match_run.hpp"
#include "cli/set_change.hpp"
#include "nodup/filters/registry.hpp"
#include "nodup/text/units.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup set build users.nodup --key json:user users.ndjson", "a small file to send: the users that are there"},
    {"nodup set build users.nodup --erasable --csv --header --key col:id users.csv",
     "one that keys can be removed from"},
    {"nodup set add blocked.nodup < addresses.txt", "adds lines; makes the set if it is not there"},
    {"nodup set remove blocked.nodup < addresses.txt", "takes them out again"},
    {"nodup set remove seen.nodup --key json:id wrong.ndjson",
     "a stream with --filter dynamic --state seen.nodup "
     "takes these for new again"},
    {"nodup set build sales.nodup --attributes --key json:user,day sales.ndjson", "rows; --where day asks for a part"},
    {"nodup set test blocked.nodup < addresses.txt", "the lines that may be in the set"},
};

// The i-th has the bit 1 << i among Verb.
constexpr std::string_view kVerbs[] = {"build", "add", "remove", "test"};
enum Verb : unsigned { kBuild = 1, kAdd = 2, kRemove = 4, kTest = 8 };

constexpr CommandText kText = {
    .name = "set",
    .usage = "set (build | add | remove | test) SET [FLAGS] [FILE...]",
    .summary = "a set of keys in a file: build it, add, remove, test",
    .about =
        "Keys come from files or standard input (`-`), gzip and zstd recognised. Values are compared by their text: "
        "the "
        "number 17, the string \"17\", the column 17 and the line 17 are one key, so a set built from JSON can be "
        "asked "
        "with CSV or plain lines.\n"
        "build: a new set of all keys. add: adds them, also to a new set, from which keys can be removed again; a key "
        "that is added twice must be removed twice. remove: takes them out; a key that is not in the set, or cannot be "
        "told from others in it, changes nothing and is reported. test: the records whose key may be in the set, as "
        "`nodup match` does.\n"
        "A set never misses a key that is in it. A key that is not looks as if it were with the probability --error. "
        "Remove only keys that were added: another one may look like them, and to remove it takes theirs.\n"
        "A change is made at the end and as a whole: a run that fails, is interrupted or killed has changed nothing. "
        "Two "
        "changes at the same time are refused.",
    .examples = kExamples,
    .verbs = kVerbs,
};

std::string verb_names(unsigned verbs) {
  std::string names;
  for (std::size_t i = 0; i < std::size(kVerbs); ++i)
    if ((verbs >> i & 1) != 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", kVerbs[i]);
  return names;
}

std::vector<std::string> set_filters() {
  std::vector<std::string> names;
  for (const Kind& kind : filter_kinds())
    if (!kind.ages && !kind.forgets) names.emplace_back(kind.name);
  return names;
}

class SetCommand final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override;
  void operand(const std::string& word) override;
  int run() override;

 private:
  Flag only(unsigned verbs, Flag flag);

  struct Typed {
    std::string flag;
    unsigned verbs;
  };
  std::vector<Typed> typed_;  // flags that only some verbs have
  unsigned verb_ = 0;
  SetOptions set_;
  ChangeOptions change_;
  MatchOptions match_;
  bool erasable_ = false;
};

Flag SetCommand::only(unsigned verbs, Flag flag) {
  flag.set = [this, verbs, names = flag.names, set = std::move(flag.set)](const std::string& value) {
    typed_.push_back({names.substr(names.find("--")), verbs});
    set(value);
  };
  return flag;
}

std::vector<Flag> SetCommand::flags() {
  using S = const std::string&;
  const std::string fresh = "A new set (build, add)";
  std::vector<Flag> flags = set_input_flags(set_);
  flags.push_back(on_error_flag([&](OnBadRecord typed) { match_.on_bad = typed; },
                                "records without a key: drop (default) or fail; with test also pass",
                                "Broken JSON, a missing field, null, a short row. They are counted, and the first few "
                                "are shown with their place. `fail` leaves the set unchanged."));
  std::vector<Flag> more = {
      only(kBuild | kAdd,
           {"-e,--error", "RATE", fresh, "chance that a key looks as if it were in the set (default 1e-3)",
            "A false answer costs a row too many, not an event, so this is larger than for streams: the file is "
            "smaller. 0 means exact, at 20 bytes per key and more.",
            [&](S v) { change_.error = error_rate(v); }, true}),
      only(kBuild | kAdd, {"-n,--events", "COUNT", fresh, "how many distinct keys to make it for",
                           "Without it up to 16 M keys are counted first, at 16 bytes each, and the set is made for "
                           "those. More can be added later: the set grows.",
                           [&](S v) { change_.events = read_count(v); }}),
      only(kBuild | kAdd, {"--erasable", "", fresh, "keys can be removed again; the default of add",
                           "As --filter dynamic: four times as large.", [&](S) { erasable_ = true; }, true}),
      only(kBuild | kAdd,
           {"--filter", "NAME", fresh,
            fmt::format("the filter to use (default: {} for build, {} for add)", kDefaultBuildKind, kDefaultAddKind),
            fmt::format("One of {}.", fmt::join(set_filters(), ", ")),
            [&](S v) { change_.filter = filter_kind(v).name; }, false, set_filters()}),
      only(kBuild | kAdd, {"--seed", "NUMBER", fresh, "the seed of the hash (default: random)", "",
                           [&](S v) { change_.seed = read_count(v); }}),
      only(kBuild | kAdd,
           {"--attributes", "", fresh, "rows with a name for each field of --key: parts can be asked for",
            "One dynamic filter for each field and one for whole rows. `--where` asks for a part; "
            "whole rows can be removed again.",
            [&](S) { change_.attributes = true; }, true}),
      only(kBuild, {"--force", "", fresh, "build: also if the file is there already, in its place", "",
                    [&](S) { change_.force = true; }}),
      only(kRemove,
           {"--refused", "FILE", "remove", "write the records whose key was not removed to FILE",
            "Those that are absent, ambiguous or without a key.", [&](S v) { change_.refused = file_name(v); }}),
  };
  std::ranges::move(more, std::back_inserter(flags));
  for (Flag& flag : match_flags(match_, "test")) flags.push_back(only(kTest, std::move(flag)));
  std::ranges::move(set_report_flags(set_), std::back_inserter(flags));
  return flags;
}

void SetCommand::operand(const std::string& word) {
  if (verb_ != 0) {
    set_.operand(word);
    return;
  }
  for (std::size_t i = 0; i < std::size(kVerbs); ++i)
    if (word == kVerbs[i]) verb_ = 1U << i;
  if (verb_ == 0) throw UsageError(fmt::format("`nodup set {}`: there are {}", word, verb_names(~0U)));
}

int SetCommand::run() {
  if (verb_ == 0) throw UsageError(fmt::format("what to do? There are {}: see `nodup set --help`", verb_names(~0U)));
  for (const Typed& typed : typed_)
    if ((typed.verbs & verb_) == 0)
      throw UsageError(fmt::format("{} is for {}, not for {}", typed.flag, verb_names(typed.verbs), verb_names(verb_)));
  set_.settle_paths(fmt::format("set {}", verb_names(verb_)));
  if (verb_ == kTest) return run_match(set_, match_);

  if (match_.on_bad == OnBadRecord::pass)
    throw UsageError("--on-error pass is for test: a record without a key cannot be added or removed");
  if (erasable_ && change_.filter && !filter_kind(*change_.filter).erases)
    throw UsageError(fmt::format("--erasable: keys cannot be removed from {}; leave --filter out", *change_.filter));
  if (change_.attributes && change_.filter)
    throw UsageError("--attributes: every attribute has a dynamic filter; leave --filter out");
  if (erasable_ && !change_.filter && !change_.attributes) change_.filter = kDefaultAddKind;
  change_.change = verb_ == kBuild ? Change::build : verb_ == kAdd ? Change::add : Change::remove;
  change_.fail_on_bad = match_.on_bad == OnBadRecord::fail;
  return change_set(set_, change_);
}

}  // namespace

std::unique_ptr<Command> make_set() { return std::make_unique<SetCommand>(); }

}  // namespace nodup::cli
