// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Starts softib-telemetry beside a fabric: the program that samples the fabric, keeps its history
// and serves it over HTTP. Its files are below telemetry/ in the fabric's directory.

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

#include "app/fabric/fabric_dir.h"

namespace softib::app {

/// The name of softib-telemetry among the daemon's helpers.
inline constexpr char kTelemetryHelper[] = "telemetry";

/// Returns the path of softib-telemetry.
std::string telemetry_program();

/// Starts softib-telemetry for a fabric (softib up --telemetry), and returns its pid.
std::expected<pid_t, std::string> start_telemetry(const FabricRef& fabric);

/// Checks that softib-telemetry is installed, if it is wanted: it is a package of its own.
std::expected<void, std::string> check_telemetry(bool wanted);

}  // namespace softib::app
