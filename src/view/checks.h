// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The health of a fabric as a list of checks, each with a verdict and the objects that failed it.
// telemetry/health.h makes them, in one way for all who show them: softib status and health, the
// page, UFM's reports and /metrics.

#include <cstdint>
#include <string>
#include <vector>

namespace softib::view {

enum class Severity : std::uint8_t { kInfo, kWarning, kMinor, kCritical };
const char* to_string(Severity severity);  ///< "Info", "Warning", "Minor", "Critical".

struct Check {
    std::string name;     ///< "links"
    Severity severity{};  ///< kInfo: the check has passed.
    std::string text;     ///< "2 of 40 cabled ports are not active"
    std::vector<std::string> objects;

    bool ok() const { return severity == Severity::kInfo; }
};

/// Returns the worst severity among the checks.
Severity worst(const std::vector<Check>& checks);

}  // namespace softib::view
