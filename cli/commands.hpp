// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace nodup::cli {

class Command;

std::unique_ptr<Command> make_dedup();
std::unique_ptr<Command> make_set();
std::unique_ptr<Command> make_match();
std::unique_ptr<Command> make_join();
std::unique_ptr<Command> make_plan();
std::unique_ptr<Command> make_info();
std::unique_ptr<Command> make_generate();
std::unique_ptr<Command> make_completions();
std::unique_ptr<Command> make_man();

}  // namespace nodup::cli
