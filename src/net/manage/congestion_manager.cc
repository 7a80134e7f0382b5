// SPDX-License-Identifier: BSD-2-Clause
#include "net/manage/congestion_manager.h"

#include <algorithm>
#include <variant>

#include "core/agent/congestion_rules.h"
#include "core/agent/from_fabric.h"
#include "core/agent/node.h"
#include "core/base/check.h"
#include "core/wire/cc/cc.h"

namespace softib::net {

namespace {

template <typename Setting>
wire::MadBytes set_request(wire::CcAttribute attribute, std::uint32_t modifier,
                           const Setting& setting) {
    wire::MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kCongestion,
                  .class_version = wire::kCcClassVersion,
                  .method = wire::Method::kSet,
                  .transaction_id = 1,
                  .attribute_id = static_cast<std::uint16_t>(attribute),
                  .attribute_modifier = modifier}
        .emit(wire::Mad<std::uint8_t>(mad));
    wire::emit(setting, wire::Cc<std::uint8_t>(mad).data());
    return mad;
}

void send_all(agent::Node& node, std::uint8_t port, const std::vector<wire::MadBytes>& requests) {
    for (const wire::MadBytes& request : requests) {
        const auto answer = node.receive_congestion(request, port, 0);
        SOFTIB_CHECK(answer && wire::Mad<const std::uint8_t>(*answer).status() == 0);
    }
}

}  // namespace

std::vector<wire::MadBytes> switch_requests(const CongestionControl& control) {
    namespace map = wire::switch_control_map;
    wire::SwitchCongestionSetting setting{
        .control_map = map::kVictimMask | map::kThresholdAndPacketSize | map::kMarkingRate,
        .threshold = control.marking.threshold,
        .packet_size = control.marking.packet_blocks,
        .marking_rate = control.marking.marking_rate};
    setting.victim_mask.fill(control.marking.victims_mark ? std::uint8_t{0xFF} : std::uint8_t{0});
    return {set_request(wire::CcAttribute::kSwitchCongestionSetting, 0, setting)};
}

std::vector<wire::MadBytes> adapter_requests(const CongestionControl& control) {
    std::vector<wire::MadBytes> requests;
    wire::CongestionControlTable block{.ccti_limit = control.table.limit};
    constexpr std::uint32_t kEach = block.entry.size();
    for (std::uint32_t first = 0; first < control.table.entry.size(); first += kEach) {
        for (std::uint32_t i = 0; i < kEach; ++i) {
            const link::DelayTable::Entry& entry = control.table.entry[first + i];
            block.entry[i] = {.cct_shift = entry.shift, .cct_multiplier = entry.multiplier};
        }
        requests.push_back(
            set_request(wire::CcAttribute::kCongestionControlTable, first / kEach, block));
    }
    wire::CaCongestionSetting setting{
        .port_control = control.by_level ? wire::kCongestionPortControlSl : std::uint16_t{0},
        .control_map = 0xFFFF};
    setting.entry.fill({.ccti_timer = control.injection.timer,
                        .ccti_increase = control.injection.increase,
                        .trigger_threshold = control.injection.trigger,
                        .ccti_min = control.injection.minimum});
    requests.push_back(set_request(wire::CcAttribute::kCaCongestionSetting, 0, setting));
    return requests;
}

void write_marking(Plant& plant, std::uint32_t node, const agent::CongestionAgent& agent) {
    for (std::uint8_t port = 0; port < plant.ports_of(node); ++port) {
        plant.set_port_marking(plant.port_of(node, port), agent::marking_rule(agent, port));
    }
}

void manage_congestion(
    Plant& plant, const topo::Fabric& fabric, const CongestionControl& control,
    const std::function<std::uint32_t(std::uint32_t node)>& node_in_plant,
    const std::function<void(std::uint32_t port, const link::InjectionControl&)>& slow_down) {
    const std::vector<wire::MadBytes> to_switch = switch_requests(control);
    const std::vector<wire::MadBytes> to_adapter = adapter_requests(control);
    for (std::uint32_t number = 0; number < fabric.nodes.size(); ++number) {
        const std::uint32_t id = node_in_plant(number);
        if (id == kNone) {
            continue;
        }
        agent::Node node(agent::node_spec(fabric, fabric.nodes[number]));
        const std::uint8_t first = node.is_switch() ? 0 : 1;
        const std::uint8_t last = node.is_switch() ? 0 : node.port_count();
        for (std::uint8_t port = first; port <= last; ++port) {
            send_all(node, port, node.is_switch() ? to_switch : to_adapter);
        }
        bool marks = false;
        std::uint64_t written = 0;  // Bit n: port n.
        while (const auto update = node.poll_update()) {
            marks |= std::holds_alternative<agent::MarkingUpdate>(*update);
            if (const auto* const injection = std::get_if<agent::InjectionUpdate>(&*update)) {
                written |= std::uint64_t{1} << injection->port;
            }
        }
        if (marks) {
            write_marking(plant, id, node.congestion(0));
        }
        for (std::uint8_t port = 1; port <= node.port_count() && written != 0; ++port) {
            if ((written >> port & 1) != 0 && plant.connected(plant.port_of(id, port))) {
                slow_down(plant.port_of(id, port), agent::injection_control(node.congestion(port)));
            }
        }
    }
}

}  // namespace softib::net
