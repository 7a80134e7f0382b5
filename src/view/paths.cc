// SPDX-License-Identifier: BSD-2-Clause
#include "view/paths.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>

#include "view/names.h"

namespace softib::view {

namespace {

using shm::NodeRef;

constexpr std::uint8_t kNowhere = 0xFF;
constexpr std::uint32_t kHopsMax = 64;  // IBA vol. 1, 14.2.1.2: longer paths cannot be configured.
constexpr std::uint16_t kFullMember = 0x8000;

bool is_up(const shm::SwitchPortRecord& port) {
    return port.state.load(std::memory_order_relaxed) == PortState::kActive;
}

/// The port through which a switch forwards a packet to a LID, or why it does not.
struct Step {
    std::uint8_t port = kNowhere;
    std::string trouble;
};
Step step_at(const shm::Arena& arena, std::uint32_t sw, Lid to) {
    const shm::SwitchRecord& record = arena.switches[sw];
    const std::uint8_t port = arena.lft(sw, to).load(std::memory_order_relaxed);
    if (port == kNowhere || port >= record.port_count) {
        return {kNowhere, fmt::format("{} has no route to LID {}", record.name, to.value)};
    }
    if (port != 0 && !is_up(arena.switch_ports[record.port_first + port])) {
        return {port, fmt::format("{}:{} is not active", record.name, port)};
    }
    return {port, ""};
}

bool same(const NodeRef& a, const NodeRef& b) {
    return a.kind == b.kind && a.index == b.index;
}

}  // namespace

std::optional<NodeRef> find_node(const shm::Arena& arena, std::string_view name) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        if (name == arena.switches[i].name) {
            return NodeRef{NodeRef::kSwitch, i};
        }
    }
    const std::string_view host = name.substr(0, name.rfind('/'));
    for (std::uint32_t i = 0; i < arena.header->hosts; ++i) {
        const shm::HostRecord& record = arena.hosts[i];
        if (record.hca_count != 0 && name == record.name) {
            return NodeRef{NodeRef::kHca, record.hca_first};
        }
        if (host != record.name) {
            continue;
        }
        for (std::uint32_t h = 0; h < record.hca_count; ++h) {
            if (name.substr(host.size() + 1) == arena.hcas[record.hca_first + h].name) {
                return NodeRef{NodeRef::kHca, record.hca_first + h};
            }
        }
    }
    return std::nullopt;
}

Lid lid_of(const shm::Arena& arena, const NodeRef& node) {
    return Lid{node.kind == NodeRef::kSwitch
                   ? arena.switches[node.index].lid.load(std::memory_order_relaxed)
                   : arena.hcas[node.index].lid.load(std::memory_order_relaxed)};
}

Path trace(const shm::Arena& arena, const NodeRef& from, const NodeRef& to) {
    Path path;
    const Lid lid = lid_of(arena, to);
    if (lid == kLidUnassigned) {
        path.trouble = fmt::format("{} has no LID", node_name(arena, to));
        return path;
    }
    NodeRef at = from;
    std::uint32_t in_port = 0;
    for (std::uint32_t hops = 0; hops < kHopsMax; ++hops) {
        path.hops.push_back({node_name(arena, at), in_port, 0});
        if (same(at, to)) {
            return path;
        }
        if (at.kind == NodeRef::kHca) {
            const shm::HcaRecord& hca = arena.hcas[at.index];
            if (in_port != 0 || hca.peer_switch >= arena.header->switches ||
                hca.state.load(std::memory_order_relaxed) != PortState::kActive) {
                path.trouble = in_port != 0 ? fmt::format("the route ends at {}, which is another",
                                                          node_name(arena, at))
                                            : fmt::format("{} is not active", node_name(arena, at));
                return path;
            }
            path.hops.back().out_port = 1;
            in_port = hca.peer_port;
            at = {NodeRef::kSwitch, hca.peer_switch};
            continue;
        }
        const Step step = step_at(arena, at.index, lid);
        path.hops.back().out_port = step.port == kNowhere ? 0 : step.port;
        path.trouble = step.trouble;
        if (!step.trouble.empty() || step.port == 0) {
            return path;
        }
        const shm::SwitchPortRecord& out =
            arena.switch_ports[arena.switches[at.index].port_first + step.port];
        in_port = out.peer.kind == NodeRef::kHca ? 1U : out.peer_port;
        at = out.peer;
    }
    path.trouble = fmt::format("the route to LID {} goes in a circle", lid.value);
    return path;
}

std::vector<MulticastTree> multicast_trees(const shm::Arena& arena) {
    std::vector<MulticastTree> trees;
    const std::uint32_t top = arena.header->mft_top.load(std::memory_order_acquire);
    for (std::uint32_t entry = 0; entry < top; ++entry) {
        MulticastTree tree;
        tree.mlid = Lid{static_cast<std::uint16_t>(kLidMulticastMin.value + entry)};
        for (std::uint32_t sw = 0; sw < arena.header->switches; ++sw) {
            for (std::uint32_t word = 0; word < arena.header->mft_words; ++word) {
                for (std::uint64_t bits = arena.mft_ports(sw, tree.mlid, word); bits != 0;
                     bits &= bits - 1) {
                    const auto port =
                        word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
                    tree.ports.push_back(fmt::format("{}:{}", arena.switches[sw].name, port));
                }
            }
        }
        if (tree.ports.empty()) {
            continue;
        }
        for (std::uint32_t i = 0; i < shm::kMcastGroupsMax; ++i) {
            const shm::McastGroup& group = arena.mcast[i];
            if (group.members != 0 && group.mlid == tree.mlid.value) {
                Gid gid{};
                std::memcpy(gid.bytes.data(), group.mgid, sizeof group.mgid);
                tree.groups.push_back(gid);
            }
        }
        trees.push_back(std::move(tree));
    }
    return trees;
}

std::vector<Partition> partitions(const shm::Arena& arena) {
    std::map<std::uint16_t, Partition> found;
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        const std::string name = node_name(arena, NodeRef{NodeRef::kHca, i});
        for (const std::atomic<std::uint16_t>& entry : arena.hcas[i].pkeys) {
            const std::uint16_t key = entry.load(std::memory_order_relaxed);
            if ((key & ~kFullMember) == 0) {
                continue;
            }
            Partition& partition = found[key & static_cast<std::uint16_t>(~kFullMember)];
            ((key & kFullMember) != 0 ? partition.full : partition.limited).push_back(name);
        }
    }
    std::vector<Partition> list;
    for (auto& [key, partition] : found) {
        partition.pkey = PKey{key};
        list.push_back(std::move(partition));
    }
    return list;
}

}  // namespace softib::view
