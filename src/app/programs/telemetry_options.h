// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The command line of softib-telemetry, which `softib telemetry` and `softib serve` start.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/front.h"
#include "telemetry/export/metrics.h"
#include "telemetry/store/history.h"

namespace softib::app {

struct TelemetryOptions {
    // What is sampled is one of dir, umad (with use_umad) and recording.
    std::string dir;     ///< The directory of a softib fabric.
    std::string softib;  ///< The path of the softib command.
    std::string umad;    ///< The HCA whose subnet is sampled, as DEVICE or DEVICE:PORT.
    bool use_umad = false;
    std::string recording;  ///< The file that softib sim --record writes.
    std::string history;    ///< The file of the history; empty: one in the fabric's directory.
    std::uint64_t history_max = telemetry::kHistoryBytesDefault;
    std::string rules;
    std::string sysfs;
    bool check = false;   ///< Print the checks of health as JSON, and end.
    std::string compare;  ///< With check: a file with the topology as it should be.
    bool serve = false;
    bool allow_control = false;
    bool json = false;  ///< Print a line of JSON when it is ready: what is sampled, and the URL.
    std::vector<std::string> names;
    server::FrontConfig front;
    telemetry::MetricsOptions metrics;
};

/// Reads the command line. Prints what is wrong and returns std::nullopt if it is not valid.
std::optional<TelemetryOptions> parse_telemetry(int argc, char** argv);

}  // namespace softib::app
