// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Starting and ending a fabric's daemon.

#include <sys/types.h>

#include <expected>
#include <string>

#include "app/fabric/fabric_dir.h"
#include "spec/description.h"

namespace softib::app {

/// What softibd writes to its --ready-fd: lines that begin so tell what it does, for the user to
/// see; then comes kReady, or an error.
inline constexpr char kStagePrefix[] = "stage: ";
inline constexpr char kReady[] = "ready\n";

/// Makes the fabric's directory and writes its description there, with the netlist that it names.
/// The caller holds lock_base_dir().
std::expected<void, std::string> prepare_fabric(const FabricRef& fabric,
                                                spec::Description description);

/// Starts softibd on a prepared directory and waits until programs can attach. lifeline_fd >= 0:
/// the daemon ends when the other end of that pipe closes. On failure the message is the
/// daemon's own and the directory is gone.
std::expected<pid_t, std::string> start_daemon(const FabricRef& fabric, int lifeline_fd);

/// Replaces this process by the daemon, which stays on the terminal. Returns only on failure.
std::string exec_daemon_in_foreground(const FabricRef& fabric);

/// Asks the daemon to end and waits until it has removed the directory. The error says why it
/// did not.
std::expected<void, std::string> stop_daemon(const FabricRef& fabric);

/// The same without a word to the daemon, which may be of any version.
std::expected<void, std::string> signal_daemon(const FabricRef& fabric);

/// Ends a daemon that does not answer, and removes what it leaves.
std::expected<void, std::string> kill_daemon(const FabricRef& fabric);

/// Connects to the daemon for asking things; a daemon that hangs makes calls fail with EAGAIN.
int connect_daemon(const FabricRef& fabric);

/// Says why the daemon did not do what it was asked over such a connection.
std::string why_not(int error);

}  // namespace softib::app
