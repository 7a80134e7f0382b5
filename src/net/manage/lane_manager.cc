// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/lane_manager.h"

#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "core/agent/from_fabric.h"
#include "core/sm/lane_requests.h"
#include "core/sm/set_request.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/port_info.h"
#include "net/manage/arbitration.h"
#include "net/manage/ask_agent.h"

namespace softib::net {

namespace {

using wire::SmAttribute;

/// Writes lanes into the agent of one node, as sm::Manager does.
class LaneWriter {
  public:
    LaneWriter(agent::Node& node, const sm::QosConfig& config) : node_(node), config_(config) {}

    void write_port(std::uint8_t port) {
        const std::uint8_t in_port = node_.is_switch() ? std::uint8_t{0} : port;
        wire::PortInfo info = node_.port(port);
        // All ports of a simulation have the same lanes, so the other end has the same VLCap.
        sm::set_lane_fields(config_, info.vl_cap, info);
        sm::clear_wishes(info);
        ask_agent(node_, in_port, sm::set_request({}, {}, SmAttribute::kPortInfo, port, info));
        std::vector<wire::VlArbitrationTable> written;
        std::vector<sm::SmpRequest> requests;
        sm::list_arbitration_requests(config_, port, data_vls(port), info, written, requests);
        for (const sm::SmpRequest& request : requests) {
            ask_agent(node_, in_port, request);
        }
    }
    void write_sl_to_vl() {
        const std::uint32_t modifier =
            node_.is_switch() ? sm::kAllInPorts | sm::kAllOutPorts : std::uint32_t{0};
        const std::uint8_t first = node_.is_switch() ? 0 : 1;
        const std::uint8_t last = node_.is_switch() ? 0 : node_.port_count();
        for (std::uint8_t port = first; port <= last; ++port) {
            ask_agent(node_, port,
                      sm::set_request({}, {}, SmAttribute::kSlToVlMappingTable, modifier,
                                      sm::lane_table(config_, data_vls(1))));
        }
    }

  private:
    std::uint8_t data_vls(std::uint8_t port) const {
        return sm::data_vls_of(node_.port(port).operational_vls);
    }

    agent::Node& node_;
    const sm::QosConfig& config_;
};

/// Applies to the engine what a node has accepted. `keeps_lanes`: SL2VL tables stay as they are.
void follow_lanes(Engine& engine, std::uint32_t id, agent::Node& node, bool keeps_lanes) {
    while (const auto update = node.poll_update()) {
        const auto* const lanes = std::get_if<agent::LaneUpdate>(&*update);
        if (lanes != nullptr && !keeps_lanes) {
            write_lanes(engine, id, node, lanes->port);
        } else if (const auto* const turns = std::get_if<agent::ArbitrationUpdate>(&*update)) {
            write_arbitration(engine, id, node, turns->port);
        }
    }
}

}  // namespace

void write_lanes(Engine& engine, std::uint32_t node, const agent::Node& agent, std::uint8_t out) {
    const std::uint8_t ins =
        agent.is_switch() ? static_cast<std::uint8_t>(agent.port_count() + 1) : std::uint8_t{1};
    for (std::uint8_t in = 0; in < ins; ++in) {
        std::array<std::uint8_t, 16> row{};
        for (std::uint8_t sl = 0; sl < row.size(); ++sl) {
            row[sl] = agent.vl(in, out, sl);
        }
        engine.plant().set_lanes(node, in, out, row);
    }
}

void write_arbitration(Engine& engine, std::uint32_t node, const agent::Node& agent,
                       std::uint8_t port) {
    const auto table = agent.arbitration(port);
    if (!table.empty() && (port != 0 || agent.is_switch())) {
        engine.ports().set_arbitration(engine.plant().port_of(node, port),
                                       parse_arbitration(table, agent.port(port).vl_high_limit));
    }
}

void manage_lanes(Engine& engine, const topo::Fabric& fabric, const sm::QosConfig& config,
                  bool routes_need_lanes,
                  const std::function<std::uint32_t(std::uint32_t node)>& node_in_engine) {
    for (std::uint32_t number = 0; number < fabric.nodes.size(); ++number) {
        const std::uint32_t id = node_in_engine(number);
        if (id == kNone) {
            continue;
        }
        agent::NodeSpec spec = agent::node_spec(fabric, fabric.nodes[number]);
        spec.data_vls = engine.plant().config().data_vls;
        agent::Node node(std::move(spec));
        LaneWriter writer(node, config);
        for (std::uint8_t port = 1; port <= node.port_count(); ++port) {
            writer.write_port(port);
        }
        if (!routes_need_lanes && node.port_count() != 0) {
            writer.write_sl_to_vl();
        }
        follow_lanes(engine, id, node, routes_need_lanes);
    }
}

}  // namespace softib::net
