// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Starting and ending a fabric's daemon.

#include <sys/types.h>

#include <expected>
#include <string>

#include "app/fabric/fabric_dir.h"
#include "spec/description.h"

namespace softib::app {

/// The beginning of a line in which softibd tells, through its --ready-fd, what it is doing, for
/// the user to see. After such lines comes kReady, or an error.
inline constexpr char kStagePrefix[] = "stage: ";
inline constexpr char kReady[] = "ready\n";

/// Makes the fabric's directory and writes the description into it, with the files that the
/// description names (netlist, partitions). The caller holds lock_base_dir().
std::expected<void, std::string> prepare_fabric(const FabricRef& fabric,
                                                spec::Description description);

/// Starts softibd on a prepared directory and waits until programs can attach. Returns its pid. If
/// lifeline_fd is not negative, the daemon ends when the other end of that pipe closes. On failure
/// the directory is removed, and the error is the daemon's own message.
std::expected<pid_t, std::string> start_daemon(const FabricRef& fabric, int lifeline_fd);

/// Replaces this process by the daemon, which stays on the terminal. Returns only on failure, with
/// the reason.
std::string exec_daemon_in_foreground(const FabricRef& fabric);

/// Asks the daemon to end and waits until it has removed the directory. The error says why it
/// did not.
std::expected<void, std::string> stop_daemon(const FabricRef& fabric);

/// Ends the daemon by SIGTERM and removes what it leaves. Works with a daemon of any version, as it
/// sends no request.
std::expected<void, std::string> signal_daemon(const FabricRef& fabric);

/// Ends a daemon that does not answer, by SIGKILL, and removes what it leaves.
std::expected<void, std::string> kill_daemon(const FabricRef& fabric);

/// Connects to the daemon's socket. Returns the descriptor, or -1 with errno set. Requests to a
/// daemon that does not answer in time fail with EAGAIN.
int connect_daemon(const FabricRef& fabric);

/// Returns a sentence that says why a request over a connection of connect_daemon() failed.
std::string why_not(int error);

}  // namespace softib::app
