// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A snapshot as comma-separated values, a line per port. Head and names are those that clients of
// UFM's telemetry read.

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/snapshot.h"

namespace softib::telemetry {

struct CsvOptions {
    std::string_view set = "metrics";  ///< "metrics": all counters; "minimal": traffic only.
    std::uint32_t shards = 1;          ///< How many answers share the ports, by port GUID.
    std::uint32_t shard = 0;           ///< The number of this answer, from 0 on.
};

/// Returns the text. Returns std::nullopt if there is no set of this name.
std::optional<std::string> csv_text(const Snapshot& snapshot, const CsvOptions& options);

/// Returns a field of CSV, in quotes if it needs them.
std::string csv_field(std::string_view text);

}  // namespace softib::telemetry
