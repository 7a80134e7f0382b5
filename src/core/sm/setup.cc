// SPDX-License-Identifier: BSD-2-Clause
// What a sweep writes: LIDs and port attributes, forwarding tables, port states. Only what differs
// from what the nodes hold is written.
#include <algorithm>

#include "core/base/check.h"
#include "core/sm/manager.h"
#include "core/wire/linear_forwarding_table.h"
#include "core/wire/multicast_forwarding_table.h"

namespace softib::sm {

namespace {

using wire::PortInfo;
using wire::PortState;
using wire::SmAttribute;

constexpr std::size_t kLftBlock = 64;
constexpr std::size_t kMftBlock = 32;
constexpr std::uint8_t kSwitchLifeTime = 18;
constexpr std::uint8_t kHoqLife = 18;

template <wire::Attribute T>
SmpRequest set_request(Purpose purpose, const DirectedPath& path, SmAttribute attribute,
                       std::uint32_t modifier, const T& value) {
    SmpRequest request;
    request.purpose = purpose;
    request.path = path;
    request.method = wire::Method::kSet;
    request.attribute = attribute;
    request.modifier = modifier;
    wire::emit(value, request.data);
    return request;
}

/// The fields of a Set in which zero means "as it is".
void clear_wishes(PortInfo& info) {
    info.port_state = PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    info.link_down_default_state = wire::LinkDownDefaultState::kNoChange;
    info.link_width_enabled = 0;
    info.link_speed_enabled = 0;
    info.link_speed_ext_enabled = 0;
    info.client_reregister = false;
}

}  // namespace

/// Ports keep the LID they ever had; a port that brings one from another manager keeps that if it
/// is free. New ones take the lowest, adapters before switches, by GUID.
void Manager::assign_lids() {
    std::vector<bool> used(kLidMulticastMin.value, false);
    const auto take = [&](Lid base, std::uint8_t lmc) {
        for (std::size_t i = 0; i < (std::size_t{1} << lmc); ++i) {
            used[base.value + i] = true;
        }
    };
    const auto lmc_of = [&](EndPort end) -> std::uint8_t {
        return subnet_.node(end.node).is_switch() ? 0 : config_.lmc;
    };
    const auto is_free = [&](std::size_t base, std::uint8_t lmc) {
        const std::size_t count = std::size_t{1} << lmc;
        if (base == 0 || base % count != 0 || base + count > used.size()) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (used[base + i]) {
                return false;
            }
        }
        return true;
    };
    for (const auto& [guid, lid] : config_.lids) {
        take(lid, config_.lmc);
    }
    std::vector<EndPort> fresh;
    subnet_.for_each_end_port([&](EndPort end) {
        if (!config_.lids.contains(subnet_.port(end).guid.value)) {
            fresh.push_back(end);
        }
    });
    std::ranges::sort(fresh, {}, [&](EndPort end) {
        return std::pair(subnet_.node(end.node).is_switch(), subnet_.port(end).guid.value);
    });
    std::erase_if(fresh, [&](EndPort end) {
        const PortInfo& info = subnet_.port(end).info;
        if (!is_free(info.lid.value, lmc_of(end))) {
            return false;
        }
        take(info.lid, lmc_of(end));
        config_.lids[subnet_.port(end).guid.value] = info.lid;
        return true;
    });
    std::size_t next = 1;
    for (const EndPort end : fresh) {
        const std::uint8_t lmc = lmc_of(end);
        const std::size_t step = std::size_t{1} << lmc;
        next = (next + step - 1) / step * step;
        while (next + step <= used.size() && !is_free(next, lmc)) {
            next += step;
        }
        if (next + step > used.size()) {
            event({.kind = ManagerEvent::kRoutingFailed,
                   .text = "the subnet has more ports than LIDs: lower the LMC or split it"});
            return;
        }
        const Lid lid{static_cast<std::uint16_t>(next)};
        take(lid, lmc);
        config_.lids[subnet_.port(end).guid.value] = lid;
    }
}

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
        wanted.operational_vls = std::min(port.info.vl_cap, other.vl_cap);
        wanted.hoq_life = kHoqLife;
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
    subnet_.for_each_end_port([&](EndPort end) {
        SubnetPort& port = subnet_.port(end);
        const auto lid = config_.lids.find(port.guid.value);
        if (lid == config_.lids.end()) {
            return;
        }
        const std::optional<EndPort> owner = subnet_.by_lid(lid->second);
        if (!owner || owner->node != end.node || owner->port != end.port) {
            subnet_.set_lid_owner(lid->second,
                                  subnet_.node(end.node).is_switch() ? std::uint8_t{0} : config_.lmc,
                                  end);
            topology_changed_ = true;
            event({.kind = ManagerEvent::kPortAppeared, .node = end.node, .port = end.port, .guid = port.guid});
        }
    });
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

