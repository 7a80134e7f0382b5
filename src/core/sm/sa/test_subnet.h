// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: a subnet as a manager has set it up, and a client that asks its SA.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/sm/sa/subnet_admin.h"
#include "core/sm/subnet.h"
#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/sa.h"

namespace softib::sm::test {

inline constexpr std::uint64_t kSwitchGuid = 0x5000;
inline constexpr std::uint64_t kHostGuid = 0x1000;
inline constexpr std::uint64_t kJoin =
    wire::mc_member::kMgid | wire::mc_member::kPortGid | wire::mc_member::kJoinState;
/// The components with which perftest, and any program that joins a group that may not exist yet,
/// asks.
inline constexpr std::uint64_t kCreate = kJoin | wire::mc_member::kQKey | wire::mc_member::kPKey |
                                         wire::mc_member::kTClass | wire::mc_member::kSl |
                                         wire::mc_member::kFlowLabel;
inline constexpr PKey kTenant{0x8123};  ///< A partition with only some of the ports.

/// A subnet of leaves with hosts, and spines to each of which every leaf has a cable. The leaf
/// chooses the spine by the DLID. Hosts come first, then leaves, then spines; LIDs are given in
/// this order, each a multiple of 2^LMC.
class TreeSubnet {
  public:
    TreeSubnet(std::uint32_t leaves, std::uint32_t hosts_per_leaf, std::uint32_t spines,
               std::uint8_t lmc = 0)
        : hosts_(leaves * hosts_per_leaf), leaves_(leaves), lmc_(lmc) {
        for (std::uint32_t i = 0; i < hosts_; ++i) {
            add_node(wire::NodeType::kChannelAdapter, kHostGuid + i * 0x10, 1,
                     "host" + std::to_string(i));
        }
        for (std::uint32_t i = 0; i < leaves; ++i) {
            add_node(wire::NodeType::kSwitch, kSwitchGuid + i,
                     static_cast<std::uint8_t>(hosts_per_leaf + spines),
                     "leaf" + std::to_string(i));
        }
        for (std::uint32_t i = 0; i < spines; ++i) {
            add_node(wire::NodeType::kSwitch, kSwitchGuid + 0x1000 + i,
                     static_cast<std::uint8_t>(leaves), "spine" + std::to_string(i));
        }
        cable(hosts_per_leaf, spines);
        give_lids();
        route(hosts_per_leaf, spines);
        subnet.recompute_paths(0);
    }

    Subnet subnet;

    EndPort host(std::uint32_t i) const { return {i, 1}; }
    EndPort leaf(std::uint32_t i) const { return {hosts_ + i, 0}; }
    EndPort spine(std::uint32_t i) const { return {hosts_ + leaves_ + i, 0}; }
    Lid lid(EndPort end) const { return subnet.port(end).info.lid; }
    Lid lid_of_host(std::uint32_t i) const { return lid(host(i)); }
    Gid gid_of_host(std::uint32_t i) const {
        return Gid::from(kSubnetPrefixDefault, subnet.port(host(i)).guid);
    }

    /// Sets MTU, width and speed at both ends of the cable at a port.
    void set_link(EndPort end, std::uint8_t mtu, std::uint8_t width, std::uint8_t speed_ext) {
        const SubnetPort& near = subnet.port(end);
        for (const EndPort side : {end, EndPort{near.peer, near.peer_port}}) {
            wire::PortInfo& info = subnet.port(side).info;
            info.neighbor_mtu = mtu;
            info.link_width_active = width;
            info.link_speed_ext_active = speed_ext;
        }
    }

