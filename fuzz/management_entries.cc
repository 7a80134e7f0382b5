// SPDX-License-Identifier: BSD-2-Clause
#include "management_entries.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/agent/mesh.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sm/sa/subnet_admin.h"
#include "core/sm/sa/test_subnet.h"
#include "core/topo/netlist.h"
#include "core/wire/sa/sa.h"
#include "core/wire/sm/smp.h"

namespace softib::fuzz {

namespace {

using wire::MadBytes;
using wire::Method;
using wire::MgmtClass;

/// Reads an input piece by piece. Returns zeros after its end.
class Reader {
  public:
    explicit Reader(std::span<const std::uint8_t> input) : left_(input) {}

    bool empty() const { return left_.empty(); }
    std::uint8_t byte() {
        if (left_.empty()) {
            return 0;
        }
        const std::uint8_t value = left_.front();
        left_ = left_.subspan(1);
        return value;
    }
    std::uint32_t word() {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) {
            value = value << 8 | byte();
        }
        return value;
    }
    std::uint64_t long_word() {
        const std::uint64_t high = word();
        return high << 32 | word();
    }
    void bytes(std::span<std::uint8_t> out) {
        const std::size_t count = std::min(out.size(), left_.size());
        std::copy_n(left_.begin(), count, out.begin());
        left_ = left_.subspan(count);
    }

  private:
    std::span<const std::uint8_t> left_;
};

constexpr Method kMethods[] = {Method::kGet,         Method::kSet,           Method::kGetTable,
                               Method::kGetResp,     Method::kGetTraceTable, Method::kGetMulti,
                               Method::kDelete,      Method::kTrap,          Method::kTrapRepress,
                               Method::kReport,      Method::kSend,          Method::kReportResp,
                               Method::kGetTableResp};

Method method(std::uint8_t choice) {
    return choice < 0xF0 ? kMethods[choice % std::size(kMethods)] : static_cast<Method>(choice);
}

constexpr std::uint64_t kMKey = 0x0123'4567'89AB'CDEF;

agent::Mesh two_hosts_and_a_switch(agent::CounterSource& counters) {
    agent::Mesh mesh(counters);
    const auto add = [&](wire::NodeType type, std::uint64_t guid, std::size_t ports) {
        agent::NodeSpec spec;
        spec.type = type;
        spec.node_guid = spec.system_image_guid = Guid{guid};
        for (std::size_t i = 0; i <= ports; ++i) {
            agent::PortSpec port;
            port.guid = Guid{guid + i};
            spec.ports.push_back(port);
        }
        return mesh.add(std::move(spec));
    };
    const agent::NodeId a = add(wire::NodeType::kChannelAdapter, 0x100, 1);
    const agent::NodeId b = add(wire::NodeType::kChannelAdapter, 0x200, 2);
    const agent::NodeId sw = add(wire::NodeType::kSwitch, 0x300, 4);
    mesh.connect({a, 1}, {sw, 1});
    mesh.connect({b, 1}, {sw, 2});
    return mesh;
}

class NoCounters : public agent::CounterSource {
  public:
    counters::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

/// Sets nodes up as a subnet manager would: LIDs 1 to 3, an M_Key, routes, active ports.
void set_up(agent::Mesh& mesh) {
    for (agent::NodeId i = 0; i < mesh.size(); ++i) {
        agent::Node& node = mesh.node(i);
        const auto set = [&](wire::SmAttribute attribute, std::uint32_t modifier,
                             const auto& value) {
            MadBytes mad{};
            wire::MadRepr header;
            header.mgmt_class = MgmtClass::kSubnLidRouted;
            header.method = Method::kSet;
            header.attribute_id = static_cast<std::uint16_t>(attribute);
            header.attribute_modifier = modifier;
            header.emit(wire::Mad<std::uint8_t>(mad));
            wire::Smp<std::uint8_t>(mad).set_mkey(kMKey);
            if constexpr (requires { wire::emit(value, wire::Smp<std::uint8_t>(mad).data()); }) {
                wire::emit(value, wire::Smp<std::uint8_t>(mad).data());
            } else {
                std::ranges::copy(value, wire::Smp<std::uint8_t>(mad).data().begin());
            }
            node.receive_smp(mad, node.is_switch() ? 0 : 1, 0);
        };
        for (std::uint8_t port = node.is_switch() ? 0 : 1; port <= node.port_count(); ++port) {
            for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
                wire::PortInfo info = node.port(port);
                info.mkey = kMKey;
                info.mkey_protect_bits = 1;
                info.lid = Lid{static_cast<std::uint16_t>(i + 1)};
                info.master_sm_lid = Lid{1};
                info.port_physical_state = wire::PortPhysicalState::kNoChange;
                info.port_state = state;
                set(wire::SmAttribute::kPortInfo, port, info);
            }
        }
        if (node.is_switch()) {
            wire::SwitchInfo info = node.switch_info();
            info.linear_fdb_top = 3;
            set(wire::SmAttribute::kSwitchInfo, 0, info);
            std::array<std::uint8_t, wire::kSmpDataBytes> table{};
            table.fill(sw::kNoPath);
            table[1] = 1;
            table[2] = 2;
            table[3] = 0;
            set(wire::SmAttribute::kLinearForwardingTable, 0, table);
        }
        while (node.poll_update()) {
        }
    }
}

mad::Packet packet_from(Reader& in) {
    constexpr MgmtClass kClasses[] = {MgmtClass::kSubnLidRouted, MgmtClass::kSubnDirectedRoute,
                                      MgmtClass::kPerf, MgmtClass::kCongestion};
    mad::Packet packet;
    wire::MadRepr header;
    const std::uint8_t choice = in.byte();
    header.mgmt_class = choice < 0xF0 ? kClasses[choice % 4] : static_cast<MgmtClass>(choice);
    header.class_version = header.mgmt_class == MgmtClass::kCongestion ? 2 : 1;
    header.method = method(in.byte());
    const std::uint8_t attribute = in.byte();
    header.attribute_id = attribute == 0xFF ? std::uint16_t{0xFF90} : attribute;
    header.attribute_modifier = in.word();
    header.emit(wire::Mad<std::uint8_t>(packet.mad));
    const bool subnet = header.mgmt_class == MgmtClass::kSubnLidRouted ||
                        header.mgmt_class == MgmtClass::kSubnDirectedRoute;
    packet.dlid = Lid{static_cast<std::uint16_t>(in.byte() % 5)};
    packet.source = packet.destination = subnet ? mad::kQpnSubnet : mad::kQpnServices;
    packet.qkey = mad::kQKeyServices;
    if (header.mgmt_class == MgmtClass::kSubnDirectedRoute) {
        const wire::Smp<std::uint8_t> smp(packet.mad);
        smp.set_hop_pointer(in.byte());
        smp.set_hop_count(in.byte());
        smp.set_direction((in.byte() & 1) != 0);
        smp.set_dr_slid((in.byte() & 1) != 0 ? Lid{1} : kLidPermissive);
        smp.set_dr_dlid((in.byte() & 1) != 0 ? Lid{2} : kLidPermissive);
        in.bytes(smp.initial_path().first(4));
        in.bytes(smp.return_path().first(4));
        packet.dlid = kLidPermissive;
    }
    in.bytes(std::span(packet.mad).subspan(wire::kSmpDataOffset, wire::kSmpDataBytes));
    return packet;
}

}  // namespace

