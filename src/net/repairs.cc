// SPDX-License-Identifier: BSD-2-Clause
#include "net/repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace softib::net {

std::string refusal_of(const std::string& engine, const std::string& other) {
    return fmt::format("{} refuses the damaged fabric; its routes are by {}", engine, other);
}

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
                                    std::string& engine, std::vector<std::string>& notes) {
    for (const std::string& name : {engine, std::string(kAnyEngine)}) {
        auto routed = Routed::make(damaged, name, options.data_vls, options.adaptive);
        if (!routed) {
            continue;
        }
        if (name != engine) {
            notes.push_back(refusal_of(engine, routed->tables.engine));
            engine = routed->tables.engine;
        }
        if (options.misses_choice && routed->tables.groups.empty()) {
            notes.push_back("the new routes leave switches no choice");
        }
        return *std::move(routed);
    }
    notes.push_back("no engine could route the damaged fabric: it keeps its routes");
    return std::nullopt;
}

}  // namespace softib::net
