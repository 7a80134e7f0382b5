// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Changes of a fabric during a run: cables and switches fail, and after a while the subnet manager
// has new routes without them. If several engines carry the fabric, the engine of every part makes
// the same changes at the same times.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/sim/failures.h"
#include "net/sim/routed.h"

namespace softib::net {

/// Something that happens to the fabric at a time.
struct Change {
    TimePs at = 0;
    bool repair = false;  ///< The fabric gets new routes; otherwise `what` fails.
    Hop what;             ///< The cable or node that fails.
};

/// Returns what happens during a run, in order. `repair_ps`: time from a failure to new routes;
/// kNever: there are no new routes.
std::vector<Change> plan_changes(const std::vector<Failure>& failures, TimePs repair_ps);

/// What the subnet manager must know to route a damaged fabric.
struct RepairOptions {
    std::uint8_t data_vls = 1;
    bool adaptive = false;
    bool misses_choice = false;  ///< Adds a note if the new routes leave switches no choice.
};
/// Returns the new routes of a damaged fabric, in each subnet by its engine of `engines` if that
/// still can, and sets `engines` to those that could. Returns std::nullopt if none could; then the
/// fabric keeps its routes. Appends to `notes` what the user should know.
std::optional<Routed> repair_routes(const topo::Fabric& damaged, const RepairOptions& options,
                                    std::vector<std::string>& engines,
                                    std::vector<std::string>& notes);

}  // namespace softib::net
