// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The health of a fabric as a list of checks, each with a verdict and the objects that failed it.

#include <string>
#include <vector>

#include "telemetry/events.h"
#include "telemetry/snapshot.h"

namespace softib::telemetry {

struct Check {
    std::string name;     ///< "links"
    Severity severity{};  ///< kInfo: the check has passed.
    std::string text;     ///< "2 of 40 cabled ports are not active"
    std::vector<std::string> objects;

    bool ok() const { return severity == Severity::kInfo; }
};

std::vector<Check> check_health(const Snapshot& snapshot, const std::vector<Event>& alarms);

/// Checks the fabric against a topology that was saved when all was well.
Check check_topology(const Inventory& expected, const Inventory& found);

/// Returns the worst severity among the checks.
Severity worst(const std::vector<Check>& checks);

}  // namespace softib::telemetry
