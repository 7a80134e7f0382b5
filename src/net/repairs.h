// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What becomes of a fabric during a run: cables and switches fail, and after a while the subnet
// manager has new routes without them. Every part of a fabric that several engines carry does the
// same at the same times.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/fabric.h"
#include "net/failures.h"

namespace softib::net {

/// What happens to the fabric at a time.
struct Change {
    TimePs at = 0;
    bool repair = false;  ///< New routes; else something fails:
    Hop what;
};

/// Returns what happens during a run, in order. `repair_ps`: from a failure to new routes; kNever:
/// there are none.
std::vector<Change> plan_changes(const std::vector<Failure>& failures, TimePs repair_ps);

/// What a manager would have to know to route a damaged fabric.
struct RepairOptions {
    std::uint8_t data_vls = 1;
    bool adaptive = false;
    bool misses_choice = false;  ///< Says so if the new routes leave switches no choice.
};
/// Returns the new routes of a damaged fabric, in each subnet by its engine of `engines` if that
/// still can, and sets `engines` to those that could. Returns std::nullopt if none could; then the
/// fabric keeps its routes. Appends to `notes` what the user should know.
std::optional<Routed> repair_routes(const topo::Fabric& damaged, const RepairOptions& options,
                                    std::vector<std::string>& engines,
                                    std::vector<std::string>& notes);

}  // namespace softib::net
