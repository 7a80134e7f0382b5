// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/arena_source.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>

#include "runtime/shm/counters.h"
#include "runtime/shm/rpc.h"
#include "telemetry/clocks.h"
#include "telemetry/health.h"
#include "telemetry/watch.h"
#include "view/names.h"

namespace softib::telemetry {

namespace {

constexpr timeval kAnswerPatience{5, 0};

bool is_cabled(const shm::HcaRecord& hca) {
    return hca.peer_port != 0;
}
bool is_cabled(const shm::SwitchPortRecord& port) {
    return port.peer_port != 0;
}

/// Calls one of the functions for each cabled port of the arena, in the order of the inventory:
/// first the ports of HCAs, then those of switches.
template <typename OfHca, typename OfSwitch>
void for_each_port(const shm::Arena& arena, OfHca&& of_hca, OfSwitch&& of_switch) {
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        if (is_cabled(arena.hcas[i])) {
            of_hca(i, arena.hcas[i]);
        }
    }
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        for (std::uint32_t p = 1; p < sw.port_count; ++p) {
            if (is_cabled(arena.switch_ports[sw.port_first + p])) {
                of_switch(i, p, arena.switch_ports[sw.port_first + p]);
            }
        }
    }
}

/// Returns a port with the speed of its generation, and with the lower rate that a fault of the
/// cable sets (softib fault --rate).
Port port_of(std::uint32_t node, std::uint32_t number, std::uint8_t generation,
             const shm::LinkFaults& faults) {
    const topo::LinkSpeed speed = topo::link_speed(static_cast<topo::Generation>(generation));
    const std::uint32_t limit = faults.rate_mbps.load(std::memory_order_relaxed);
    return {.node = node,
            .number = static_cast<std::uint8_t>(number),
            .lanes = 4,
            .guid = {},
            .peer = kNoIndex,
            .nominal_mbps = speed.mbps,
            .active_mbps = limit == 0 ? speed.mbps : std::min(limit, speed.mbps),
            .speed = speed.name};
}

void add_nodes(const shm::Arena& arena, Inventory& inventory) {
    for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
        const shm::HcaRecord& hca = arena.hcas[i];
        inventory.nodes.push_back({.guid = Guid{hca.node_guid},
                                   .system_guid = Guid{hca.system_image_guid},
                                   .name = view::node_name(arena, {shm::NodeRef::kHca, i}),
                                   .kind = topo::NodeKind::kHca,
                                   .lid = Lid{hca.lid.load(std::memory_order_relaxed)}});
    }
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena.switches[i];
        inventory.nodes.push_back({.guid = Guid{sw.node_guid},
                                   .system_guid = Guid{sw.node_guid},
                                   .name = sw.name,
                                   .kind = topo::NodeKind::kSwitch,
                                   .lid = Lid{sw.lid.load(std::memory_order_relaxed)}});
    }
}

Notice::Kind kind_of(shm::request::NoticeKind kind) {
    using enum shm::request::NoticeKind;
    switch (kind) {
        case kSweep:
            return Notice::kSweep;
        case kPortAppeared:
            return Notice::kPortAppeared;
        case kPortVanished:
            return Notice::kPortVanished;
        case kTrap:
            return Notice::kTrap;
        case kManagerState:
            return Notice::kManagerState;
        case kRoutingFailed:
            return Notice::kRoutingFailed;
        case kSilentNode:
            return Notice::kSilentNode;
        case kWarning:
            break;
    }
    return Notice::kWarning;
}

}  // namespace

Inventory read_inventory(const shm::Arena& arena) {
    Inventory inventory;
    inventory.fabric = arena.header->fabric_name;
    inventory.has_lids = arena.header->link_layer != hca::LinkLayer::kEthernet;
    add_nodes(arena, inventory);
    // Index in the inventory of each HCA's port, and of each row in the table of switch ports.
    std::vector<std::uint32_t> of_hca(arena.header->hcas, kNoIndex);
    std::vector<std::uint32_t> of_port(arena.header->switch_ports, kNoIndex);
    const auto add = [&](std::uint32_t node, Port port) {
        const auto index = static_cast<std::uint32_t>(inventory.ports.size());
        Node& owner = inventory.nodes[node];
        owner.port_first = owner.port_count == 0 ? index : owner.port_first;
        ++owner.port_count;
        inventory.ports.push_back(std::move(port));
        return index;
    };
    for_each_port(
        arena,
        [&](std::uint32_t i, const shm::HcaRecord& hca) {
            of_hca[i] = add(i, port_of(i, 1, hca.generation, hca.faults));
            inventory.ports.back().guid = Guid{hca.port_guid};
        },
        [&](std::uint32_t i, std::uint32_t p, const shm::SwitchPortRecord& port) {
            const std::uint32_t node = arena.header->hcas + i;
            of_port[arena.switches[i].port_first + p] =
                add(node, port_of(node, p, port.generation, port.faults));
            inventory.ports.back().guid = Guid{arena.switches[i].node_guid};
        });
    const auto at_switch = [&](std::uint32_t sw, std::uint32_t number) {
        return sw < arena.header->switches && number < arena.switches[sw].port_count
                   ? of_port[arena.switches[sw].port_first + number]
                   : kNoIndex;
    };
    std::uint32_t index = 0;
    for_each_port(
        arena,
        [&](std::uint32_t, const shm::HcaRecord& hca) {
            inventory.ports[index++].peer = at_switch(hca.peer_switch, hca.peer_port);
        },
        [&](std::uint32_t, std::uint32_t, const shm::SwitchPortRecord& port) {
            std::uint32_t& peer = inventory.ports[index++].peer;
            if (port.peer.kind == shm::NodeRef::kHca && port.peer.index < of_hca.size()) {
                peer = of_hca[port.peer.index];
            } else if (port.peer.kind == shm::NodeRef::kSwitch) {
                peer = at_switch(port.peer.index, port.peer_port);
            }
        });
    assign_tiers(inventory);
    return inventory;
}

