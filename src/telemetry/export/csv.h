// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot as comma-separated values, a line per port, with the head and the names that clients
// of UFM's telemetry read.

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/snapshot.h"

namespace softib::telemetry {

struct CsvOptions {
    std::string_view set = "metrics";  ///< "metrics": all counters; "minimal": traffic only.
    std::uint32_t shards = 1;          ///< Ports are dealt out to so many answers by their GUID,
    std::uint32_t shard = 0;           ///< of which this is one.
};

/// Returns std::nullopt if there is no such set.
std::optional<std::string> csv_text(const Snapshot& snapshot, const CsvOptions& options);

/// Returns a field with quotes where it needs them.
std::string csv_field(std::string_view text);

}  // namespace softib::telemetry
