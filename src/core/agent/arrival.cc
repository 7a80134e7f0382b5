// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/arrival.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/mad/directed_route.h"
#include "core/wire/sharp/sharp.h"
#include "core/wire/sm/smp.h"

namespace softib::agent {

namespace {

using wire::MgmtClass;

MgmtClass class_of(const mad::Packet& packet) {
    return wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
}

/// Returns the port at which services of the node see a MAD that came in by `port`.
std::uint8_t service_port(const Node& node, std::uint8_t port) {
    return node.is_switch() ? std::uint8_t{0} : std::max<std::uint8_t>(port, 1);
}

/// Returns whether a MAD is for the PMA or the congestion control agent, so that it is dropped if
/// the agent does not answer it.
bool is_for_service_agent(const mad::Packet& packet) {
    const wire::Method method = wire::Mad<const std::uint8_t>(packet.mad).method();
    const MgmtClass c = class_of(packet);
    return (c == MgmtClass::kPerf || c == MgmtClass::kCongestion) &&
           (method == wire::Method::kGet || method == wire::Method::kSet);
}

bool asks_for_aggregation_counters(const wire::MadBytes& mad) {
    const wire::Mad<const std::uint8_t> view(mad);
    return view.mgmt_class() == MgmtClass::kSharp &&
           view.attribute_id() ==
               static_cast<std::uint16_t>(wire::SharpAttribute::kPerformanceCounters);
}

void turn_round(mad::Packet& packet, const wire::MadBytes& answer) {
    packet.mad = answer;
    std::swap(packet.slid, packet.dlid);
    std::swap(packet.source, packet.destination);
}

/// Returns whether QP1 of a port accepts a packet. An accepted packet gets the P_Key of the port's
/// own table that matched, because the answer carries that one: a sender that is a limited member
/// would not accept its own P_Key.
bool accepts(Node& node, std::uint8_t port, mad::Packet& packet) {
    wire::BadKeyTrap seen;
    seen.lid1 = packet.slid;
    seen.lid2 = packet.dlid;
    seen.sl = packet.sl;
    seen.qp1 = packet.source;
    seen.qp2 = packet.destination;
    seen.gid1 = Gid::from(node.port(port).gid_prefix, Guid{0});
    seen.gid2 = Gid::from(node.port(port).gid_prefix, node.spec().ports[port].guid);
    if (packet.qkey != mad::kQKeyServices) {
        seen.key = packet.qkey.value;
        node.bad_key(port, seen, true, 1);
        return false;
    }
    for (std::uint16_t i = 0; i < node.spec().pkeys; ++i) {
        if (matches(node.pkey(port, i), packet.pkey)) {
            packet.pkey = node.pkey(port, i);
            return true;
        }
    }
    seen.key = packet.pkey.value;
    node.bad_key(port, seen, false, 1);
    return false;
}

}  // namespace

bool is_subnet(const mad::Packet& packet) {
    const MgmtClass c = class_of(packet);
    return c == MgmtClass::kSubnLidRouted || c == MgmtClass::kSubnDirectedRoute;
}

Onward Arrival::depart(Node& node, End from, mad::Packet& packet, std::uint64_t now_ns) {
    if (packet.slid == kLidUnassigned) {
        packet.slid = node.port(node.base_port(from.port)).lid;
    }
    if (class_of(packet) == MgmtClass::kSubnDirectedRoute) {
        const wire::Smp<const std::uint8_t> smp(packet.mad);
        const bool first_by_lid = packet.dlid != kLidPermissive &&
                                  !node.owns_lid(from.port, packet.dlid) &&
                                  smp.dr_slid() != kLidPermissive && !smp.direction();
        if (!first_by_lid) {
            const std::uint8_t port = smp.direction() ? from.port : std::uint8_t{0};
            return pass_directed(node, {from.node, port}, packet, now_ns);
        }
    }
    return go_by_lid(node, from, packet, now_ns);
}

Onward Arrival::arrive(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns) {
    switch (class_of(packet)) {
        case MgmtClass::kSubnDirectedRoute:
            return pass_directed(node, at, packet, now_ns);
        case MgmtClass::kSubnLidRouted:
            return arrive_smp(node, at, packet, now_ns);
        default:
            return arrive_service(node, at, packet, now_ns);
    }
}

/// Forwards a MAD by LID; one that the node sends to itself has arrived. The recursion ends, since
/// an answer is not answered and each part of a directed route is passed once.
Onward Arrival::go_by_lid(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns) {
    if (node.owns_lid(at.port, packet.dlid)) {
        return arrive(node, at, packet, now_ns);
    }
    return {Onward::kByLid, service_port(node, at.port)};
}

Onward Arrival::pass_directed(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns) {
    const mad::RouteStep step =
        mad::step_directed_route(packet.mad, at.port, node.is_switch(), node.port_count());
    switch (step.kind) {
        case mad::RouteStep::kForward:
            return {Onward::kOutOfPort, step.port};
        case mad::RouteStep::kByLid: {
            const wire::Smp<const std::uint8_t> smp(packet.mad);
            packet.dlid = smp.direction() ? smp.dr_slid() : smp.dr_dlid();
            return go_by_lid(node, at, packet, now_ns);
        }
        case mad::RouteStep::kToAgent:
            return arrive_smp(node, at, packet, now_ns);
        case mad::RouteStep::kToManager:
            return {Onward::kToService, service_port(node, at.port)};
        case mad::RouteStep::kDiscard:
            break;
    }
    return {};
}

/// Handles an SMP at its destination: the SMA answers it, or a manager on this node gets it.
Onward Arrival::arrive_smp(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns) {
    const auto method = wire::Mad<const std::uint8_t>(packet.mad).method();
    const bool is_response = (static_cast<unsigned>(method) & wire::kMethodResponseBit) != 0;
    if (is_response || Node::is_for_manager(packet.mad)) {
        return {Onward::kToService, service_port(node, at.port)};
    }
    const std::uint8_t in_port = node.is_switch() ? at.port : std::max<std::uint8_t>(at.port, 1);
    const auto answer = node.receive_smp(packet.mad, in_port, now_ns, packet.slid);
    if (!answer) {
        return {};
    }
    const bool directed = class_of(packet) == MgmtClass::kSubnDirectedRoute;
    turn_round(packet, *answer);
    if (directed) {
        wire::Smp<std::uint8_t>(packet.mad).set_direction(true);
        return pass_directed(node, at, packet, now_ns);
    }
    return go_by_lid(node, {at.node, in_port}, packet, now_ns);
}

Onward Arrival::arrive_service(Node& node, End at, mad::Packet& packet, std::uint64_t now_ns) {
    const std::uint8_t port = node.base_port(at.port);
    if (packet.destination != mad::kQpnServices || !accepts(node, port, packet)) {
        return {};
    }
    auto answer = perf_.answer(node, at.node, packet.mad, counters_);
    if (!answer) {
        answer = node.receive_congestion(packet.mad, port, now_ns);
    }
    if (!answer) {
        if (asks_for_aggregation_counters(packet.mad)) {
            counters_.refresh();
            node.set_aggregation_counts(counters_.read_aggregation(at.node));
        }
        answer = node.receive_aggregation(packet.mad);
    }
    if (answer) {
        turn_round(packet, *answer);
        return go_by_lid(node, {at.node, port}, packet, now_ns);
    }
    if (is_for_service_agent(packet)) {
        return {};
    }
    return {Onward::kToService, port};
}

}  // namespace softib::agent