Sample read_sample(const shm::Arena& arena) {
    Sample sample;
    const auto add = [&](const shm::PortTotals& totals, const std::atomic<PortState>& state) {
        sample.counts.push_back(shm::read_totals(totals));
        sample.states.push_back(state.load(std::memory_order_relaxed));
    };
    for_each_port(
        arena, [&](std::uint32_t, const shm::HcaRecord& hca) { add(hca.totals, hca.state); },
        [&](std::uint32_t, std::uint32_t, const shm::SwitchPortRecord& port) {
            add(port.totals, port.state);
        });
    sample.fresh.assign(sample.counts.size(), 1);
    sample.time_ns = monotonic_ns();
    sample.wall_us = wall_us();
    return sample;
}

std::vector<view::Check> check_now(const shm::Arena& arena) {
    Snapshot snapshot;
    snapshot.number = 1;
    snapshot.inventory = std::make_shared<const Inventory>(read_inventory(arena));
    snapshot.sample = read_sample(arena);
    snapshot.rates.resize(snapshot.sample.counts.size());
    EventBook book;
    Watch watch({});
    watch.follow({}, snapshot, {}, book);
    snapshot.outage = watch.outage();
    return check_health(snapshot, book.alarms());
}

ArenaSource::ArenaSource(std::string dir) : dir_(std::move(dir)) {}

ArenaSource::~ArenaSource() {
    disconnect();
}

void ArenaSource::disconnect() {
    if (arena_.base != nullptr) {
        shm::arena_unmap(arena_);
        arena_ = {};
    }
    if (daemon_ >= 0) {
        close(daemon_);
        daemon_ = -1;
    }
}

std::string ArenaSource::name() const {
    return "fabric " + dir_.substr(dir_.rfind('/') + 1);
}

std::expected<void, std::string> ArenaSource::connect() {
    const auto failed = [&](int error) {
        disconnect();
        return std::unexpected(fmt::format("{} does not answer: {}; start it with: softib up",
                                           name(), std::strerror(error)));
    };
    daemon_ = shm::rpc_connect(dir_.c_str());
    if (daemon_ < 0) {
        return failed(errno);
    }
    setsockopt(daemon_, SOL_SOCKET, SO_RCVTIMEO, &kAnswerPatience, sizeof kAnswerPatience);
    setsockopt(daemon_, SOL_SOCKET, SO_SNDTIMEO, &kAnswerPatience, sizeof kAnswerPatience);
    shm::Message message;
    shm::request::OneFile file;
    if (const int error = shm::rpc_ask(daemon_, shm::request::Observe{}, message, file);
        error != 0) {
        return failed(error);
    }
    arena_ = shm::arena_map(file.file, false);
    if (arena_.base == nullptr) {
        const int error = errno;
        close(file.file);
        return failed(error);
    }
    return {};
}

std::vector<Notice> ArenaSource::take_notices() {
    std::vector<Notice> notices;
    while (true) {
        shm::Message message;
        shm::request::Notices::Reply reply;
        if (shm::rpc_ask(daemon_, shm::request::Notices{.from = next_notice_}, message, reply) !=
                0 ||
            reply.count == 0) {
            return notices;
        }
        for (std::size_t i = 0; i < reply.count && i < reply.notices.size(); ++i) {
            const shm::request::Notice& told = reply.notices[i];
            notices.push_back({.kind = kind_of(told.kind),
                               .trap = told.trap,
                               .lid = told.lid,
                               .guid = told.guid,
                               .time_us = told.time_us,
                               .text = std::string(told.text)});
        }
        next_notice_ = reply.next;
    }
}

std::expected<Reading, std::string> ArenaSource::read() {
    if (daemon_ < 0) {
        if (auto connected = connect(); !connected) {
            return std::unexpected(connected.error());
        }
    }
    if (const int error = shm::rpc_ask(daemon_, shm::request::Settle{}); error != 0) {
        disconnect();
        return std::unexpected(
            fmt::format("{} no longer answers: {}", name(), std::strerror(error)));
    }
    const std::uint64_t generation =
        arena_.header->route_generation.load(std::memory_order_acquire);
    if (instance_ != arena_.header->instance) {
        next_notice_ = 0;
    }
    if (!inventory_ || instance_ != arena_.header->instance || generation != generation_) {
        Inventory fresh = read_inventory(arena_);
        const bool same = inventory_ && fresh.nodes == inventory_->nodes &&
                          fresh.ports == inventory_->ports && fresh.fabric == inventory_->fabric;
        if (!same) {
            fresh.revision = inventory_ ? inventory_->revision + 1 : 1;
            inventory_ = std::make_shared<const Inventory>(std::move(fresh));
        }
        instance_ = arena_.header->instance;
        generation_ = generation;
    }
    Reading reading{.inventory = inventory_,
                    .sample = read_sample(arena_),
                    .notices = {},
                    .instance = instance_};
    reading.notices = take_notices();
    return reading;
}

}  // namespace softib::telemetry
