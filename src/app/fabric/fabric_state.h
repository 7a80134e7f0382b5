// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Why a command cannot talk to a fabric, as a state and as a sentence for the user. All commands
// use these, so that they say the same.

#include <string>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

enum class FabricState {
    kUp,
    kNone,          ///< There is no such fabric.
    kDead,          ///< Its daemon is gone; its description is still there.
    kSilent,        ///< Its daemon does not answer.
    kOtherVersion,  ///< Its daemon is of another version (own_version()).
    kExhausted,     ///< Its daemon, or this process, has no file descriptor left.
    kForeign,       ///< The fabric is another user's.
    kUnreachable,
};
const char* to_string(FabricState state);

struct FabricTrouble {
    FabricState state = FabricState::kUp;
    std::string what;    ///< "softibd of fabric 'a' (pid 7) does not answer"
    std::string advice;  ///< "end it with: softib down a"

    std::string sentence() const { return advice.empty() ? what : what + "; " + advice; }
};

/// Finds what can be said of a daemon before it is asked anything: it is of another version,
/// another user's, or there is none. Returns state kUp if none of this is so.
FabricTrouble look_at_daemon(const FabricRef& fabric);

/// Explains why a request to a daemon failed. `error`: the errno value; `told`: whether the daemon
/// itself answered with it.
FabricTrouble explain(const FabricRef& fabric, int error, bool told);

}  // namespace softib::app
