// SPDX-License-Identifier: BSD-2-Clause
// Writes port attributes, forwarding tables and port states, as far as they differ from those that
// the nodes hold.
#include <algorithm>

#include "core/base/check.h"
#include "core/sm/lane_requests.h"
#include "core/sm/manager.h"
#include "core/sm/set_request.h"
#include "core/wire/sm/linear_forwarding_table.h"
#include "core/wire/sm/multicast_forwarding_table.h"

namespace softib::sm {

namespace {

using wire::PortInfo;
using wire::PortState;
using wire::SmAttribute;

constexpr std::size_t kLftBlock = 64;
constexpr std::size_t kMftBlock = 32;
constexpr std::uint8_t kSwitchLifeTime = 18;
// HOQLife: how long a packet may wait at a switch port. It is 1 s, or a quarter of that at a port
// to a host, which may have stopped receiving. VLStallCount: after how many packets that waited too
// long the VL stalls.
constexpr std::uint8_t kHoqLife = 18;
constexpr std::uint8_t kLeafHoqLife = 16;
constexpr std::uint8_t kVlStallCount = 7;

}  // namespace

void Manager::setup_port(EndPort end, bool activate) {
    const SubnetNode& node = subnet_.node(end.node);
    SubnetPort& port = subnet_.port(end);
    const bool addressed = !node.is_switch() || end.port == 0;
    PortInfo wanted = port.info;
    if (addressed) {
        const auto lid = config_.lids.find(port.guid.value);
        if (lid == config_.lids.end()) {
            return;
        }
        wanted.mkey = config_.mkey;
        wanted.mkey_protect_bits = config_.mkey_protect_bits;
        wanted.mkey_lease_period = config_.mkey_lease_period;
        wanted.gid_prefix = config_.gid_prefix;
        wanted.lid = lid->second;
        wanted.lmc = node.is_switch() ? std::uint8_t{0} : config_.lmc;
        wanted.master_sm_lid = config_.lids.at(config_.port_guid.value);
        wanted.subnet_time_out = config_.subnet_timeout;
    }
    if (port.peer != kNoNode) {
        const PortInfo& other = subnet_.port({port.peer, port.peer_port}).info;
        wanted.neighbor_mtu = std::min(port.info.mtu_cap, other.mtu_cap);
        set_lane_fields(config_.qos, other.vl_cap, wanted);
        if (node.is_switch()) {
            const bool leaf = !subnet_.node(port.peer).is_switch();
            wanted.hoq_life = leaf ? kLeafHoqLife : kHoqLife;
            wanted.vl_stall_count = kVlStallCount;
        }
        if (config_.partitions && node.is_switch()) {
            const bool enforced = !subnet_.node(port.peer).is_switch() && !port.pkeys.empty();
            wanted.partition_enforcement_inbound =
                enforced && node.switch_info.inbound_enforcement_cap;
            wanted.partition_enforcement_outbound =
                enforced && node.switch_info.outbound_enforcement_cap;
        }
    }
    const bool same = wanted == port.info;
    clear_wishes(wanted);
    if (!(node.is_switch() && end.port == 0)) {
        if (port.info.port_state == PortState::kInit) {
            wanted.port_state = PortState::kArmed;
        } else if (activate && port.info.port_state == PortState::kArmed) {
            wanted.port_state = PortState::kActive;
        }
    }
    if (!node.is_switch() && !activate && !registered_[port.guid.value]) {
        registered_[port.guid.value] = true;
        wanted.client_reregister = true;
    }
    if (same && wanted.port_state == PortState::kNoChange && !wanted.client_reregister) {
        return;
    }
    queue(set_request({Purpose::kSetPortInfo, end.port, end.node, 0}, node.path,
                      SmAttribute::kPortInfo, end.port, wanted));
}

void Manager::begin_setup() {
    assign_lids();
    setup_keys();  // P_Keys must be there before the ports become active.
    subnet_.for_each_end_port([&](EndPort end) {
        SubnetPort& port = subnet_.port(end);
        const auto lid = config_.lids.find(port.guid.value);
        if (lid == config_.lids.end()) {
            return;
        }
        const std::optional<EndPort> owner = subnet_.by_lid(lid->second);
        if (!owner || owner->node != end.node || owner->port != end.port) {
            subnet_.set_lid_owner(
                lid->second, subnet_.node(end.node).is_switch() ? std::uint8_t{0} : config_.lmc,
                end);
            topology_changed_ = true;
            event({.kind = ManagerEvent::kPortAppeared,
                   .node = end.node,
                   .port = end.port,
                   .guid = port.guid});
        }
    });
    setup_aliases();
    begin_activate_or_setup(false);
}

void Manager::begin_activate() {
    begin_activate_or_setup(true);
}

void Manager::begin_activate_or_setup(bool activate) {
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        const SubnetNode& node = subnet_.node(i);
        if (!node.present) {
            continue;
        }
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            const SubnetPort& port = node.ports[p];
            const bool management_port = node.is_switch() && p == 0;
            if (port.known && (management_port || port.peer != kNoNode)) {
                setup_port({i, static_cast<std::uint8_t>(p)}, activate);
            }
        }
    }
}

