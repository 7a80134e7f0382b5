// SPDX-License-Identifier: BSD-2-Clause
// Kills a peer again and again, at random moments and inside the library's critical sections, and
// checks what is left: the survivor gets its errors, every receive request is completed once, not
// one byte is wrong, and the buddy that shares queues with the dead peer goes on.
//
//     softib exec h0 -- kill_loop --kills 150 --seed 7 --scratch DIR [--point N] [--op N]
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kill.h"
#include "kill_survivor.h"

namespace faults {
namespace {

Settings parse(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        const auto number = static_cast<int>(std::strtol(argv[i + 1], nullptr, 10));
        if (name == "--kills") {
            settings.kills = static_cast<std::uint32_t>(number);
        } else if (name == "--seed") {
            settings.seed = static_cast<std::uint32_t>(number);
        } else if (name == "--op") {
            settings.only_op = number;
        } else if (name == "--point") {
            settings.only_point = number;
        } else if (name == "--scratch") {
            settings.scratch = argv[i + 1];
        }
    }
    return settings;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
    const std::string role = argc > 1 ? argv[1] : "";
    if (role == "victim") {
        return faults::run_victim();
    }
    if (role == "buddy") {
        return faults::run_buddy();
    }
    faults::Survivor(faults::parse(argc, argv)).run();
    return 0;
}
