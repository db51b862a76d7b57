// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "cli/commands.hpp"
#include "cli/match_run.hpp"

namespace nodup::cli {

namespace {

constexpr Example kExamples[] = {
    {"nodup match users.nodup --key json:user clicks.ndjson > part.ndjson", "only clicks that may join with a user"},
    {"nodup match users.nodup --csv --header --key col:user_id -D others.csv orders.csv > part.csv",
     "the set may come from JSON; the other rows go to a file"},
    {"nodup match --invert blocked.nodup --key json:ip requests.ndjson", "only requests that are surely not blocked"},
    {"nodup match sales.nodup --where day --csv --key col:3 rates.csv", "of a set of rows with attributes: a part"},
    {"nodup match --count users.nodup --key json:user clicks.ndjson", "how many"},
};

constexpr CommandText kText = {
    .name = "match",
    .usage = "match SET [FLAGS] [FILE...]",
    .summary = "only the rows whose key may be in a set",
    .about =
        "Reads rows from files or standard input (`-`), gzip and zstd recognised, and passes those whose key may be in "
        "SET, in input order: a file made by `nodup set`, or the --state of a stream. No row in the set is missing; a "
        "row that is not in the set passes with the probability of the set's error. With --invert: the rows that are "
        "surely not in the set. SET is not changed and not locked: it is read as it stands when the command begins.",
    .examples = kExamples,
};

class MatchCommand final : public Command {
 public:
  const CommandText& text() const override { return kText; }
  std::vector<Flag> flags() override {
    std::vector<Flag> flags = set_input_flags(set_);
    flags.push_back(on_error_flag([&](OnBadRecord typed) { options_.on_bad = typed; },
                                  "records without a key: pass, drop or fail",
                                  "Broken JSON, a missing field, null, a short row. They match nothing, so by default "
                                  "they are dropped, and with --invert they pass. They are counted, and the first few "
                                  "are shown with their place."));
    std::ranges::move(match_flags(options_, "Output"), std::back_inserter(flags));
    std::ranges::move(set_report_flags(set_), std::back_inserter(flags));
    return flags;
  }
  void operand(const std::string& word) override { set_.operand(word); }
  int run() override {
    set_.settle_paths("match");
    return run_match(set_, options_);
  }

 private:
  SetOptions set_;
  MatchOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_match() { return std::make_unique<MatchCommand>(); }

}  // namespace nodup::cli