  private:
    void add_node(wire::NodeType type, std::uint64_t guid, std::uint8_t ports,
                  const std::string& name) {
        const NodeIndex index = subnet.add({.node_type = type,
                                            .num_ports = ports,
                                            .system_image_guid = Guid{guid},
                                            .node_guid = Guid{guid},
                                            .port_guid = Guid{guid + 1},
                                            .partition_cap = 32});
        SubnetNode& node = subnet.node(index);
        node.description = name;
        const bool is_switch = type == wire::NodeType::kSwitch;
        for (std::size_t p = is_switch ? 0 : 1; p < node.ports.size(); ++p) {
            SubnetPort& port = node.ports[p];
            port.known = true;
            port.guid = Guid{is_switch ? guid : guid + p};
            port.info = {.gid_prefix = kSubnetPrefixDefault,
                         .local_port_num = PortNum{static_cast<std::uint8_t>(p)},
                         .link_width_active = wire::link_width::k4x,
                         .port_state = wire::PortState::kActive,
                         .link_speed_active = wire::link_speed::kQdr,
                         .neighbor_mtu = wire::mtu_code::k4096,
                         .vl_cap = 4,
                         .mtu_cap = wire::mtu_code::k4096,
                         .guid_cap = 16,
                         .link_speed_ext_active = wire::link_speed_ext::kHdr};
            if (!is_switch || p == 0) {
                port.pkeys = {kPKeyDefaultFull};
                port.info.capability_mask = wire::port_capability::kIsTrapSupported;
            }
        }
        if (is_switch) {
            node.info.port_guid = Guid{guid};
            node.switch_info = {.linear_fdb_cap = 0xC000, .multicast_fdb_cap = 1024};
        }
    }
    void cable(std::uint32_t hosts_per_leaf, std::uint32_t spines) {
        for (std::uint32_t i = 0; i < hosts_; ++i) {
            subnet.connect(host(i), {hosts_ + i / hosts_per_leaf,
                                     static_cast<std::uint8_t>(1 + i % hosts_per_leaf)});
        }
        for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf) {
            for (std::uint32_t spine = 0; spine < spines; ++spine) {
                subnet.connect(
                    {hosts_ + leaf, static_cast<std::uint8_t>(1 + hosts_per_leaf + spine)},
                    {hosts_ + leaves_ + spine, static_cast<std::uint8_t>(1 + leaf)});
            }
        }
    }
    void give_lids() {
        std::uint16_t next = static_cast<std::uint16_t>(1U << lmc_);
        for (NodeIndex i = 0; i < subnet.size(); ++i) {
            const bool is_switch = subnet.node(i).is_switch();
            const EndPort end{i, static_cast<std::uint8_t>(is_switch ? 0 : 1)};
            subnet.port(end).info.lid = Lid{next};
            subnet.port(end).info.lmc = is_switch ? std::uint8_t{0} : lmc_;
            subnet.set_lid_owner(Lid{next}, subnet.port(end).info.lmc, end);
            next = static_cast<std::uint16_t>(next + (1U << lmc_));
        }
        lid_end_ = next;
    }
    void route(std::uint32_t hosts_per_leaf, std::uint32_t spines) {
        for (NodeIndex i = hosts_; i < subnet.size(); ++i) {
            SubnetNode& node = subnet.node(i);
            node.lft.assign(lid_end_, kLftNoPath);
            node.switch_info.linear_fdb_top = static_cast<std::uint16_t>(lid_end_ - 1);
            for (std::uint16_t lid = 1; lid < lid_end_; ++lid) {
                if (const auto to = subnet.by_lid(Lid{lid})) {
                    node.lft[lid] = out_port(i, *to, lid, hosts_per_leaf, spines);
                }
            }
        }
    }
    std::uint8_t out_port(NodeIndex at, EndPort to, std::uint16_t lid, std::uint32_t hosts_per_leaf,
                          std::uint32_t spines) const {
        if (at == to.node) {
            return 0;
        }
        const bool at_leaf = at < hosts_ + leaves_;
        const std::uint32_t leaf_of = to.node < hosts_             ? to.node / hosts_per_leaf
                                      : to.node < hosts_ + leaves_ ? to.node - hosts_
                                                                   : UINT32_MAX;
        if (!at_leaf) {  // From a spine down to the leaf, or over leaf 0 to another spine.
            return static_cast<std::uint8_t>(leaf_of == UINT32_MAX ? 1 : 1 + leaf_of);
        }
        if (hosts_ + leaf_of == at) {
            return static_cast<std::uint8_t>(1 + to.node % hosts_per_leaf);
        }
        const std::uint32_t spine =
            leaf_of == UINT32_MAX ? to.node - hosts_ - leaves_ : lid % spines;
        return static_cast<std::uint8_t>(1 + hosts_per_leaf + spine);
    }

