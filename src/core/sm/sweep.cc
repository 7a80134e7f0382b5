// SPDX-License-Identifier: BSD-2-Clause
// Discovery: from the manager's own port outwards, one NodeInfo per cable. A sweep after a trap
// reads only the ports of the switches that sent one, and goes on behind ports whose link came up.
#include <algorithm>

#include "core/sm/manager.h"
#include "core/wire/sm/p_key_table.h"

namespace softib::sm {

namespace {

using wire::kPKeyBlock;
using wire::PortPhysicalState;
using wire::PortState;
using wire::SmAttribute;

bool link_is_up(const wire::PortInfo& info) {
    return info.port_physical_state == PortPhysicalState::kLinkUp &&
           info.port_state >= PortState::kInit;
}

}  // namespace

void Manager::begin_full() {
    full_sweep_ = true;
    ++stats_.sweeps_full;
    queue(get(Purpose::kNodeInfo, SmAttribute::kNodeInfo, {}, kNoNode, 0, 0));
}

void Manager::begin_partial() {
    full_sweep_ = false;
    ++stats_.sweeps_partial;
    // The nearest switches come first, since their answers may change the way to the others.
    std::vector<NodeIndex> order(dirty_.begin(), dirty_.end());
    std::ranges::sort(order, {}, [&](NodeIndex i) { return subnet_.node(i).path.hops; });
    for (const NodeIndex index : order) {
        if (subnet_.node(index).present) {
            subnet_.node(index).seen = sweep_;
            read_switch_ports(index);
        }
    }
    dirty_.clear();
}

void Manager::read_switch_ports(NodeIndex index) {
    const SubnetNode& node = subnet_.node(index);
    queue(get(Purpose::kSwitchInfo, SmAttribute::kSwitchInfo, node.path, index, 0, 0));
    for (std::size_t port = 0; port < node.ports.size(); ++port) {
        queue(get(Purpose::kPortInfo, SmAttribute::kPortInfo, node.path, index,
                  static_cast<std::uint8_t>(port), static_cast<std::uint32_t>(port)));
    }
}

void Manager::read_node(NodeIndex index) {
    const SubnetNode& node = subnet_.node(index);
    queue(get(Purpose::kNodeDescription, SmAttribute::kNodeDescription, node.path, index, 0, 0));
    if (node.is_switch()) {
        read_switch_ports(index);
        if (config_.adaptive_routing) {
            queue(get(Purpose::kAdaptiveInfo, SmAttribute::kAdaptiveRoutingInfo, node.path, index,
                      0, 0));
        }
    } else {
        queue(get(Purpose::kPortInfo, SmAttribute::kPortInfo, node.path, index, node.entry_port,
                  node.entry_port));
    }
    const std::uint8_t addressed = node.is_switch() ? std::uint8_t{0} : node.entry_port;
    for (std::uint32_t block = 0; block * kPKeyBlock < node.info.partition_cap; ++block) {
        queue(get(Purpose::kPKeyTable, SmAttribute::kPKeyTable, node.path, index, addressed,
                  std::uint32_t{addressed} << 16 | block));
    }
}

void Manager::got_pkeys(const SmpAnswer& answer) {
    std::vector<PKey>& pkeys = subnet_.port({answer.purpose.node, answer.purpose.port}).pkeys;
    const auto table = wire::parse<wire::PKeyTable>(answer.data);
    const std::size_t first = std::size_t{answer.purpose.index & 0xFFFF} * kPKeyBlock;
    pkeys.resize(std::max(pkeys.size(), first + kPKeyBlock));
    std::ranges::copy(table.pkey, pkeys.begin() + static_cast<std::ptrdiff_t>(first));
}

/// Asks for the NodeInfo of the node behind a port.
void Manager::probe(EndPort from) {
    DirectedPath path = subnet_.node(from.node).path;
    if (path.hops == kHopsMax) {
        return;
    }
    path.ports[++path.hops] = from.port;
    queue(get(Purpose::kNodeInfo, SmAttribute::kNodeInfo, path, from.node, from.port, 0));
}

void Manager::found(const SmpAnswer& answer) {
    const auto info = wire::parse<wire::NodeInfo>(answer.data);
    const bool is_root = answer.purpose.node == kNoNode;
    const std::uint8_t arrival = is_root ? config_.port : info.local_port_num.value;
    if (arrival > info.num_ports) {
        return;
    }
    NodeIndex index = subnet_.find(info.node_guid);
    const bool is_new = index == kNoNode;
    if (is_new) {
        index = subnet_.add(info);
    }
    SubnetNode& node = subnet_.node(index);
    // A node is back too if a cable leads to it again but its port was not read since it was gone.
    const bool returned =
        is_new || !node.present || !node.ports[node.is_switch() ? 0 : arrival].known;
    node.info = info;
    const bool first_time = node.seen != sweep_ && (full_sweep_ || returned);
    if (is_root) {
        root_ = index;
        node.path = {};
        node.entry_port = arrival;
        node.present = true;
    } else {
        const EndPort near{answer.purpose.node, answer.purpose.port};
        SubnetPort& port = subnet_.port(near);
        if (port.peer != index || port.peer_port != arrival) {
            subnet_.connect(near, {index, arrival});
            topology_changed_ = true;
        }
        port.seen = sweep_;
        node.ports[arrival].seen = sweep_;
        if (first_time) {
            node.path = subnet_.node(near.node).path;
            node.path.ports[++node.path.hops] = near.port;
            node.entry_port = arrival;
        }
    }
    if (!node.is_switch()) {
        node.ports[arrival].guid = info.port_guid;
    } else {
        node.ports[0].guid = info.port_guid;
    }
    if (first_time) {
        node.seen = sweep_;
        if (returned) {
            node.tables_known = false;
            node.present = true;
            topology_changed_ = true;
            forget_lanes(node);
        }
        read_node(index);
    } else if (!is_root) {
        // If the link has trained anew, both of its ports were reset.
        queue(get(Purpose::kPortInfo, SmAttribute::kPortInfo, node.path, index, arrival, arrival));
        if (node.is_switch()) {
            queue(get(Purpose::kPortInfo, SmAttribute::kPortInfo, node.path, index, 0, 0));
        }
    }
}

void Manager::got_port_info(const SmpAnswer& answer) {
    const EndPort end{answer.purpose.node, answer.purpose.port};
    SubnetNode& node = subnet_.node(end.node);
    SubnetPort& port = subnet_.port(end);
    port.info = wire::parse<wire::PortInfo>(answer.data);
    port.known = true;
    if (answer.purpose.kind != Purpose::kPortInfo) {
        return;
    }
    if (port.guid.value != 0 && port.guid != config_.port_guid) {
        if ((port.info.capability_mask & wire::port_capability::kIsSM) != 0) {
            queue(ask_manager(end));
        } else {
            others_.erase(port.guid.value);
        }
    }
    if (phase_ != Phase::kDiscover) {
        return;
    }
    if (node.is_switch() && end.port == 0 && node.tables_known && port.info.lid == kLidUnassigned) {
        // The switch was without power for a moment, and has forgotten its tables.
        node.tables_known = false;
        topology_changed_ = true;
        read_switch_ports(end.node);
        return;
    }
    const bool leads_on = node.is_switch() ? end.port != 0 : end.node == root_;
    if (!leads_on) {
        return;
    }
    if (!link_is_up(port.info)) {
        if (port.peer != kNoNode) {
            const NodeIndex other = port.peer;
            subnet_.disconnect(end);
            topology_changed_ = true;
            if (!full_sweep_) {
                subnet_.recompute_paths(root_);
                doubt(other);
            }
        }
        return;
    }
    const bool same_as_before = !full_sweep_ && port.peer != kNoNode &&
                                subnet_.port({port.peer, port.peer_port}).known &&
                                port.info.port_state > PortState::kInit;
    if (port.seen != sweep_ && !same_as_before) {
        port.seen = sweep_;
        probe(end);
    }
}

/// Reads the ports of all neighbours of a switch that has lost a link, since the whole switch may
/// be gone. The neighbours answer at once, whereas the switch itself would only be silent.
void Manager::doubt(NodeIndex index) {
    const SubnetNode& node = subnet_.node(index);
    if (!node.is_switch()) {
        return;
    }
    for (const SubnetPort& port : node.ports) {
        if (port.peer == kNoNode || !subnet_.node(port.peer).is_switch()) {
            continue;
        }
        SubnetPort& other = subnet_.port({port.peer, port.peer_port});
        if (other.asked != sweep_ && subnet_.node(port.peer).seen != sweep_) {
            other.asked = sweep_;
            queue(get(Purpose::kPortInfo, SmAttribute::kPortInfo, subnet_.node(port.peer).path,
                      port.peer, port.peer_port, port.peer_port));
        }
    }
}

void Manager::got_switch_info(const SmpAnswer& answer) {
    subnet_.node(answer.purpose.node).switch_info = wire::parse<wire::SwitchInfo>(answer.data);
}

void Manager::got_light_sweep(const SmpAnswer& answer) {
    SubnetNode& node = subnet_.node(answer.purpose.node);
    node.switch_info = wire::parse<wire::SwitchInfo>(answer.data);
    if (node.switch_info.port_state_change) {
        dirty_.insert(answer.purpose.node);
    }
}

void Manager::unreachable(const SmpAnswer& answer) {
    const Purpose& purpose = answer.purpose;
    switch (purpose.kind) {
        case Purpose::kNodeInfo:
            // The node behind this port does not answer: the port counts as having no cable.
            if (purpose.node != kNoNode) {
                subnet_.disconnect({purpose.node, purpose.port});
                topology_changed_ = true;
            }
            break;
        case Purpose::kLightSweep:
            full_wanted_ = true;
            break;
        case Purpose::kSmInfo:
            others_.erase(subnet_.port({purpose.node, purpose.port}).guid.value);
            ++silences_;
            break;
        case Purpose::kSetLft:
        case Purpose::kSetMft:
            subnet_.node(purpose.node).tables_known = false;
            break;
        case Purpose::kSetSlToVl:
        case Purpose::kSetVlArb:
            forget_lanes(subnet_.node(purpose.node));
            break;
        case Purpose::kSetAdaptive:
            subnet_.node(purpose.node).adaptive.forget();
            break;
        case Purpose::kSetPKeys:
            // P_Keys of end ports are read in every full sweep; those of external switch ports are
            // only written.
            if (subnet_.node(purpose.node).is_switch() && purpose.port != 0) {
                subnet_.port({purpose.node, purpose.port}).pkeys.clear();
            }
            break;
        case Purpose::kSetGuids:
            subnet_.port({purpose.node, purpose.port}).guids.clear();
            break;
        default:
            break;
    }
    if (purpose.kind != Purpose::kSmInfo) {
        // The path may have broken after the request was made. Then what the manager knows is out
        // of date, and what it wrote may be lost: another sweep is needed.
        again_ = true;
    }
    if (purpose.node != kNoNode) {
        ManagerEvent silent{.kind = ManagerEvent::kSilent};
        silent.node = purpose.node;
        silent.port = purpose.port;
        event(std::move(silent));
    }
}

/// Removes the cables and nodes that this sweep did not find again, and computes the paths to the
/// others over the cables that are left.
void Manager::end_discovery() {
    present_before_.resize(subnet_.size());
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        const SubnetNode& node = subnet_.node(i);
        for (std::size_t p = 1; full_sweep_ && p < node.ports.size(); ++p) {
            if (node.ports[p].peer != kNoNode && node.ports[p].seen != sweep_ &&
                subnet_.node(node.ports[p].peer).ports[node.ports[p].peer_port].seen != sweep_) {
                subnet_.disconnect({i, static_cast<std::uint8_t>(p)});
                topology_changed_ = true;
            }
        }
    }
    subnet_.recompute_paths(root_);
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        SubnetNode& node = subnet_.node(i);
        if (present_before_[i] && !node.present) {
            topology_changed_ = true;
            for (SubnetPort& port : node.ports) {
                if (port.info.lid != kLidUnassigned && port.guid.value != 0) {
                    subnet_.clear_lid_owner(port.info.lid, port.info.lmc);
                    ManagerEvent gone{.kind = ManagerEvent::kPortVanished};
                    gone.node = i;
                    gone.guid = port.guid;
                    event(std::move(gone));
                    others_.erase(port.guid.value);
                }
                port.info.lid = kLidUnassigned;
                port.guids.clear();
                port.known = false;
            }
            node.tables_known = false;
        }
    }
}

}  // namespace softib::sm
