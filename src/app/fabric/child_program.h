// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that the daemon starts beside a fabric. They end with the daemon, however it ends.

#include <sys/types.h>

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace softib::app {

/// Starts a program with its output in the file `output`, and returns its pid.
std::expected<pid_t, std::string> start_child(const std::vector<std::string>& args,
                                              const std::vector<std::string>& environment,
                                              const std::string& output);

/// What a program printed to its standard output, and its exit status; 128 and more: a signal.
struct Output {
    std::string text;
    int status = 0;
};
/// Runs a program to its end.
std::expected<Output, std::string> output_of(std::vector<std::string> words);

/// Returns daemon_environment() with these variables set.
std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace softib::app
