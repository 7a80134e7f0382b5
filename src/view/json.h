// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Views as JSON. Numbers, with LIDs and counts, are JSON numbers. GUIDs are strings, as tools print
// them.

#include <nlohmann/json.hpp>

#include <vector>

#include "view/checks.h"
#include "view/manager.h"
#include "view/status.h"
#include "view/topology.h"

namespace softib::view {

using Json = nlohmann::ordered_json;

Json to_json(const std::vector<Check>& checks);
Json to_json(const Status& status);
Json to_json(const Topology& topology);
Json to_json(const Manager& manager);

}  // namespace softib::view