bool Manager::build_graph() {
    routing::GraphBuilder builder;
    switch_of_rank_.clear();
    std::vector<std::uint32_t> rank(subnet_.size(), routing::kNone);
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        const SubnetNode& node = subnet_.node(i);
        if (node.present && node.is_switch()) {
            rank[i] = builder.add_switch(node.guid());
            switch_of_rank_.push_back(i);
        }
    }
    for (const NodeIndex i : switch_of_rank_) {
        const SubnetNode& node = subnet_.node(i);
        for (std::size_t p = 1; p < node.ports.size(); ++p) {
            const SubnetPort& port = node.ports[p];
            if (port.peer != kNoNode && rank[port.peer] != routing::kNone &&
                std::pair(port.peer, std::size_t{port.peer_port}) > std::pair(i, p)) {
                builder.add_cable(rank[i], static_cast<std::uint8_t>(p), rank[port.peer],
                                  port.peer_port);
            }
        }
    }
    std::vector<EndPort> ends;
    subnet_.for_each_end_port([&](EndPort end) { ends.push_back(end); });
    std::ranges::sort(ends, {}, [&](EndPort end) { return subnet_.port(end).guid; });
    std::uint32_t order = 0;
    for (const EndPort end : ends) {
        const SubnetNode& node = subnet_.node(end.node);
        const SubnetPort& port = subnet_.port(end);
        const auto lid = config_.lids.find(port.guid.value);
        if (lid == config_.lids.end()) {
            continue;
        }
        routing::Target target{.guid = port.guid, .lid = lid->second};
        if (node.is_switch()) {
            target.at = rank[end.node];
        } else if (port.peer != kNoNode && rank[port.peer] != routing::kNone) {
            target.at = rank[port.peer];
            target.port = port.peer_port;
            target.lmc = config_.lmc;
            target.order = order++;
        } else {
            continue;
        }
        builder.add_target(target);
    }
    auto graph = builder.build();
    if (!graph) {
        event({.kind = ManagerEvent::kRoutingFailed, .text = graph.error().message});
        return false;
    }
    graph_ = std::move(*graph);
    return true;
}

void Manager::route() {
    for (const std::string& name : {config_.engine, std::string("updn"), std::string("minhop")}) {
        const routing::Engine* engine = routing::find_engine(name);
        if (engine == nullptr) {
            continue;
        }
        auto tables = engine->route(*graph_, config_.routing);
        if (tables) {
            tables_ = std::move(*tables);
            return;
        }
        event({.kind = ManagerEvent::kRoutingFailed, .text = name + ": " + tables.error().message});
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
        if (pending || !(wanted == node.switch_info)) {
            node.switch_info = wanted;
            wanted.port_state_change = true;  // Writing 1 clears it.
            queue(set_request({Purpose::kSetSwitchInfo, 0, index, 0}, node.path,
                              SmAttribute::kSwitchInfo, 0, wanted));
        }
        if (!node.tables_known) {
            node.sl2vl.clear();
        }
        queue_sl_to_vl(index, rank);
        queue_mft(index);
    }
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
            return request;
        }
        node.tables_known = true;
    }
    return std::nullopt;
}

/// Only for engines that need tables of their own; others live with VL = SL as at power-up.
void Manager::queue_sl_to_vl(NodeIndex index, std::uint32_t rank) {
    if (tables_.sl_to_vl.empty()) {
        return;
    }
    SubnetNode& node = subnet_.node(index);
    const std::size_t ports = node.ports.size();
    if (node.sl2vl.size() != ports) {
        node.sl2vl.assign(ports, std::vector<wire::SlToVlMappingTable>(ports));
        for (auto& row : node.sl2vl) {
            for (wire::SlToVlMappingTable& table : row) {
                table.vl.fill(wire::kVlDrop);
            }
        }
    }
    for (std::size_t out = 0; out < ports; ++out) {
        // All in ports of an out port at once, where they agree: one packet instead of many.
        std::vector<wire::SlToVlMappingTable> wanted(ports);
        for (std::size_t in = 0; in < ports; ++in) {
            wanted[in].vl = tables_.sl_to_vl.row(rank, static_cast<std::uint8_t>(in),
                                                 static_cast<std::uint8_t>(out));
        }
        if (wanted == node.sl2vl[out]) {
            continue;
        }
        const bool uniform = std::ranges::all_of(wanted, [&](const auto& w) { return w == wanted[0]; });
        if (uniform && node.switch_info.optimized_sl_to_vl_mapping_programming != 0) {
            const auto modifier = static_cast<std::uint32_t>(1U << 17 | out);
            queue(set_request({Purpose::kSetSlToVl, static_cast<std::uint8_t>(out), index, modifier},
                              node.path, SmAttribute::kSlToVlMappingTable, modifier, wanted[0]));
        } else {
            for (std::size_t in = 0; in < ports; ++in) {
                if (wanted[in] == node.sl2vl[out][in]) {
                    continue;
                }
                const auto modifier = static_cast<std::uint32_t>(in << 8 | out);
                queue(set_request({Purpose::kSetSlToVl, static_cast<std::uint8_t>(out), index, modifier},
                                  node.path, SmAttribute::kSlToVlMappingTable, modifier, wanted[in]));
            }
        }
        node.sl2vl[out] = std::move(wanted);
    }
}

/// One tree per group: the shortest way from every member's switch to the first member's.
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
            table[row][port / 16U] = static_cast<std::uint16_t>(table[row][port / 16U] | 1U << port % 16U);
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
                block.port_mask[i] = first + i < wanted.size() ? wanted[first + i][position] : std::uint16_t{0};
                differs = differs || block.port_mask[i] != node.mft[first + i][position];
                node.mft[first + i][position] = block.port_mask[i];
            }
            if (differs) {
                const auto modifier = static_cast<std::uint32_t>(position << 28 | first / kMftBlock);
                queue(set_request({Purpose::kSetMft, 0, index, modifier}, node.path,
                                  SmAttribute::kMulticastForwardingTable, modifier, block));
            }
        }
    }
}

}  // namespace softib::sm
