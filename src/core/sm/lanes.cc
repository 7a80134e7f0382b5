// SPDX-License-Identifier: BSD-2-Clause
// Virtual lanes: writes which VL a service level takes on every port, and how VLs take turns. A
// routing engine that needs VLs against deadlocks decides; else the user's settings do, if quality
// of service is on; else all stays as at power-up.
#include <algorithm>
#include <utility>

#include "core/sm/lane_requests.h"
#include "core/sm/manager.h"
#include "core/sm/set_request.h"

namespace softib::sm {

namespace {

using wire::SlToVlMappingTable;
using wire::SmAttribute;

}  // namespace

bool Manager::routing_needs_lanes() const {
    return !tables_.sl_to_vl.empty() || tables_.vls > 1;
}

std::uint8_t Manager::data_vls(const SubnetPort& port) const {
    return data_vls_of(std::min(port.info.operational_vls, config_.qos.max_op_vls));
}

/// Returns the number of data VLs that every link has.
std::uint8_t Manager::common_data_vls() const {
    std::uint8_t least = data_vls_of(kMaxOpVlsAll);
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        for (const SubnetPort& port : subnet_.node(i).ports) {
            if (subnet_.node(i).present && port.known && port.peer != kNoNode) {
                least = std::min(least, data_vls(port));
            }
        }
    }
    return least;
}

/// Returns the SL2VL table of a port for which the routing engine gave none: the user's table, or
/// SL modulo VLs if there is none or if the engine relies on VL = SL.
SlToVlMappingTable Manager::lanes_of(const SubnetPort& port) const {
    const std::uint8_t vls = data_vls(port);
    return routing_needs_lanes() ? spread(vls) : lane_table(config_.qos, vls);
}

void Manager::forget_lanes(SubnetNode& node) {
    node.sl2vl.clear();
    for (SubnetPort& port : node.ports) {
        port.vl_arbitration.clear();
    }
}

/// Writes the SL2VL tables of a whole switch by one packet, if one table fits all ports. Returns
/// false if none does.
bool Manager::queue_uniform_sl_to_vl(NodeIndex index) {
    SubnetNode& node = subnet_.node(index);
    const SlToVlMappingTable table = lanes_of(node.ports[0]);
    if (node.switch_info.optimized_sl_to_vl_mapping_programming == 0 || !node.sl2vl.empty() ||
        !std::ranges::all_of(node.ports,
                             [&](const auto& port) { return lanes_of(port) == table; })) {
        return false;
    }
    constexpr std::uint32_t kModifier = kAllInPorts | kAllOutPorts;
    queue(set_request({Purpose::kSetSlToVl, 0, index, kModifier}, node.path,
                      SmAttribute::kSlToVlMappingTable, kModifier, table));
    const std::size_t ports = node.ports.size();
    node.sl2vl.assign(ports, std::vector<SlToVlMappingTable>(ports, table));
    return true;
}

void Manager::queue_sl_to_vl(NodeIndex index, std::uint32_t rank) {
    SubnetNode& node = subnet_.node(index);
    if (!routing_needs_lanes() && !config_.qos.on && node.sl2vl.empty()) {
        return;
    }
    if (tables_.sl_to_vl.empty() && queue_uniform_sl_to_vl(index)) {
        return;
    }
    const std::size_t ports = node.ports.size();
    node.sl2vl.resize(ports);
    for (std::size_t out = 0; out < ports; ++out) {
        const SlToVlMappingTable plain = lanes_of(node.ports[out]);
        std::vector<SlToVlMappingTable> wanted(ports, plain);
        for (std::size_t in = 0; !tables_.sl_to_vl.empty() && in < ports; ++in) {
            wanted[in].vl = tables_.sl_to_vl.row(rank, static_cast<std::uint8_t>(in),
                                                 static_cast<std::uint8_t>(out));
        }
        std::vector<SlToVlMappingTable>& has = node.sl2vl[out];
        if (wanted == has) {
            continue;
        }
        // If all in ports have the same table, one packet writes them all.
        const bool uniform =
            std::ranges::all_of(wanted, [&](const auto& w) { return w == wanted[0]; });
        const auto number = static_cast<std::uint8_t>(out);
        if (uniform && node.switch_info.optimized_sl_to_vl_mapping_programming != 0) {
            const std::uint32_t modifier = kAllInPorts | number;
            queue(set_request({Purpose::kSetSlToVl, number, index, modifier}, node.path,
                              SmAttribute::kSlToVlMappingTable, modifier, wanted[0]));
        } else {
            for (std::size_t in = 0; in < ports; ++in) {
                if (in < has.size() && wanted[in] == has[in]) {
                    continue;
                }
                const auto modifier = static_cast<std::uint32_t>(in << 8 | out);
                queue(set_request({Purpose::kSetSlToVl, number, index, modifier}, node.path,
                                  SmAttribute::kSlToVlMappingTable, modifier, wanted[in]));
            }
        }
        has = std::move(wanted);
    }
}

/// Queues the SL2VL tables of HCA ports, and the VL arbitration of all ports.
void Manager::queue_port_lanes() {
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        const SubnetNode& node = subnet_.node(i);
        for (std::size_t p = 0; node.present && p < node.ports.size(); ++p) {
            const SubnetPort& port = node.ports[p];
            const bool management_port = node.is_switch() && p == 0;
            if (!port.known ||
                (management_port ? !node.switch_info.enhanced_port0 : port.peer == kNoNode)) {
                continue;
            }
            const EndPort end{i, static_cast<std::uint8_t>(p)};
            if (!node.is_switch()) {
                queue_host_sl_to_vl(end);
            }
            if (config_.qos.on) {
                queue_arbitration(end);
            }
        }
    }
}

void Manager::queue_host_sl_to_vl(EndPort end) {
    SubnetNode& node = subnet_.node(end.node);
    if (!routing_needs_lanes() && !config_.qos.on && node.sl2vl.empty()) {
        return;
    }
    SlToVlMappingTable wanted = lanes_of(subnet_.port(end));
    if (!tables_.sl_to_vl.empty()) {
        wanted.vl = tables_.sl_to_vl.host_row();
    }
    node.sl2vl.resize(node.ports.size());
    std::vector<SlToVlMappingTable>& has = node.sl2vl[end.port];  // An HCA has no in ports.
    if (has.size() == 1 && has[0] == wanted) {
        return;
    }
    has.assign(1, wanted);
    queue(set_request({Purpose::kSetSlToVl, end.port, end.node, 0}, node.path,
                      SmAttribute::kSlToVlMappingTable, 0, wanted));
}

void Manager::queue_arbitration(EndPort end) {
    SubnetPort& port = subnet_.port(end);
    std::vector<SmpRequest> requests;
    list_arbitration_requests(config_.qos, end.port, data_vls(port), port.info, port.vl_arbitration,
                              requests);
    for (SmpRequest& request : requests) {
        request.purpose = {Purpose::kSetVlArb, end.port, end.node, request.modifier};
        request.path = subnet_.node(end.node).path;
        queue(std::move(request));
    }
}

}  // namespace softib::sm
