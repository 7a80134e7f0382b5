// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/adaptive_manager.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "core/agent/node.h"
#include "core/base/check.h"
#include "core/sm/adaptive_tables.h"

namespace softib::net {

namespace {

agent::Node make_switch(std::uint8_t ports) {
    agent::NodeSpec spec;
    spec.type = wire::NodeType::kSwitch;
    spec.private_tables = true;
    spec.ports.resize(ports);
    return agent::Node(std::move(spec));
}

/// Returns the data of the answer.
std::array<std::uint8_t, wire::kSmpDataBytes> ask_agent(agent::Node& node,
                                                        const sm::SmpRequest& request) {
    wire::MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnLidRouted,
                  .method = request.method,
                  .transaction_id = 1,
                  .attribute_id = static_cast<std::uint16_t>(request.attribute),
                  .attribute_modifier = request.modifier}
        .emit(wire::Mad<std::uint8_t>(mad));
    std::ranges::copy(request.data, wire::Smp<std::uint8_t>(mad).data().begin());
    const auto answer = node.receive_smp(mad, 0, 0);
    SOFTIB_CHECK(answer && wire::Smp<const std::uint8_t>(*answer).status() == 0);
    std::array<std::uint8_t, wire::kSmpDataBytes> data{};
    std::ranges::copy(wire::Smp<const std::uint8_t>(*answer).data(), data.begin());
    return data;
}

}  // namespace

void manage_adaptive_switch(Plant& plant, std::uint32_t node, const routing::Graph& graph,
                            const routing::Tables& tables, std::uint32_t sw) {
    agent::Node to = make_switch(plant.ports_of(node));
    sm::SmpRequest question;
    question.attribute = wire::SmAttribute::kAdaptiveRoutingInfo;
    const auto info = wire::parse<wire::AdaptiveRoutingInfo>(ask_agent(to, question));
    SOFTIB_CHECK(sm::long_way_groups(graph, tables, sw) <= info.group_cap);
    std::vector<sm::SmpRequest> requests;
    sm::list_adaptive_requests(
        sm::adaptive_tables(graph, tables, sw, info.group_cap, to.port_count()), {}, false,
        requests);
    for (const sm::SmpRequest& request : requests) {
        ask_agent(to, request);
    }
    while (const auto update = to.poll_update()) {
        // The routes of all switches are there already (write_routes).
        if (std::holds_alternative<agent::AdaptiveUpdate>(*update)) {
            plant.set_adaptive(node, to.adaptive_table());
        }
    }
}

}  // namespace softib::net
