// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/node.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/time_units.h"
#include "core/mad/response_time.h"

namespace softib::agent {

namespace {

using wire::PortPhysicalState;
using wire::PortState;

constexpr std::uint16_t kLftCapacity = kLidUnicastMax.value + 1;
constexpr std::uint8_t kVlArbEntries = 64;  // Entries of each priority, in two blocks.
/// Until the manager says otherwise a trap is repeated after 4.096 us * 2^18, about a second.
constexpr std::uint8_t kSubnetTimeOutDefault = 18;
constexpr std::uint32_t kTrapsMax = 64;  ///< Traps that may wait at once; further ones are lost.
constexpr std::uint32_t kTrapRepeatsMax = 8;

constexpr std::uint32_t kCommonCapability =
    wire::port_capability::kIsTrapSupported | wire::port_capability::kIsSLMappingSupported |
    wire::port_capability::kIsLEDInfoSupported |
    wire::port_capability::kIsSystemImageGUIDSupported |
    wire::port_capability::kIsExtendedSpeedsSupported |
    wire::port_capability::kIsCapabilityMask2Supported |
    wire::port_capability::kIsCapabilityMaskNoticeSupported |
    wire::port_capability::kIsClientReregistrationSupported |
    wire::port_capability::kIsOtherLocalChangesNoticeSupported;
constexpr std::uint32_t kAdapterCapability =
    kCommonCapability | wire::port_capability::kIsCommunicationManagementSupported |
    wire::port_capability::kIsAutomaticMigrationSupported;
constexpr std::uint32_t kSwitchCapability =
    kCommonCapability | wire::port_capability::kIsMulticastFDBTopSupported;
constexpr std::uint16_t kCapability2 = wire::port_capability2::kIsSetNodeDescriptionSupported |
                                       wire::port_capability2::kIsPortInfoExtendedSupported |
                                       wire::port_capability2::kIsLinkSpeedHDRSupported |
                                       wire::port_capability2::kIsLinkSpeedNDRSupported;

/// Returns PortInfo's code for a number of data VLs.
std::uint8_t vl_code(std::uint8_t data_vls) {
    switch (data_vls) {
        case 1:
            return 1;
        case 2:
            return 2;
        case 4:
            return 3;
        case 8:
            return 4;
        default:
            return 5;
    }
}

std::uint8_t speeds_up_to(std::uint8_t speed) {
    return static_cast<std::uint8_t>(speed * 2 - 1);
}

wire::PortInfo power_up(const NodeSpec& spec, std::uint8_t number) {
    const PortSpec& port = spec.ports[number];
    const bool management_port = spec.type == wire::NodeType::kSwitch && number == 0;
    wire::PortInfo info;
    info.gid_prefix = kSubnetPrefixDefault;
    info.capability_mask =
        spec.type == wire::NodeType::kSwitch ? kSwitchCapability : kAdapterCapability;
    info.capability_mask2 = kCapability2;
    if (port.speed_ext2 != 0) {
        info.capability_mask2 |= wire::port_capability2::kIsExtendedSpeeds2Supported |
                                 wire::port_capability2::kIsLinkSpeedXDRSupported;
    }
    info.local_port_num = PortNum{number};
    info.link_width_supported = port.width_supported;
    info.link_width_enabled = port.width_supported;
    info.link_width_active = port.width;
    info.link_speed_supported = speeds_up_to(port.speed);
    info.link_speed_enabled = info.link_speed_supported;
    info.link_speed_active = management_port ? port.speed : wire::link_speed::kSdr;
    info.link_speed_ext_supported = port.speed_ext_supported;
    info.link_speed_ext_enabled = port.speed_ext_supported;
    info.link_speed_ext_active = management_port ? port.speed_ext : std::uint8_t{0};
    info.link_speed_ext_supported2 =
        port.speed_ext2 == 0 ? std::uint8_t{0} : speeds_up_to(port.speed_ext2);
    info.link_speed_ext_enabled2 = info.link_speed_ext_supported2;
    info.link_speed_ext_active2 = management_port ? port.speed_ext2 : std::uint8_t{0};
    info.port_state = management_port ? PortState::kActive : PortState::kDown;
    info.port_physical_state =
        management_port ? PortPhysicalState::kLinkUp : PortPhysicalState::kPolling;
    info.link_down_default_state = wire::LinkDownDefaultState::kPolling;
    info.neighbor_mtu = wire::mtu_code::k4096;
    info.mtu_cap = wire::mtu_code::k4096;
    info.vl_cap = vl_code(spec.data_vls);
    info.operational_vls = info.vl_cap;
    info.vl_arbitration_high_cap = kVlArbEntries;
    info.vl_arbitration_low_cap = kVlArbEntries;
    info.guid_cap = spec.guids;
    info.subnet_time_out = kSubnetTimeOutDefault;
    info.resp_time_value = mad::kRespTimeValue;
    info.local_phy_errors = 8;
    info.overrun_errors = 8;
    return info;
}

}  // namespace

Node::Node(NodeSpec spec) : spec_(std::move(spec)), ports_(spec_.ports.size()) {
    SOFTIB_CHECK(spec_.ports.size() >= 2 && spec_.ports.size() <= 255);
    for (std::size_t i = is_switch() ? 0 : 1; i < ports_.size(); ++i) {
        Port& port = ports_[i];
        port.info = power_up(spec_, static_cast<std::uint8_t>(i));
        port.pkeys.assign(spec_.pkeys, PKey{0});
        port.pkeys[0] = kPKeyDefaultFull;
        if (!is_switch() || i == 0) {
            port.guids.assign(spec_.guids, Guid{0});
            port.guids[0] = spec_.ports[i].guid;
        }
    }
    if (is_switch()) {
        switch_.linear_fdb_cap = kLftCapacity;
        switch_.multicast_fdb_cap = spec_.mft_entries;
        switch_.life_time_value = 18;
        switch_.partition_enforcement_cap = spec_.pkeys;
        switch_.inbound_enforcement_cap = true;
        switch_.outbound_enforcement_cap = true;
        switch_.enhanced_port0 = spec_.enhanced_port0;
        switch_.optimized_sl_to_vl_mapping_programming = 1;
        switch_.multicast_fdb_top = kLidMulticastMin.value - 1;
        congestion_.push_back(CongestionAgent::of_switch(port_count()));
        aggregation_.emplace(sharp::default_an_info(), port_count());
    } else {
        congestion_.assign(port_count(), CongestionAgent::of_adapter());
    }
}

bool Node::owns_lid(std::uint8_t port, Lid lid) const {
    const wire::PortInfo& info = ports_[base_port(port)].info;
    return info.lid != kLidUnassigned && lid.value >= info.lid.value &&
           lid.value < info.lid.value + (1U << info.lmc);
}

std::uint8_t Node::forward(Lid dlid) const {
    if (dlid.value > switch_.linear_fdb_top || dlid.value >= lft_.size()) {
        return sw::kNoPath;
    }
    return lft_[dlid.value];
}

bool Node::forwards_multicast(Lid mlid, std::uint8_t port) const {
    const std::size_t index = mlid.value - std::size_t{kLidMulticastMin.value};
    // MLIDs above MulticastFDBTop are outside the table (IBA vol. 1, 14.2.5.4).
    return mlid.value <= switch_.multicast_fdb_top && index < mft_.size() &&
           (mft_[index][port / kMftPortsPerPosition] >> (port % kMftPortsPerPosition) & 1) != 0;
}

PKey Node::pkey(std::uint8_t port, std::uint16_t index) const {
    const std::vector<PKey>& table = ports_[port].pkeys;
    return index < table.size() ? table[index] : PKey{0};
}

Guid Node::guid(std::uint8_t port, std::uint16_t index) const {
    const std::vector<Guid>& table = ports_[port].guids;
    return index < table.size() ? table[index] : Guid{0};
}

std::uint8_t Node::vl(std::uint8_t in, std::uint8_t out, std::uint8_t sl) const {
    const auto& table = ports_[out].sl2vl;
    if (table.empty()) {
        return static_cast<std::uint8_t>(sl % spec_.data_vls);
    }
    return table[in][sl];
}

void Node::announce_all() {
    for (std::size_t i = is_switch() ? 0 : 1; i < ports_.size(); ++i) {
        const auto port = static_cast<std::uint8_t>(i);
        announce(PortUpdate{port});
        announce(PartitionUpdate{port});
        announce(AliasUpdate{port});
        announce(LaneUpdate{port});
        announce(ArbitrationUpdate{port});
        announce(ErrorLimitUpdate{port});
        announce(LifetimeUpdate{port});
        if (!is_switch()) {
            announce(InjectionUpdate{port});
        }
    }
    if (!is_switch()) {
        return;
    }
    announce(MarkingUpdate{});
    announce(AdaptiveUpdate{});
    for (std::size_t block = 0; block * kLftBlock < kLftCapacity; ++block) {
        announce(RouteUpdate{static_cast<std::uint16_t>(block)});
    }
    for (std::size_t block = 0; block * kMftBlock < spec_.mft_entries; ++block) {
        announce(GroupUpdate{static_cast<std::uint16_t>(block)});
    }
}

sw::WaitingLimits Node::waiting_limits(std::uint8_t port) const {
    sw::WaitingLimits limits;
    if (switch_written_) {
        limits.lifetime = switch_.life_time_value;
    }
    if (ports_[port].written) {
        limits.hoq_life = ports_[port].info.hoq_life;
        limits.vl_stall_count = ports_[port].info.vl_stall_count;
    }
    return limits;
}

std::optional<PlaneUpdate> Node::poll_update() {
    if (updates_.empty()) {
        return std::nullopt;
    }
    const PlaneUpdate update = updates_.front();
    updates_.pop_front();
    return update;
}

std::optional<wire::MadBytes> Node::receive_congestion(const wire::MadBytes& request,
                                                       std::uint8_t port, std::uint64_t now_ns) {
    CongestionAgent& agent = congestion_[is_switch() ? 0 : port - 1U];
    const std::uint32_t before = agent.writes();
    auto answer = agent.answer(request, now_ns);
    if (agent.writes() != before) {
        if (is_switch()) {
            announce(MarkingUpdate{});
        } else {
            announce(InjectionUpdate{port});
        }
    }
    return answer;
}

bool Node::is_for_manager(const wire::MadBytes& smp) {
    const wire::Mad<const std::uint8_t> header(smp);
    switch (header.method()) {
        case wire::Method::kGet:
        case wire::Method::kSet:
            return header.attribute_id() == static_cast<std::uint16_t>(wire::SmAttribute::kSmInfo);
        case wire::Method::kTrapRepress:
            return false;
        default:
            return true;
    }
}

/// Returns whether M_Key protection allows a request (IBA vol. 1, 14.2.4). A request that it does
/// not allow is dropped, and only the manager is told, by trap 256.
bool Node::key_allows(const wire::MadBytes& request, Port& base, bool is_set, std::uint64_t now_ns,
                      Lid slid) {
    wire::PortInfo& info = base.info;
    const wire::Smp<const std::uint8_t> smp(request);
    if (base.lease_ends_ns != 0 && now_ns >= base.lease_ends_ns) {
        base.lease_ends_ns = 0;
        info.mkey_protect_bits = 0;
    }
    if (info.mkey == 0 || smp.mkey() == info.mkey) {
        base.lease_ends_ns = 0;
        return true;
    }
    if (!is_set && info.mkey_protect_bits < 2) {
        return true;
    }
    info.mkey_violations =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(info.mkey_violations + 1U, UINT16_MAX));
    if (info.mkey_lease_period != 0 && base.lease_ends_ns == 0) {
        base.lease_ends_ns = now_ns + info.mkey_lease_period * kNsPerSecond;
    }
    const wire::Mad<const std::uint8_t> header(request);
    wire::BadMKeyTrap seen;
    seen.lid = slid;
    seen.method = header.method();
    seen.attribute_id = header.attribute_id();
    seen.attribute_modifier = header.attribute_modifier();
    seen.mkey = smp.mkey();
    if (header.mgmt_class() == wire::MgmtClass::kSubnDirectedRoute) {
        seen.dr_notice = true;
        seen.dr_slid = smp.dr_slid();
        seen.dr_hop_count = smp.hop_count();
        seen.dr_path_truncated = smp.hop_count() > seen.dr_notice_return_path.size();
        for (std::size_t i = 0; i < seen.dr_notice_return_path.size() && i < smp.hop_count(); ++i) {
            seen.dr_notice_return_path[i] = smp.return_path()[i + 1];
        }
    }
    wire::Notice notice;
    notice.type = wire::NoticeType::kSecurity;
    notice.set_details(seen);
    raise(wire::trap::kBadMKey, notice);
    return false;
}

