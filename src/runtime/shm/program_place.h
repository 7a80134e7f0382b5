// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>

namespace softib::live {

/// Where a program stands, as `softib exec` tells it in the environment. A program may change its
/// environment: whoever needs the place for longer copies it.
struct ProgramPlace {
    const char* dir;    ///< Of the fabric; nullptr: on none.
    const char* hosts;  ///< Names, by commas; nullptr: on none.
};

inline ProgramPlace program_place() {
    return {std::getenv("SOFTIB_DIR"), std::getenv("SOFTIB_HOST")};
}

}  // namespace softib::live
