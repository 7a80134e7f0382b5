// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "app/fabric/term.h"

namespace softib::app {

/// Writes a text to a file, or to standard output if `path` is "-". Returns the exit status of the
/// command, after an error message if it is not 0.
[[nodiscard]] inline int write_text(const std::string& path, const std::string& text) {
    if (path == "-") {
        fmt::print("{}", text);
        return 0;
    }
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    return out ? 0 : fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace softib::app