std::uint16_t Node::answer_attribute(wire::SmAttribute attribute, const SmpRequest& request,
                                     Data data) {
    using id = wire::SmAttribute;
    const auto [is_set, in_port, modifier] = request;
    switch (attribute) {
        case id::kNodeDescription:
            return node_description(is_set, data);
        case id::kNodeInfo:
            return node_info(is_set, in_port, data);
        case id::kSwitchInfo:
            return switch_info(is_set, data);
        case id::kGuidInfo:
            return guid_info(is_set, in_port, modifier, data);
        case id::kPortInfo:
            return port_info(is_set, modifier, in_port, data);
        case id::kPKeyTable:
            return pkey_table(is_set, in_port, modifier, data);
        case id::kSlToVlMappingTable:
            return sl_to_vl(is_set, in_port, modifier, data);
        case id::kVlArbitrationTable:
            return vl_arbitration(is_set, in_port, modifier, data);
        case id::kLinearForwardingTable:
            return linear_table(is_set, modifier, data);
        case id::kMulticastForwardingTable:
            return multicast_table(is_set, modifier, data);
        case id::kLedInfo:
            return led_info(is_set, modifier, data);
        case id::kPortInfoExtended:
            return port_info_extended(is_set, in_port, modifier, data);
        case id::kAdaptiveRoutingInfo:
            return adaptive_routing_info(is_set, data);
        case id::kArGroupTable:
            return adaptive_group_table(is_set, modifier, data);
        case id::kArLinearForwardingTable:
            return adaptive_forwarding_table(is_set, modifier, data);
        case id::kPortSlToPrivateLftMap:
            return private_table_map(is_set, modifier, data);
        case id::kMlnxExtendedPortInfo:
            return mlnx_port_info(is_set, modifier, data);
        default:
            return wire::mad_status::kUnsupportedAttribute;
    }
}

