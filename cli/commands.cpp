// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"

#include "cli/command.hpp"

namespace nodup::cli {

namespace {

// THE list of commands.
constexpr CommandEntry kCommands[] = {
    {"", make_dedup},    {"set", make_set},   {"match", make_match},       {"join", make_join},
    {"plan", make_plan}, {"info", make_info}, {"generate", make_generate}, {"completions", make_completions},
    {"man", make_man},
};

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace nodup::cli
