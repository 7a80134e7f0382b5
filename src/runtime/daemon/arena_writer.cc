// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/arena_writer.h"

#include <algorithm>
#include <utility>

#include "runtime/daemon/lane_writer.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/shm_lock.h"

namespace softib::daemon {

bool ArenaWriter::apply(agent::Mesh& mesh) {
    std::optional<agent::NodeUpdate> update = mesh.poll_update();
    if (!update) {
        return false;
    }
    // Packets that were sent before took the routes before the change.
    settle_all(arena_, shm::kDaemonOwner);
    do {
        write(mesh, *update);
        update = mesh.poll_update();
    } while (update);
    arena_.header->route_generation.fetch_add(1, std::memory_order_release);
    return true;
}

PortState ArenaWriter::shown(const wire::PortInfo& info) const {
    return adapters_run_ ? info.port_state : PortState::kDown;
}

void ArenaWriter::set_adapters_run(const agent::Mesh& mesh, bool run) {
    if (std::exchange(adapters_run_, run) == run) {
        return;
    }
    for (agent::NodeId i = 0; i < mesh.size(); ++i) {
        if (places_[i].kind == shm::NodeRef::kHca) {
            write_hca(mesh.node(i), places_[i].index);
        }
    }
    arena_.header->route_generation.fetch_add(1, std::memory_order_release);
}

void ArenaWriter::raise(std::uint32_t hca, hca::AsyncKind kind) {
    events_.signal_port(hca, {0, static_cast<std::uint32_t>(kind), 1});
}

void ArenaWriter::own_lids(std::uint16_t first, std::uint8_t lmc, const shm::NodeRef& owner) {
    for (std::uint32_t lid = first; lid < first + (1U << lmc) && lid < shm::kLftEntries; ++lid) {
        if (lid != 0) {
            arena_.lid_owner[lid] = owner;
        }
    }
}

/// Copies an update of one node to the arena, with a function for each kind of update. Values that
/// the direct path does not use are for the carrier.
struct ArenaWriter::Follower {
    ArenaWriter& self;
    const agent::Node& node;
    const shm::NodeRef& place;

    bool at_hca() const { return place.kind == shm::NodeRef::kHca; }
    bool at_switch() const { return place.kind == shm::NodeRef::kSwitch; }

