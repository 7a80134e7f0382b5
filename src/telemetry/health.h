// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The one evaluation of a fabric's health (view/checks.h).

#include <vector>

#include "telemetry/events.h"
#include "telemetry/snapshot.h"
#include "view/checks.h"

namespace softib::telemetry {

using view::Check;
using view::worst;

std::vector<Check> check_health(const Snapshot& snapshot, const std::vector<Event>& alarms);

/// Checks the fabric against a topology that was saved when all was well.
Check check_topology(const Inventory& expected, const Inventory& found);

}  // namespace softib::telemetry
