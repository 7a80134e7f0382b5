// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/adaptive_manager.h"

#include <utility>
#include <variant>
#include <vector>

#include "core/agent/node.h"
#include "core/base/check.h"
#include "core/sm/adaptive_tables.h"
#include "net/manage/ask_agent.h"

namespace softib::net {

namespace {

agent::Node make_switch(std::uint8_t ports) {
    agent::NodeSpec spec;
    spec.type = wire::NodeType::kSwitch;
    spec.private_tables = true;
    spec.ports.resize(ports);
    return agent::Node(std::move(spec));
}

}  // namespace

void manage_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                            const routing::Tables& tables, std::uint32_t sw) {
    agent::Node to = make_switch(plant.ports_of(node));
    sm::SmpRequest question;
    question.attribute = wire::SmAttribute::kAdaptiveRoutingInfo;
    const auto info = wire::parse<wire::AdaptiveRoutingInfo>(ask_agent(to, 0, question));
    SOFTIB_CHECK(sm::long_way_groups(graph, tables, sw) <= info.group_cap);
    std::vector<sm::SmpRequest> requests;
    sm::list_adaptive_requests(
        sm::adaptive_tables(graph, tables, sw, info.group_cap, to.port_count()), {}, false,
        requests);
    for (const sm::SmpRequest& request : requests) {
        ask_agent(to, 0, request);
    }
    while (const auto update = to.poll_update()) {
        // The routes of all switches are there already (write_routes).
        if (std::holds_alternative<agent::AdaptiveUpdate>(*update)) {
            plant.set_adaptive(node, to.adaptive_table());
        }
    }
}

}  // namespace softib::net
