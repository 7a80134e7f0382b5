// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of a fabric that a command cannot talk to: one word and one sentence, the same from
// every command.

#include <string>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

enum class FabricState {
    kUp,
    kNone,          ///< There is no such fabric.
    kDead,          ///< Its daemon is gone, its description is there.
    kSilent,        ///< Its daemon does not answer.
    kOtherVersion,  ///< Its daemon does not speak our language.
    kExhausted,     ///< Its daemon, or this process, has no file descriptor left.
    kForeign,       ///< It is another user's.
    kUnreachable,
};
const char* to_string(FabricState state);

struct FabricTrouble {
    FabricState state = FabricState::kUp;
    std::string what;    ///< "softibd of fabric 'a' (pid 7) does not answer"
    std::string advice;  ///< "end it with: softib down a"

    std::string sentence() const { return advice.empty() ? what : what + "; " + advice; }
};

/// Before the daemon is asked anything: whether it is of another version, or there is none.
FabricTrouble look_at_daemon(const FabricRef& fabric);

/// After it was asked. `error`: the errno value of the failure; `told`: the daemon itself said so.
FabricTrouble explain(const FabricRef& fabric, int error, bool told);

}  // namespace softib::app