    std::uint32_t hosts_;
    std::uint32_t leaves_;
    std::uint8_t lmc_;
    std::uint16_t lid_end_ = 0;
};

/// An answer of the SA, parsed.
struct Answer {
    std::uint16_t status = 0xFFFF;  ///< The initial value stands for no answer at all.
    wire::MadRepr mad;
    wire::RmppHeader rmpp;
    wire::SaHeader header;
    std::vector<std::uint8_t> data;

    template <wire::Attribute Record>
    std::vector<Record> records() const {
        std::vector<Record> found;
        const std::size_t step = header.attribute_offset * std::size_t{8};
        for (std::size_t at = 0; step != 0 && at + Record::kBytes <= data.size(); at += step) {
            found.push_back(*wire::parse<Record>(std::span(data).subspan(at)));
            if ((rmpp.rmpp_flags & wire::rmpp_flag::kActive) == 0) {
                break;  // There is one record, with padding after it.
            }
        }
        return found;
    }
};

inline constexpr std::uint16_t kNoAnswer = 0xFFFF;

inline Answer take_apart(const std::vector<std::uint8_t>& message) {
    wire::MadBytes first{};
    std::copy_n(message.begin(), std::min(message.size(), first.size()), first.begin());
    Answer answer;
    answer.mad = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(first));
    answer.status = answer.mad.status;
    answer.rmpp = wire::Sa<const std::uint8_t>(first).rmpp();
    answer.header = wire::Sa<const std::uint8_t>(first).header();
    answer.data.assign(message.begin() + wire::kSaDataOffset, message.end());
    return answer;
}

/// A client of the SA at one port.
struct Client {
    SubnetAdmin& sa;
    Lid lid;
    std::uint64_t sm_key = 0;
    std::uint64_t now_ns = 0;
    std::uint64_t transaction_id = 1;
    std::uint32_t modifier = 0;

    Answer ask(wire::Method method, wire::SaAttribute attribute, std::uint64_t components,
               std::span<const std::uint8_t> data) {
        wire::MadBytes mad{};
        wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                      .class_version = wire::kSaClassVersion,
                      .method = method,
                      .transaction_id = transaction_id++,
                      .attribute_id = static_cast<std::uint16_t>(attribute),
                      .attribute_modifier = modifier}
            .emit(wire::Mad<std::uint8_t>(mad));
        wire::Sa<std::uint8_t>(mad).set_header({.sm_key = sm_key, .component_mask = components});
        std::vector<std::uint8_t> request(mad.begin(), mad.end());
        request.resize(std::max(request.size(), wire::kSaDataOffset + data.size()));
        std::ranges::copy(data, request.begin() + wire::kSaDataOffset);
        const auto answer = sa.handle(request, lid, Qpn{1}, now_ns);
        return answer ? take_apart(*answer) : Answer{};
    }
    template <wire::Attribute Record>
    Answer ask(wire::Method method, wire::SaAttribute attribute, std::uint64_t components,
               const Record& record) {
        std::array<std::uint8_t, Record::kBytes> bytes;
        wire::emit(record, bytes);
        return ask(method, attribute, components, std::span<const std::uint8_t>(bytes));
    }
    template <wire::Attribute Record>
    Answer get(wire::SaAttribute attribute, std::uint64_t components, const Record& record) {
        return ask(wire::Method::kGet, attribute, components, record);
    }
    template <wire::Attribute Record>
    std::vector<Record> table(wire::SaAttribute attribute, std::uint64_t components,
                              const Record& record) {
        const Answer answer = ask(wire::Method::kGetTable, attribute, components, record);
        last_status = answer.status;
        return answer.records<Record>();
    }
    std::uint16_t last_status = 0;
};

}  // namespace softib::sm::test
