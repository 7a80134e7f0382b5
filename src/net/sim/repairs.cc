// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/repairs.h"

#include <algorithm>
#include <utility>

namespace softib::net {

std::vector<Change> plan_changes(const std::vector<Failure>& failures, TimePs repair_ps) {
    std::vector<Change> changes;
    for (const Failure& failure : failures) {
        if (failure.at == 0) {
            continue;
        }
        changes.push_back({failure.at, false, failure.what});
        if (repair_ps != kNever) {
            changes.push_back({failure.at + repair_ps, true, {}});
        }
    }
    std::ranges::stable_sort(changes, {}, &Change::at);
    return changes;
}

std::optional<Routed> repair_routes(const topo::Fabric& damaged, const RepairOptions& options,
                                    std::vector<std::string>& engines,
                                    std::vector<std::string>& notes) {
    auto routed = Routed::repair(damaged, engines, options.data_vls, options.adaptive, notes);
    if (!routed) {
        notes.push_back("no engine could route the damaged fabric: it keeps its routes");
        return std::nullopt;
    }
    if (options.misses_choice && !routed->has_choice()) {
        notes.push_back("the new routes leave switches no choice");
    }
    return *std::move(routed);
}

}  // namespace softib::net
