// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The conversation with the connection manager of this process's host, which lives in the daemon:
// one connection for commands, and one per event channel.
//
// Thread rule: any thread may call; commands go one at a time.

#include <cstdint>

#include "core/cm/commands.h"

namespace softib::abi::rdmacm {

/// Does as commanded. False and errno: what the manager answered, or that there is none.
bool execute(const cm::Command& command, cm::Reply& reply);

/// A command about an endpoint.
inline cm::Command command_of(cm::Operation operation, cm::IdHandle id) {
    cm::Command command;
    command.operation = operation;
    command.id = id;
    return command;
}

/// A new connection for events and its name; -1 and errno.
int open_channel(std::uint32_t& name);

/// Takes the next event off a channel; whether it waits is the descriptor's business (O_NONBLOCK).
bool take_event(int fd, cm::Event& event);
/// The same for an event of this endpoint only, which is put back at the manager: it comes again on
/// the channel that the endpoint has now.
void put_back_event(int fd, std::uint32_t channel, cm::IdHandle id);
/// Looks at the next event and leaves it there. Never waits.
bool peek_event(int fd, cm::Event& event);

/// The directory of the fabric and the host of this process, as its environment says; nullptr.
const char* fabric_dir();
const char* host_names();

}  // namespace softib::abi::rdmacm