void Manager::begin_tables() {
    if (topology_changed_ || !graph_) {
        topology_changed_ = false;
        if (!build_graph()) {
            return;
        }
        route();
    }
    compute_trees();
    groups_changed_ = false;
    lft_rank_ = 0;
    lft_block_ = 0;
    const std::uint16_t top = graph_->lid_max().value;
    for (std::uint32_t rank = 0; rank < switch_of_rank_.size(); ++rank) {
        const NodeIndex index = switch_of_rank_[rank];
        SubnetNode& node = subnet_.node(index);
        wire::SwitchInfo wanted = node.switch_info;
        const bool pending = wanted.port_state_change;
        wanted.linear_fdb_top = top;
        wanted.life_time_value = kSwitchLifeTime;
        wanted.port_state_change = false;
        if ((node.ports[0].info.capability_mask &
             wire::port_capability::kIsMulticastFDBTopSupported) != 0) {
            // MulticastFDBTop is the end of a block, so that not every new group changes it.
            const std::size_t blocks = (wanted_mft_[index].size() + kMftBlock - 1) / kMftBlock;
            wanted.multicast_fdb_top =
                static_cast<std::uint16_t>(kLidMulticastMin.value + blocks * kMftBlock - 1);
        }
        if (pending || !(wanted == node.switch_info)) {
            node.switch_info = wanted;
            wanted.port_state_change = true;  // Writing 1 clears it.
            queue(set_request({Purpose::kSetSwitchInfo, 0, index, 0}, node.path,
                              SmAttribute::kSwitchInfo, 0, wanted));
        }
        if (!node.tables_known) {
            forget_lanes(node);
            node.adaptive.forget();
        }
        queue_sl_to_vl(index, rank);
        queue_mft(index);
    }
    queue_port_lanes();
}

std::optional<SmpRequest> Manager::next_lft_block() {
    const std::uint32_t blocks = graph_ ? tables_.lfts.block_count() : 0;
    for (; lft_rank_ < switch_of_rank_.size(); ++lft_rank_, lft_block_ = 0) {
        const NodeIndex index = switch_of_rank_[lft_rank_];
        SubnetNode& node = subnet_.node(index);
        node.lft.resize(std::max(node.lft.size(), std::size_t{blocks} * kLftBlock), kLftNoPath);
        for (; lft_block_ < blocks; ++lft_block_) {
            const auto block = tables_.lfts.block(lft_rank_, lft_block_);
            const auto written =
                node.lft.begin() + static_cast<std::ptrdiff_t>(lft_block_ * kLftBlock);
            if (node.tables_known && std::ranges::equal(block, std::span(&*written, kLftBlock))) {
                continue;
            }
            std::ranges::copy(block, written);
            SmpRequest request;
            request.purpose = {Purpose::kSetLft, 0, index, lft_block_};
            request.path = node.path;
            request.method = wire::Method::kSet;
            request.attribute = SmAttribute::kLinearForwardingTable;
            request.modifier = lft_block_;
            std::ranges::copy(block, request.data.begin());
            ++lft_block_;
            ++stats_.lft_blocks;
            node.adaptive.on = false;
            return request;
        }
        node.tables_known = true;
    }
    return std::nullopt;
}

