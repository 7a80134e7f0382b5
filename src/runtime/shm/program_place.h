// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>

namespace softib::shm {

/// The fabric and the hosts that a program runs on, as `softib exec` sets them in the environment.
/// The texts are the environment's, which the program may change: a caller that keeps them must
/// copy them.
struct ProgramPlace {
    const char* dir;    ///< Directory of the fabric; nullptr: the program is on none.
    const char* hosts;  ///< Names of hosts, separated by commas; nullptr: the program is on none.
};

inline ProgramPlace program_place() {
    return {std::getenv("SOFTIB_DIR"), std::getenv("SOFTIB_HOST")};
}

}  // namespace softib::shm
