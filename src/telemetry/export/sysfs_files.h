// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot as a directory of plain files in the shape of /sys, for programs that our preloaded
// library does not reach, such as `prometheus-node-exporter --path.sysfs=DIR
// --collector.infiniband`. Every node is a device; '/' in its name becomes '_'.

#include <expected>
#include <string>

#include "telemetry/snapshot.h"

namespace softib::telemetry {

/// Writes all files below `directory`/class/infiniband. The error names the file.
std::expected<void, std::string> write_sysfs(const Snapshot& snapshot,
                                             const std::string& directory);

}  // namespace softib::telemetry