bool rmpp_endpoint_holds(std::span<const std::uint8_t> input) {
    mad::RmppLimits limits;
    limits.message_bytes_max = 4096;
    limits.bytes_per_peer_max = 8192;
    limits.transfers_max = 8;
    limits.transfers_per_peer_max = 4;
    limits.lingering_max = 8;
    limits.replies_queued_max = 16;
    mad::RmppEndpoint endpoint(limits);
    std::uint64_t now_ns = 0;
    Reader in(input);
    bool holds = true;
    const auto take = [&] {
        while (endpoint.poll_transmit()) {
        }
        while (const auto event = endpoint.poll_event()) {
            holds = holds && event->message.size() <= limits.message_bytes_max + wire::kMadBytes;
        }
    };
    while (!in.empty() && holds) {
        const std::uint8_t what = in.byte();
        const mad::RmppPeer peer{Lid{static_cast<std::uint16_t>(1 + what % 3)}};
        MadBytes mad{};
        wire::MadRepr header;
        header.mgmt_class = MgmtClass::kSubnAdm;
        header.class_version = wire::kSaClassVersion;
        header.method = method(in.byte() % 16);
        header.transaction_id = in.byte() % 4;
        header.emit(wire::Mad<std::uint8_t>(mad));
        wire::RmppHeader rmpp;
        rmpp.rmpp_version = (what & 0x80) != 0 ? in.byte() : wire::kRmppVersion;
        rmpp.rmpp_type = static_cast<wire::RmppType>(in.byte() % 6);
        rmpp.rmpp_flags = in.byte() % 8;
        rmpp.rmpp_status = static_cast<wire::RmppStatus>((what & 0x40) != 0 ? in.byte() : 0);
        rmpp.segment_number = (what & 0x20) != 0 ? in.word() : in.byte() % 8;
        rmpp.payload_length = (what & 0x10) != 0 ? in.word() : std::uint32_t{in.byte()} * 4;
        wire::Sa<std::uint8_t>(mad).set_rmpp(rmpp);
        if ((what & 0x08) != 0) {
            // The endpoint sends a message of its own; the rest of the input answers it.
            std::vector<std::uint8_t> message(mad.begin(), mad.end());
            message.resize(wire::kSaDataOffset + in.byte() * std::size_t{8});
            static_cast<void>(endpoint.send(peer, std::move(message), 0, now_ns));
        } else {
            endpoint.handle_mad(peer, mad, now_ns);
        }
        if ((what & 0x04) != 0) {
            now_ns += std::uint64_t{in.byte()} * 20'000'000;
            endpoint.handle_timeout(now_ns);
        }
        take();
        holds = holds && endpoint.transfers() <= limits.transfers_max &&
                endpoint.lingering() <= limits.lingering_max;
    }
    // Time passes, and no peer answers any more.
    for (int i = 0; i < 1000 && endpoint.next_timeout_ns() != UINT64_MAX; ++i) {
        now_ns = std::max(now_ns + 1, endpoint.next_timeout_ns());
        endpoint.handle_timeout(now_ns);
        take();
    }
    return holds && endpoint.transfers() == 0 && endpoint.next_timeout_ns() == UINT64_MAX;
}