std::optional<wire::MadBytes> Node::receive_smp(const wire::MadBytes& request, std::uint8_t in_port,
                                                std::uint64_t now_ns, Lid slid) {
    const wire::Mad<const std::uint8_t> header(request);
    if (is_for_manager(request)) {
        return std::nullopt;
    }
    Port& base = ports_[base_port(in_port)];
    const bool is_set = header.method() != wire::Method::kGet;
    if (!key_allows(request, base, is_set, now_ns, slid)) {
        return std::nullopt;
    }
    if (header.method() == wire::Method::kTrapRepress) {
        repress(request);
        return std::nullopt;
    }
    wire::MadBytes answer = request;
    const wire::Mad<std::uint8_t> out(answer);
    const Data data = wire::Smp<std::uint8_t>(answer).data();
    std::uint16_t status = wire::mad_status::kOk;
    if (header.base_version() != wire::kMadBaseVersion || header.class_version() != 1) {
        status = wire::mad_status::kUnsupportedClass;
    } else {
        status = answer_attribute(static_cast<wire::SmAttribute>(header.attribute_id()),
                                  {is_set, in_port, header.attribute_modifier()}, data);
    }
    // At protection level 1 a requester that does not know the M_Key cannot read it.
    if (header.attribute_id() == static_cast<std::uint16_t>(wire::SmAttribute::kPortInfo) &&
        !is_set && base.info.mkey != 0 && base.info.mkey_protect_bits == 1 &&
        wire::Smp<const std::uint8_t>(request).mkey() != base.info.mkey) {
        std::fill_n(data.begin(), 8, std::uint8_t{0});
    }
    out.set_method(wire::Method::kGetResp);
    wire::Smp<std::uint8_t>(answer).set_status(status);
    return answer;
}

