// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Looks at the files that a command will write before it does any work.

#include <optional>
#include <span>
#include <string>

namespace softib::app {

/// A file that an option names.
struct OutputFile {
    std::string option = {};  ///< "--html"
    std::string path = {};    ///< "-": standard output. Empty: the option was not given.
};

struct OutputFault {
    std::string text = {};
    bool misuse = false;  ///< The command line contradicts itself.
};

/// Returns what is wrong with the files that a command will write: two of them are one file, one is
/// also among those that it reads, or one cannot be opened for writing. Leaves no trace of its
/// trying. Returns std::nullopt if all can be written.
std::optional<OutputFault> find_output_fault(std::span<const OutputFile> written,
                                             std::span<const std::string> read = {});

/// Prints what find_output_fault() returns. Returns the exit status, 0 if nothing is wrong.
[[nodiscard]] int check_outputs(std::span<const OutputFile> written,
                                std::span<const std::string> read = {});

}  // namespace softib::app
