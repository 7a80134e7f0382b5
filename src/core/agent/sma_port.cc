// SPDX-License-Identifier: BSD-2-Clause
// PortInfo, and the port state machine behind it (IBA vol. 1, 7.2 and 14.2.5.6).
#include <algorithm>

#include "core/agent/node.h"

namespace softib::agent {

namespace {

using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;

namespace status = wire::mad_status;

/// Returns the new value of an Enabled field of PortInfo: 0 keeps the old value, `all` enables all
/// that is supported, any other value enables those of its bits that are supported.
std::uint8_t enabled(std::uint8_t wanted, std::uint8_t all, std::uint8_t supported,
                     std::uint8_t before) {
    if (wanted == 0) {
        return before;
    }
    return wanted == all ? supported : static_cast<std::uint8_t>(wanted & supported);
}

}  // namespace

bool Node::link_enabled(std::uint8_t port) const {
    return ports_[port].info.port_physical_state != PortPhysicalState::kDisabled;
}

void Node::show_state(std::uint8_t port) {
    PortInfo& info = ports_[port].info;
    const link::PortStateMachine& machine = ports_[port].state;
    const bool moved = info.port_state != machine.logical();
    if (!moved && info.port_physical_state == machine.physical()) {
        return;
    }
    info.port_state = machine.logical();
    info.port_physical_state = machine.physical();
    announce(PortUpdate{port});
    // Only changes that the link makes by itself are reported: the manager knows of its own.
    const bool by_link = info.port_state == PortState::kDown || info.port_state == PortState::kInit;
    if (is_switch() && moved && by_link) {
        switch_.port_state_change = true;
        wire::Notice notice;
        notice.type = wire::NoticeType::kUrgent;
        notice.set_details(wire::LinkStateTrap{ports_[0].info.lid});
        raise(wire::trap::kLinkStateChanged, notice);
    }
}

void Node::link_down(std::uint8_t port, PortPhysicalState physical) {
    PortInfo& info = ports_[port].info;
    if (ports_[port].state.physical() == PortPhysicalState::kLinkUp) {
        // While a link is down, its active speed is the one at which training would begin.
        info.link_speed_active = wire::link_speed::kSdr;
        info.link_speed_ext_active = 0;
        info.link_speed_ext_active2 = 0;
    }
    ports_[port].state.set_physical(physical);
    show_state(port);
}

void Node::set_link(std::uint8_t port, bool up) {
    const PortInfo& info = ports_[port].info;
    if (up) {
        ports_[port].state.handle_other_end_found();
        ports_[port].state.handle_trained();
        show_state(port);
    } else if (link_enabled(port)) {
        link_down(port, info.link_down_default_state == wire::LinkDownDefaultState::kSleep
                            ? PortPhysicalState::kSleep
                            : PortPhysicalState::kPolling);
    }
}

void Node::set_active_speed(std::uint8_t port, const PortSpec& agreed) {
    PortInfo& info = ports_[port].info;
    info.link_width_active = agreed.width;
    info.link_speed_active = agreed.speed;
    info.link_speed_ext_active = agreed.speed_ext;
    info.link_speed_ext_active2 = agreed.speed_ext2;
}

std::uint16_t Node::port_info(bool set, std::uint32_t modifier, std::uint8_t in_port, Data data) {
    std::uint32_t port = modifier & 0xFF;
    if (!is_switch() && port == 0) {
        port = std::max<std::uint32_t>(in_port, 1);
    }
    if (port >= ports_.size()) {
        return status::kInvalidField;
    }
    const auto number = static_cast<std::uint8_t>(port);
    // The M_Key that was checked is that of the port by which the request came in.
    const bool foreign = !is_switch() && number != in_port;
    std::uint16_t result = set && foreign ? status::kInvalidField : status::kOk;
    if (set && !foreign) {
        const auto wanted = wire::parse<PortInfo>(data);
        result = check_port_info(wanted, number);
        if (result == status::kOk) {
            write_port_info(wanted, number);
        }
    }
    PortInfo answer = ports_[port].info;
    answer.local_port_num = PortNum{in_port};
    if (is_switch() && port != 0) {
        // External ports of a switch do not have these; port 0 has them for all.
        answer.mkey = 0;
        answer.gid_prefix = 0;
        answer.lid = kLidUnassigned;
        answer.master_sm_lid = kLidUnassigned;
        answer.capability_mask = 0;
        answer.capability_mask2 = 0;
        answer.guid_cap = 0;
    }
    if (foreign) {
        answer.mkey = 0;
    }
    std::ranges::fill(data, std::uint8_t{0});
    wire::emit(answer, data);
    return result;
}

std::uint16_t Node::check_port_info(const PortInfo& wanted, std::uint8_t port) const {
    const PortInfo& now = ports_[port].info;
    const bool addressed = !is_switch() || port == 0;
    const bool bad_lid = addressed && wanted.lid != kLidUnassigned &&
                         (wanted.lid > kLidUnicastMax || wanted.lmc > 7 ||
                          (wanted.lid.value & ((1U << wanted.lmc) - 1)) != 0);
    const bool management_port = is_switch() && port == 0;
    const bool bad_state = !management_port && wanted.port_state != PortState::kNoChange &&
                           !link::may_enter(now.port_state, wanted.port_state);
    const bool bad_physical = wanted.port_physical_state > PortPhysicalState::kDisabled;
    const bool bad_mtu = wanted.neighbor_mtu > now.mtu_cap;
    const bool bad_vls = wanted.operational_vls > now.vl_cap;
    return bad_lid || bad_state || bad_physical || bad_mtu || bad_vls ? status::kInvalidField
                                                                      : status::kOk;
}

void Node::announce_difference(const PortInfo& before, std::uint8_t port) {
    const PortInfo& now = ports_[port].info;
    if (!(now == before)) {
        announce(PortUpdate{port});
    }
    if (now.partition_enforcement_inbound != before.partition_enforcement_inbound ||
        now.partition_enforcement_outbound != before.partition_enforcement_outbound) {
        announce(PartitionUpdate{port});
    }
    if (now.operational_vls != before.operational_vls) {
        announce(LaneUpdate{port});
    }
    if (now.vl_high_limit != before.vl_high_limit) {
        announce(ArbitrationUpdate{port});
    }
    if (now.local_phy_errors != before.local_phy_errors) {
        announce(ErrorLimitUpdate{port});
    }
    if (now.hoq_life != before.hoq_life || now.vl_stall_count != before.vl_stall_count ||
        !ports_[port].written) {
        ports_[port].written = true;
        announce(LifetimeUpdate{port});
    }
}

void Node::write_end_port(const PortInfo& wanted, std::uint8_t port) {
    PortInfo& info = ports_[port].info;
    info.mkey = wanted.mkey;
    info.gid_prefix = wanted.gid_prefix;
    info.lid = wanted.lid;
    info.lmc = wanted.lmc;
    info.master_sm_lid = wanted.master_sm_lid;
    info.master_sm_sl = wanted.master_sm_sl;
    info.mkey_lease_period = wanted.mkey_lease_period;
    info.mkey_protect_bits = wanted.mkey_protect_bits;
    info.subnet_time_out = wanted.subnet_time_out;
    // Zero resets a counter; any other value leaves it as it is (IBA vol. 1, 14.2.5.6).
    if (wanted.mkey_violations == 0) {
        info.mkey_violations = 0;
    }
    if (wanted.pkey_violations == 0) {
        info.pkey_violations = 0;
    }
    if (wanted.qkey_violations == 0) {
        info.qkey_violations = 0;
    }
    info.multicast_pkey_trap_suppression_enabled = wanted.multicast_pkey_trap_suppression_enabled;
    if (wanted.client_reregister) {
        announce(ReregisterUpdate{port});
    }
}

void Node::write_link(const PortInfo& wanted, std::uint8_t port) {
    PortInfo& info = ports_[port].info;
    info.link_width_enabled = enabled(wanted.link_width_enabled, wire::link_width::kAllSupported,
                                      info.link_width_supported, info.link_width_enabled);
    info.link_speed_enabled = enabled(wanted.link_speed_enabled, wire::link_speed::kAllSupported,
                                      info.link_speed_supported, info.link_speed_enabled);
    info.link_speed_ext_enabled =
        enabled(wanted.link_speed_ext_enabled, wire::link_speed_ext::kAllSupported,
                info.link_speed_ext_supported, info.link_speed_ext_enabled);
    if (wanted.link_down_default_state != wire::LinkDownDefaultState::kNoChange) {
        info.link_down_default_state = wanted.link_down_default_state;
    }
    if (wanted.neighbor_mtu != 0) {
        info.neighbor_mtu = wanted.neighbor_mtu;
    }
    if (wanted.operational_vls != 0) {
        info.operational_vls = wanted.operational_vls;
    }
    info.vl_high_limit = wanted.vl_high_limit;
    info.vl_stall_count = wanted.vl_stall_count;
    info.hoq_life = wanted.hoq_life;
    info.local_phy_errors = wanted.local_phy_errors;
    info.overrun_errors = wanted.overrun_errors;
}

void Node::move_state(const PortInfo& wanted, std::uint8_t port) {
    if (wanted.port_state == PortState::kDown) {
        const bool moves = wanted.port_physical_state != PortPhysicalState::kNoChange;
        link_down(port, moves ? wanted.port_physical_state : PortPhysicalState::kPolling);
    } else if (wanted.port_physical_state == PortPhysicalState::kPolling &&
               ports_[port].info.port_physical_state == PortPhysicalState::kDisabled) {
        link_down(port, PortPhysicalState::kPolling);
    } else if (wanted.port_physical_state == PortPhysicalState::kDisabled) {
        link_down(port, PortPhysicalState::kDisabled);
    }
    if (wanted.port_state == PortState::kArmed || wanted.port_state == PortState::kActive) {
        ports_[port].state.set_logical(wanted.port_state);
        show_state(port);
    }
}

void Node::write_port_info(const PortInfo& wanted, std::uint8_t port) {
    PortInfo& info = ports_[port].info;
    const PortInfo before = info;
    const bool is_end_port = !is_switch() || port == 0;
    if (is_end_port) {
        write_end_port(wanted, port);
    } else {
        info.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
        info.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
        info.filter_raw_inbound = wanted.filter_raw_inbound;
        info.filter_raw_outbound = wanted.filter_raw_outbound;
    }
    write_link(wanted, port);
    announce_difference(before, port);
    if (!is_switch() || port != 0) {  // Port 0 has no link.
        move_state(wanted, port);
    }
}

}  // namespace softib::agent
