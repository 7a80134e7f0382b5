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
    std::string dir;     ///< Of a fabric of ours; else:
    std::string softib;  ///< The command beside this program.
    std::string umad;    ///< The HCA, as DEVICE or DEVICE:PORT.
    bool use_umad = false;
    std::string recording;  ///< Or a file that softib sim --record writes.
    std::string history;    ///< The file; empty: in the fabric's directory.
    std::uint64_t history_max = telemetry::kHistoryBytesDefault;
    std::string rules;
    std::string sysfs;
    bool serve = false;
    bool allow_control = false;
    bool json = false;  ///< Tell as JSON when it is ready, and where.
    std::vector<std::string> names;
    server::FrontConfig front;
    telemetry::MetricsOptions metrics;
};

/// Returns std::nullopt after it has said what is wrong.
std::optional<TelemetryOptions> parse_telemetry(int argc, char** argv);

}  // namespace softib::app
