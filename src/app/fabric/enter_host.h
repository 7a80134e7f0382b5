// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Starting a program on a virtual host: what `softib exec` and `softib run` share.

#include <expected>
#include <string>
#include <vector>

#include "app/fabric/environment.h"
#include "app/fabric/fabric_dir.h"

namespace softib::app {

/// Checks the host, and writes its /sys and /dev tree. The error, for the user, lists the hosts
/// that there are.
std::expected<HostEnvironment, std::string> prepare_host(const FabricRef& fabric,
                                                         const std::string& host);

/// Makes the host's /sys and /dev real for this process and its children, by a mount namespace; a
/// user without the right to mount gets a user namespace too. Also makes the host's name real, by a
/// UTS namespace and /etc/hosts. The error says what the system forbids.
std::expected<void, std::string> enter_namespace(const HostEnvironment& host);

/// Becomes the program. Returns only on failure, with the shell's exit status for it (126, 127).
int become_program(const HostEnvironment& host, const std::vector<std::string>& command);

}  // namespace softib::app