void Node::set_capability(std::uint8_t port, std::uint32_t bit, bool on) {
    wire::PortInfo& info = ports_[port].info;
    const std::uint32_t before = info.capability_mask;
    info.capability_mask = on ? before | bit : before & ~bit;
    if (info.capability_mask == before) {
        return;
    }
    wire::Notice notice;
    notice.type = wire::NoticeType::kInformational;
    wire::LocalChangesTrap seen;
    seen.lid = info.lid;
    seen.capability_mask = info.capability_mask;
    notice.set_details(seen);
    raise(wire::trap::kLocalChanges, notice);
    announce(PortUpdate{port});
}

void Node::set_route(Lid lid, std::uint8_t port) {
    if (is_switch() && lid.value < lft_.size()) {
        lft_[lid.value] = port;
        announce(RouteUpdate{static_cast<std::uint16_t>(lid.value / kLftBlock)});
    }
}

void Node::set_pkey(std::uint8_t port, std::uint16_t index, PKey pkey) {
    if (port < ports_.size() && index < ports_[port].pkeys.size()) {
        ports_[port].pkeys[index] = pkey;
        announce(PartitionUpdate{port});
    }
}

void Node::set_description(const std::string& description) {
    spec_.description = description;
    const wire::PortInfo& info = ports_[base_port(1)].info;
    wire::Notice notice;
    notice.type = wire::NoticeType::kInformational;
    wire::LocalChangesTrap seen;
    seen.lid = info.lid;
    seen.capability_mask = info.capability_mask;
    seen.other_local_changes = true;
    seen.node_description_change = true;
    notice.set_details(seen);
    raise(wire::trap::kLocalChanges, notice);
}

