// SPDX-License-Identifier: BSD-2-Clause
// What the owner of an engine sets up, changes and asks.
#include <algorithm>

#include "core/base/check.h"
#include "net/engine/engine.h"
#include "net/plant/fetch.h"

namespace softib::net {

namespace {

void set(std::uint8_t& flags, std::uint8_t flag, bool on) {
    flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag);
}

}  // namespace

void Engine::use_ethernet(const EthernetRules& rules) {
    SOFTIB_CHECK(stats_.injected == 0 && !border_.any());
    ethernet_ = std::make_unique<Ethernet>(rules, plant_.port_count(), plant_.lane_count(),
                                           plant_.node_count());
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        if (!plant_.connected(port)) {
            continue;
        }
        // So that offer_odd() and spoil() see every packet.
        plant_.tx(port).special |= tx_special::kMarks | tx_special::kFaulty;
        if (plant_.rx(port).to_adapter != 0) {
            continue;
        }
        plant_.rx(port).special |= rx_special::kEthernet;
        if (rules.lossless) {
            ethernet_->set_pause(port, {.block_ps = plant_.tx(port).block_ps,
                                        .cable_ps = plant_.cable(port),
                                        .silicon_ps = plant_.rx(port).silicon_ps,
                                        .packet_bytes_max = plant_.config().packet_bytes_max});
        }
    }
}

void Engine::use_routers(const Routers* routers, const GidReader* reader) {
    SOFTIB_CHECK(routers != nullptr && reader != nullptr);
    routers_ = routers;
    gid_reader_ = reader;
    for (const std::uint32_t port : routers->ports()) {
        if (plant_.connected(port)) {
            plant_.rx(plant_.peer(port)).to_adapter = kToRouter;
        }
    }
}

void Engine::use_windows(TimePs shortest) {
    SOFTIB_CHECK(ethernet_ == nullptr);
    schedule_.use_windows(plant_, shortest);
    for (std::uint32_t node = 0; has_windows() && node < plant_.node_count(); ++node) {
        if (plant_.is_switch(node)) {
            round_.outputs.push_back({plant_.port_of(node, 0), plant_.ports_of(node)});
        }
    }
}

void Engine::cut(std::uint32_t port, std::uint32_t part) {
    SOFTIB_CHECK(plant_.connected(port) && plant_.tx(port).to_adapter == 0);
    const std::uint32_t peer = plant_.peer(port);
    border_.cut(port, peer, part);
    plant_.tx(port).special |= tx_special::kFaulty;  // So that spoil() sees every packet.
    for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
        plant_.lane(peer, vl).starved = Lane::kRemote;
    }
}

void Engine::take_crossing(std::uint32_t link, const Crossing& crossing) {
    if (crossing.blocks != 0) {
        release(link, crossing.vl, crossing.blocks, crossing.at);
        return;
    }
    Packet packet = crossing.packet;
    packet.in_link = link;
    packet.next = kNone;
    schedule_.post(crossing.at, link, EventKind::kArrival, queues_.packets().make(packet),
                   crossing.vl);
}

void Engine::fetch_crossing(std::uint32_t link, const Crossing& crossing) const {
    if (crossing.blocks != 0) {
        fetch(&plant_.lane(link, crossing.vl));
        fetch(&plant_.tx(link));
    } else {
        schedule_.fetch_receiver(link);
    }
}

void Engine::count_lanes() {
    lane_counts_.start(plant_.lane_count());
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        plant_.tx(port).special |= tx_special::kCounted;
        plant_.rx(port).special |= rx_special::kCounted;
    }
}

void Engine::set_arbitration(std::uint32_t port, const link::ArbitrationTable& table) {
    plant_.set_arbitration(port, table);
    if (Tx& tx = plant_.tx(port); tx.waiting != 0) {
        plan(port, tx, std::max(tx.free_at, now()));
    }
}

void Engine::set_limits(std::uint32_t port, const sw::WaitingLimits& limits) {
    waits_.set(port, limits);
    set(plant_.tx(port).special, tx_special::kLimited, limits.any());
}

void Engine::set_tap(std::uint32_t port, bool tapped) {
    set(plant_.rx(plant_.peer(port)).special, rx_special::kTapped, tapped);
}

void Engine::set_guard(std::uint32_t port, const Guard& guard) {
    guards_.set(port, guard);
    // Packets from every port of the switch may leave by this one, so all its inputs are marked.
    const std::uint32_t node = plant_.node_of(port);
    bool any = false;
    for (std::uint8_t number = 0; number < plant_.ports_of(node); ++number) {
        any = any || guards_.checks(plant_.port_of(node, number));
    }
    for (std::uint8_t number = 0; number < plant_.ports_of(node); ++number) {
        if (const std::uint32_t in = plant_.peer(plant_.port_of(node, number)); in != kNone) {
            set(plant_.rx(in).special, rx_special::kPartitioned, any);
        }
    }
}

bool Engine::settle_credits() {
    bool settled = true;
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
            Lane& queue = plant_.lane(port, vl);
            queue.absorb(queue.grid(now()));
            settled &= queue.pending == 0;
        }
    }
    return settled;
}

void Engine::give_back() {
    schedule_.give_back();
    queues_.packets().give_back();
}

counters::PortCounts Engine::counts(std::uint32_t port) const {
    counters::PortCounts counts = plant_.counts_at(port, now());
    counts.link_downed = cables_.downed(port);
    counts.link_recoveries = cables_.recovered(port);
    counts.time_congested = lane_counts_.time_congested(port, now()) / plant_.tick_ps(port);
    return counts;
}

counters::LaneCounts Engine::lane_counts(std::uint32_t port) const {
    counters::LaneCounts counts;
    lane_counts_.add_levels(counts, port);
    const auto add = [&](std::uint8_t vl) {
        lane_counts_.add_lane(counts, plant_.lane_index(port, vl), vl, plant_.lane(port, vl),
                              plant_.tick_ps(port), now());
    };
    for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
        add(vl);
    }
    add(link::kVl15);
    return counts;
}

std::uint64_t Engine::pause_bytes(std::uint32_t node) const {
    std::uint64_t blocks = 0;
    for (std::uint8_t number = 1; ethernet_ != nullptr && number < plant_.ports_of(node);
         ++number) {
        if (const std::uint32_t port = plant_.port_of(node, number); plant_.connected(port)) {
            blocks += ethernet_->pause_blocks(plant_.peer(port));
        }
    }
    return blocks * plant_.config().data_vls * link::kBlockBytes;
}

std::uint8_t Engine::hashed_route(std::uint32_t node, Lid source, Lid destination,
                                  std::uint8_t entropy) const {
    const std::span<const std::uint8_t> ports = plant_.choices(node, destination);
    return ports.size() < 2 ? plant_.route(node, destination)
                            : ethernet_->hashed_port(ports, node, source, destination, entropy);
}

}  // namespace softib::net