    void operator()(const agent::PortUpdate& update) const {
        if (at_hca()) {
            self.write_hca(node, place.index);
        } else if (at_switch()) {
            self.write_switch_port(node, place.index, update.port);
        }
    }
    void operator()(const agent::PartitionUpdate& update) const {
        if (at_hca()) {
            for (std::uint16_t i = 0; i < shm::kPKeysPerPort; ++i) {
                self.arena_.hcas[place.index].pkeys[i].store(node.pkey(1, i).value,
                                                             std::memory_order_relaxed);
            }
            self.raise(place.index, hca::AsyncKind::kPKeyChange);
        } else if (at_switch()) {
            self.write_partitions(node, place.index, update.port);
        }
    }
    void operator()(const agent::AliasUpdate&) const {
        if (at_hca()) {
            self.write_guids(node, place.index);
        }
    }
    void operator()(const agent::RouteUpdate& update) const {
        if (at_switch()) {
            self.write_lft(node, place.index, update.block);
        }
    }
    void operator()(const agent::GroupUpdate& update) const {
        if (at_switch()) {
            self.write_mft(node, place.index, update.block);
        }
    }
    void operator()(const agent::LaneUpdate& update) const {
        write_lanes(self.arena_, place, node, update.port);
    }
    void operator()(const agent::ArbitrationUpdate& update) const {
        write_lanes(self.arena_, place, node, update.port);
    }
    void operator()(const agent::ErrorLimitUpdate& update) const {
        write_lanes(self.arena_, place, node, update.port);
    }
    void operator()(const agent::LifetimeUpdate& update) const {
        write_lanes(self.arena_, place, node, update.port);
    }
    void operator()(const agent::MarkingUpdate&) const {
        for (std::uint8_t port = 1; at_switch() && port <= node.port_count(); ++port) {
            write_lanes(self.arena_, place, node, port);
        }
    }
    void operator()(const agent::InjectionUpdate& update) const {
        if (at_hca() && update.port == 1) {
            write_injection(self.arena_, place.index, node);
        }
    }
    void operator()(const agent::AdaptiveUpdate&) const {
        if (at_switch()) {
            write_adaptive(self.arena_, place.index, node);
        }
    }
    void operator()(const agent::ReregisterUpdate&) const {
        if (at_hca()) {
            self.raise(place.index, hca::AsyncKind::kClientReregister);
        }
    }
};

void ArenaWriter::write(const agent::Mesh& mesh, const agent::NodeUpdate& entry) {
    std::visit(Follower{*this, mesh.node(entry.node), places_[entry.node]}, entry.update);
}

void ArenaWriter::write_lft(const agent::Node& node, std::uint32_t index, std::uint16_t block) {
    const std::uint32_t first = std::uint32_t{block} * agent::kLftBlock;
    for (std::uint32_t lid = first; lid < first + agent::kLftBlock && lid < shm::kLftEntries;
         ++lid) {
        const Lid dlid{static_cast<std::uint16_t>(lid)};
        const std::uint8_t port = node.forward(dlid);
        arena_.lft(index, dlid).store(port, std::memory_order_relaxed);
        if (port != sw::kNoPath) {
            // The LID may belong to a node behind a trunk.
            arena_.header->lid_max = std::max(arena_.header->lid_max, lid);
        }
    }
}

void ArenaWriter::write_hca(const agent::Node& node, std::uint32_t index) {
    shm::HcaRecord& record = arena_.hcas[index];
    const wire::PortInfo& info = node.port(1);
    record.totals.link_downed.store(node.link_downed(1), std::memory_order_relaxed);
    if (arena_.header->link_layer == hca::LinkLayer::kEthernet) {
        write_ethernet_port(index, shown(info));
        return;
    }
    const std::uint16_t old_lid = record.lid.load(std::memory_order_relaxed);
    const bool lid_moved = old_lid != info.lid.value || record.lmc != info.lmc;
    const bool sm_moved =
        record.sm_lid != info.master_sm_lid.value || record.sm_sl != info.master_sm_sl;
    const bool prefix_moved = record.gid_prefix != info.gid_prefix;
    if (lid_moved) {
        own_lids(old_lid, record.lmc, {});
        own_lids(info.lid.value, info.lmc, {shm::NodeRef::kHca, index});
        arena_.header->lid_max =
            std::max<std::uint32_t>(arena_.header->lid_max, info.lid.value + (1U << info.lmc) - 1U);
    }
    record.lmc = info.lmc;
    record.lid.store(info.lid.value, std::memory_order_relaxed);
    record.sm_lid = info.master_sm_lid.value;
    record.sm_sl = info.master_sm_sl;
    record.gid_prefix = info.gid_prefix;
    record.capability_mask = info.capability_mask;
    const PortState state = shown(info);
    const PortState before = record.state.exchange(state, std::memory_order_relaxed);
    if (before != state && (state == PortState::kActive || before == PortState::kActive)) {
        raise(index,
              state == PortState::kActive ? hca::AsyncKind::kPortActive : hca::AsyncKind::kPortErr);
    }
    if (state != PortState::kActive || before != PortState::kActive) {
        return;  // A program reads the other values when the port becomes active.
    }
    if (lid_moved) {
        raise(index, hca::AsyncKind::kLidChange);
    }
    if (sm_moved) {
        raise(index, hca::AsyncKind::kSmChange);
    }
    if (prefix_moved) {
        raise(index, hca::AsyncKind::kGidChange);
    }
}

/// Writes the state of an Ethernet port, which is active whenever it has a cable: it has no manager
/// and no LID.
void ArenaWriter::write_ethernet_port(std::uint32_t index, PortState state) {
    const PortState wanted = state == PortState::kDown ? PortState::kDown : PortState::kActive;
    if (arena_.hcas[index].state.exchange(wanted, std::memory_order_relaxed) != wanted) {
        raise(index, wanted == PortState::kActive ? hca::AsyncKind::kPortActive
                                                  : hca::AsyncKind::kPortErr);
    }
}

void ArenaWriter::write_guids(const agent::Node& node, std::uint32_t index) {
    shm::HcaRecord& record = arena_.hcas[index];
    bool moved = false;
    for (std::uint16_t i = 1; i < shm::kGidsPerPort; ++i) {
        const std::uint64_t guid = node.guid(1, i).value;
        moved = record.alias_guids[i].exchange(guid, std::memory_order_relaxed) != guid || moved;
    }
    if (moved) {
        raise(index, hca::AsyncKind::kGidChange);
    }
}

/// Copies a block of a multicast forwarding table. An entry without ports that was never written is
/// not touched, so that it takes no memory.
void ArenaWriter::write_mft(const agent::Node& node, std::uint32_t index, std::uint16_t block) {
    const std::uint32_t first = std::uint32_t{block} * agent::kMftBlock;
    for (std::uint32_t entry = first; entry < first + agent::kMftBlock && entry < shm::kMftEntries;
         ++entry) {
        const Lid mlid{static_cast<std::uint16_t>(kLidMulticastMin.value + entry)};
        for (std::uint32_t word = 0; word < arena_.header->mft_words; ++word) {
            std::uint64_t mask = 0;
            for (std::uint32_t bit = 0; bit < 64 && word * 64 + bit <= node.port_count(); ++bit) {
                const auto port = static_cast<std::uint8_t>(word * 64 + bit);
                mask |= std::uint64_t{node.forwards_multicast(mlid, port)} << bit;
            }
            if (mask == arena_.mft_ports(index, mlid, word)) {
                continue;
            }
            arena_.mft(index, entry, word).store(mask, std::memory_order_relaxed);
            if (entry >= arena_.header->mft_top.load(std::memory_order_relaxed)) {
                arena_.header->mft_top.store(entry + 1, std::memory_order_release);
            }
        }
    }
}

void ArenaWriter::write_switch_port(const agent::Node& node, std::uint32_t index,
                                    std::uint8_t port) {
    shm::SwitchRecord& record = arena_.switches[index];
    const wire::PortInfo& info = node.port(port);
    if (port == 0) {
        const std::uint16_t old_lid = record.lid.load(std::memory_order_relaxed);
        if (old_lid != info.lid.value) {
            own_lids(old_lid, 0, {});
            own_lids(info.lid.value, 0, {shm::NodeRef::kSwitch, index});
            record.lid.store(info.lid.value, std::memory_order_relaxed);
            arena_.header->lid_max =
                std::max<std::uint32_t>(arena_.header->lid_max, info.lid.value);
        }
        return;
    }
    if (port < record.port_count) {
        shm::SwitchPortRecord& at = arena_.switch_ports[record.port_first + port];
        // No manager makes an Ethernet's ports active; a cable does.
        const bool is_ethernet = arena_.header->link_layer == hca::LinkLayer::kEthernet;
        at.state.store(is_ethernet && info.port_state != PortState::kDown ? PortState::kActive
                                                                          : info.port_state,
                       std::memory_order_relaxed);
        at.totals.link_downed.store(node.link_downed(port), std::memory_order_relaxed);
    }
}

void ArenaWriter::write_partitions(const agent::Node& node, std::uint32_t index,
                                   std::uint8_t port) {
    const shm::SwitchRecord& record = arena_.switches[index];
    if (port == 0 || port >= record.port_count) {
        return;
    }
    shm::SwitchPortRecord& at = arena_.switch_ports[record.port_first + port];
    const wire::PortInfo& info = node.port(port);
    const auto enforcement = static_cast<std::uint8_t>(
        (info.partition_enforcement_inbound ? shm::kEnforceInbound : 0) |
        (info.partition_enforcement_outbound ? shm::kEnforceOutbound : 0));
    at.enforcement.store(enforcement, std::memory_order_relaxed);
    for (std::uint16_t i = 0; i < shm::kPKeysPerPort; ++i) {
        at.pkeys[i].store(node.pkey(port, i).value, std::memory_order_relaxed);
    }
}

}  // namespace softib::daemon