void Node::add_violations(std::uint8_t port, std::uint64_t pkeys, std::uint64_t qkeys) {
    wire::PortInfo& info = ports_[port].info;
    const auto sum = [](std::uint16_t count, std::uint64_t more) {
        return static_cast<std::uint16_t>(count +
                                          std::min<std::uint64_t>(more, UINT16_MAX - count));
    };
    info.pkey_violations = sum(info.pkey_violations, pkeys);
    info.qkey_violations = sum(info.qkey_violations, qkeys);
}

void Node::bad_key(std::uint8_t port, const wire::BadKeyTrap& seen, bool is_qkey,
                   std::uint16_t packets) {
    add_violations(port, is_qkey ? 0 : packets, is_qkey ? packets : 0);
    wire::Notice notice;
    notice.type = wire::NoticeType::kSecurity;
    notice.set_details(seen);
    raise(is_qkey ? wire::trap::kBadQKey : wire::trap::kBadPKey, notice);
}

void Node::link_fault(std::uint8_t port, std::uint16_t trap) {
    wire::Notice notice;
    notice.type = wire::NoticeType::kUrgent;
    notice.set_details(wire::PortThresholdTrap{ports_[base_port(port)].info.lid, PortNum{port}});
    raise(trap, notice);
}

void Node::set_system_image_guid(Guid guid) {
    if (guid == spec_.system_image_guid) {
        return;
    }
    spec_.system_image_guid = guid;
    wire::Notice notice;
    notice.type = wire::NoticeType::kInformational;
    notice.set_details(wire::SystemImageGuidTrap{ports_[base_port(1)].info.lid, guid});
    raise(wire::trap::kSystemImageGuidChanged, notice);
}

bool Node::lets_pass(std::uint8_t port, bool inbound, PKey pkey) const {
    const Port& at = ports_[port];
    const bool enforced =
        inbound ? at.info.partition_enforcement_inbound : at.info.partition_enforcement_outbound;
    return sw::lets_pass(enforced && port != 0, at.pkeys, pkey);
}

