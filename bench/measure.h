// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Measurements that the programs of this folder make of themselves.

#include <fmt/format.h>
#include <time.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace softib::bench {

inline double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Returns the most memory that was resident at once. It does not use getrusage(), whose value
/// starts with the parent's.
inline double peak_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::atof(line.c_str() + 6) / 1024;
        }
    }
    return 0;
}

/// Prints a message and ends the program with status 1.
[[noreturn]] inline void stop(const std::string& message) {
    fmt::print(stderr, "{}\n", message);
    std::exit(1);
}

}  // namespace softib::bench
