// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Commands to and events from the connection manager of this process's host, which runs in the
// daemon. The process has one connection to the daemon for commands, and one per event channel.
//
// Thread rule: any thread may call; commands go one at a time.

#include <cstdint>

#include "core/cm/commands.h"

namespace softib::abi::rdmacm {

/// Sends a command and waits for the reply. Returns false, with errno set, if the connection
/// manager refuses the command or cannot be reached.
bool execute(const cm::Command& command, cm::Reply& reply);

/// Returns a command about an endpoint, for the caller to complete.
inline cm::Command command_of(cm::Operation operation, cm::IdHandle id) {
    cm::Command command;
    command.operation = operation;
    command.id = id;
    return command;
}

/// Opens a connection for events. Returns its descriptor, and the manager's name for it in `name`.
/// Returns -1, with errno set, if that fails.
int open_channel(std::uint32_t& name);

/// Takes the next event off a channel. Waits for one, unless the descriptor is non-blocking.
/// Returns false, with errno set, if it has none.
bool take_event(int fd, cm::Event& event);
/// Gives the next event of a channel back to the manager if it is one of this endpoint. The manager
/// then sends it on the channel that the endpoint has now.
void put_back_event(int fd, std::uint32_t channel, cm::IdHandle id);
/// Reads the next event without taking it. Never waits; returns false if there is none.
bool peek_event(int fd, cm::Event& event);

/// The directory of the fabric and the names of this process's hosts, as the environment gives
/// them; nullptr if it does not.
const char* fabric_dir();
const char* host_names();

}  // namespace softib::abi::rdmacm