void Node::refuse_passage(std::uint8_t port, bool inbound, wire::BadSwitchPKeyTrap seen,
                          std::uint64_t packets) {
    constexpr std::uint16_t kWithoutGids = 0x3F;
    ConstraintErrors& errors = ports_[port].constraint_errors;
    (inbound ? errors.rcv : errors.xmit) += packets;
    seen.data_valid = kWithoutGids;
    seen.switch_lid = ports_[0].info.lid;
    seen.port_num = PortNum{port};
    wire::Notice notice;
    notice.type = wire::NoticeType::kSecurity;
    notice.set_details(seen);
    raise(wire::trap::kBadPKeyAtSwitch, notice);
}

void Node::raise(std::uint16_t trap, const wire::Notice& notice) {
    const wire::PortInfo& info = ports_[base_port(1)].info;
    if (info.lid == kLidUnassigned || info.master_sm_lid == kLidUnassigned) {
        return;  // There is no manager to tell; the sweep that gives a LID will see the change.
    }
    // Only one trap of a kind waits at a time, since the manager that gets it reads the node
    // itself. Traps about links wait once for each port.
    const bool by_port =
        trap >= wire::trap::kLocalLinkIntegrity && trap <= wire::trap::kFlowControlWatchdog;
    const auto same = [&](const Trap& t) {
        return t.notice.trap_number == trap &&
               (!by_port || t.notice.data_details == notice.data_details);
    };
    if (std::ranges::any_of(traps_, same) || traps_.size() >= kTrapsMax) {
        return;
    }
    Trap entry{notice, 0, ++traps_raised_, 0};
    entry.notice.is_generic = true;
    entry.notice.producer_type = static_cast<std::uint32_t>(spec_.type);
    entry.notice.trap_number = trap;
    entry.notice.issuer_lid = info.lid;
    traps_.push_back(entry);
}

void Node::repress(const wire::MadBytes& request) {
    const wire::Smp<const std::uint8_t> smp(request);
    const auto notice = wire::parse<wire::Notice>(smp.data());
    const std::uint64_t transaction =
        wire::Mad<const std::uint8_t>(request).transaction_id() & UINT32_MAX;
    std::erase_if(traps_, [&](const Trap& trap) {
        return trap.transaction == transaction && trap.notice.trap_number == notice.trap_number;
    });
}

std::uint64_t Node::next_trap_ns() const {
    const wire::PortInfo& info = ports_[base_port(1)].info;
    if (info.lid == kLidUnassigned || info.master_sm_lid == kLidUnassigned) {
        return UINT64_MAX;
    }
    std::uint64_t first = UINT64_MAX;
    for (const Trap& trap : traps_) {
        first = std::min(first, trap.due_ns);
    }
    return first;
}

std::optional<mad::Packet> Node::poll_trap(std::uint64_t now_ns) {
    if (next_trap_ns() > now_ns) {
        return std::nullopt;
    }
    const wire::PortInfo& info = ports_[base_port(1)].info;
    const auto due = std::ranges::min_element(traps_, {}, &Trap::due_ns);
    mad::Packet packet;
    wire::MadRepr header;
    header.mgmt_class = wire::MgmtClass::kSubnLidRouted;
    header.method = wire::Method::kTrap;
    header.transaction_id = due->transaction;
    header.attribute_id = static_cast<std::uint16_t>(wire::SmAttribute::kNotice);
    header.emit(wire::Mad<std::uint8_t>(packet.mad));
    due->notice.issuer_lid = info.lid;
    wire::emit(due->notice, wire::Smp<std::uint8_t>(packet.mad).data());
    wire::Smp<std::uint8_t>(packet.mad).set_mkey(info.mkey);
    packet.slid = info.lid;
    packet.dlid = info.master_sm_lid;
    packet.sl = info.master_sm_sl;
    due->due_ns = now_ns + (std::uint64_t{4096} << std::min<unsigned>(info.subnet_time_out, 24));
    if (++due->sent == kTrapRepeatsMax) {
        traps_.erase(due);
    }
    return packet;
}

}  // namespace softib::agent