/// Computes one tree per group: the shortest way from each member's switch to the first member's.
void Manager::compute_trees() {
    wanted_mft_.assign(subnet_.size(), {});
    if (groups_.empty()) {
        return;
    }
    std::vector<EndPort> towards_root(subnet_.size());
    for (const McastTree& group : groups_) {
        if (group.members.empty() || !is_multicast(group.mlid)) {
            continue;
        }
        const std::size_t row = group.mlid.value - std::size_t{kLidMulticastMin.value};
        const auto add = [&](NodeIndex sw, std::uint8_t port) {
            auto& table = wanted_mft_[sw];
            if (table.size() <= row) {
                table.resize(row + 1);
            }
            table[row][port / 16U] =
                static_cast<std::uint16_t>(table[row][port / 16U] | 1U << port % 16U);
        };
        const auto switch_of = [&](EndPort end) -> EndPort {
            if (subnet_.node(end.node).is_switch()) {
                return {end.node, 0};
            }
            const SubnetPort& port = subnet_.port(end);
            return {port.peer, port.peer_port};
        };
        NodeIndex root = kNoNode;
        for (const EndPort member : group.members) {
            const EndPort at = switch_of(member);
            if (root == kNoNode && at.node != kNoNode && subnet_.node(at.node).present) {
                root = at.node;
            }
        }
        if (root == kNoNode || !subnet_.node(root).is_switch()) {
            continue;
        }
        std::ranges::fill(towards_root, EndPort{});
        std::vector<NodeIndex> queue{root};
        towards_root[root] = {root, 0};
        for (std::size_t head = 0; head < queue.size(); ++head) {
            const SubnetNode& node = subnet_.node(queue[head]);
            for (const SubnetPort& port : node.ports) {
                if (port.peer != kNoNode && subnet_.node(port.peer).is_switch() &&
                    towards_root[port.peer].node == kNoNode) {
                    towards_root[port.peer] = {queue[head], port.peer_port};
                    queue.push_back(port.peer);
                }
            }
        }
        for (const EndPort member : group.members) {
            const EndPort at = switch_of(member);
            if (at.node == kNoNode || towards_root[at.node].node == kNoNode) {
                continue;
            }
            add(at.node, at.port);
            for (NodeIndex sw = at.node; sw != root;) {
                const std::uint8_t up = towards_root[sw].port;
                const SubnetPort& cable = subnet_.node(sw).ports[up];
                add(sw, up);
                add(cable.peer, cable.peer_port);
                sw = cable.peer;
            }
        }
    }
}

void Manager::queue_mft(NodeIndex index) {
    SubnetNode& node = subnet_.node(index);
    const auto& wanted = wanted_mft_[index];
    if (!node.tables_known) {
        node.mft.clear();
    }
    const std::size_t rows = std::max(wanted.size(), node.mft.size());
    node.mft.resize((rows + kMftBlock - 1) / kMftBlock * kMftBlock);
    for (std::size_t first = 0; first < node.mft.size(); first += kMftBlock) {
        for (std::uint32_t position = 0; position * 16 < node.ports.size(); ++position) {
            wire::MulticastForwardingTable block;
            bool differs = !node.tables_known;
            for (std::size_t i = 0; i < kMftBlock; ++i) {
                block.port_mask[i] =
                    first + i < wanted.size() ? wanted[first + i][position] : std::uint16_t{0};
                differs = differs || block.port_mask[i] != node.mft[first + i][position];
                node.mft[first + i][position] = block.port_mask[i];
            }
            if (differs) {
                const auto modifier =
                    static_cast<std::uint32_t>(position << 28 | first / kMftBlock);
                queue(set_request({Purpose::kSetMft, 0, index, modifier}, node.path,
                                  SmAttribute::kMulticastForwardingTable, modifier, block));
            }
        }
    }
}

}  // namespace softib::sm
