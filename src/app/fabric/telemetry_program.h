// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// softib-telemetry beside a fabric: the program that samples it, keeps its history and serves it
// over HTTP. Its files are below telemetry/ in the fabric's directory.

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

/// Its name among the daemon's helpers.
inline constexpr char kTelemetryHelper[] = "telemetry";

/// Returns the program's path.
std::string telemetry_program();

/// Starts it for a fabric (softib up --telemetry), and returns its pid.
std::expected<pid_t, std::string> start_telemetry(const FabricRef& fabric);

/// Whether a fabric of this description can have it: it is a package of its own.
std::expected<void, std::string> check_telemetry(bool wanted);

}  // namespace softib::app