bool subnet_admin_holds(std::span<const std::uint8_t> input) {
    static const sm::test::TreeSubnet tree(2, 2, 2);
    sm::SubnetAdmin admin(tree.subnet, {});
    Reader in(input);
    std::uint64_t now_ns = 0;
    for (std::uint64_t transaction = 1; !in.empty() && transaction <= 4; ++transaction) {
        MadBytes mad{};
        wire::MadRepr header;
        const std::uint8_t what = in.byte();
        header.mgmt_class = MgmtClass::kSubnAdm;
        header.class_version = wire::kSaClassVersion;
        header.method = method(in.byte());
        header.transaction_id = transaction;
        header.attribute_id = in.byte();
        header.attribute_modifier = (what & 0x80) != 0 ? in.word() : 0;
        header.emit(wire::Mad<std::uint8_t>(mad));
        wire::SaHeader sa;
        sa.sm_key = (what & 0x40) != 0 ? 1 : 0;
        sa.component_mask =
            (what & 0x20) != 0 ? in.long_word() : std::uint64_t{1} << in.byte() % 64;
        wire::Sa<std::uint8_t>(mad).set_header(sa);
        std::vector<std::uint8_t> request(mad.begin(), mad.end());
        request.resize((what & 0x10) != 0 ? in.byte() * std::size_t{2} : wire::kMadBytes);
        if (request.size() > wire::kSaDataOffset) {
            in.bytes(std::span(request).subspan(wire::kSaDataOffset));
        }
        const auto answer =
            admin.handle(request, Lid{static_cast<std::uint16_t>(what & 0x0F)}, Qpn{1}, now_ns);
        if (answer) {
            MadBytes first{};
            std::copy_n(answer->begin(), std::min(answer->size(), first.size()), first.begin());
            const auto repr = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(first));
            if (answer->size() < wire::kSaDataOffset || repr.transaction_id != transaction ||
                repr.method != wire::response_to(header.method) ||
                wire::Sa<const std::uint8_t>(first).header().sm_key != 0) {
                return false;
            }
        }
        now_ns += std::uint64_t{what} * 10'000'000;
        admin.handle_timeout(now_ns);
        while (admin.poll_report()) {
        }
        while (admin.poll_changed_mlid()) {
        }
    }
    // Another SA must be able to restore the state.
    sm::SubnetAdmin other(tree.subnet, {});
    return other.restore(admin.snapshot(now_ns), now_ns).has_value();
}

bool node_agents_hold(std::span<const std::uint8_t> input) {
    NoCounters counters;
    agent::Mesh mesh = two_hosts_and_a_switch(counters);
    set_up(mesh);
    Reader in(input);
    const bool knows_key = (in.byte() & 1) != 0;
    std::vector<wire::PortInfo> before;
    const auto read_ports = [&] {
        std::vector<wire::PortInfo> all;
        for (agent::NodeId i = 0; i < mesh.size(); ++i) {
            for (std::uint8_t port = 0; port <= mesh.node(i).port_count(); ++port) {
                all.push_back(mesh.node(i).port(port));
                all.back().mkey_violations = 0;
            }
        }
        return all;
    };
    before = read_ports();
    for (std::uint64_t i = 0; !in.empty(); ++i) {
        mad::Packet packet = packet_from(in);
        wire::Smp<std::uint8_t>(packet.mad).set_mkey(knows_key ? kMKey : in.byte());
        mesh.send({static_cast<agent::NodeId>(i % 2), 1}, packet, i * 1'000'000);
        int deliveries = 0;
        while (mesh.poll_delivery()) {
            ++deliveries;
        }
        if (deliveries > 1) {
            return false;
        }
        mesh.advance(i * 1'000'000);
        while (mesh.poll_delivery()) {
        }
        while (mesh.poll_update()) {
        }
    }
    return knows_key || read_ports() == before;
}

bool netlist_holds(std::span<const std::uint8_t> input) {
    const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
    const auto fabric = topo::read_netlist(text, "input");
    if (!fabric) {
        return fabric.error().message.starts_with("input");
    }
    if (!topo::validate(*fabric)) {
        return false;
    }
    const std::string written = topo::write_ibnetdiscover(*fabric);
    const auto again = topo::read_netlist(written, "again");
    return again && topo::write_ibnetdiscover(*again) == written;
}

}  // namespace softib::fuzz
