// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "net/plant/fetch.h"

namespace softib::net {

void Engine::use_ethernet(const EthernetRules& rules) {
    SOFTIB_CHECK(mover_.stats_.injected == 0 && !mover_.border_.any());
    mover_.ethernet_.emplace(rules, plant().port_count(), plant().lane_count(),
                             plant().node_count());
    for (std::uint32_t port = 0; port < plant().port_count(); ++port) {
        if (!plant().connected(port)) {
            continue;
        }
        plant().tx(port).special |= tx_special::kEthernet;
        if (plant().rx(port).to_adapter != 0) {
            continue;
        }
        plant().rx(port).special |= rx_special::kEthernet;
        if (rules.lossless) {
            mover_.ethernet_->set_pause(port,
                                        {.block_ps = plant().tx(port).block_ps,
                                         .cable_ps = plant().cable(port),
                                         .silicon_ps = plant().rx(port).silicon_ps,
                                         .packet_bytes_max = plant().config().packet_bytes_max});
        }
    }
}

void Engine::use_routers(const Routers* routers, const GidReader* reader) {
    SOFTIB_CHECK(routers != nullptr && reader != nullptr);
    mover_.routers_ = routers;
    mover_.gid_reader_ = reader;
    for (const std::uint32_t port : routers->ports()) {
        if (plant().connected(port)) {
            plant().rx(plant().peer(port)).to_adapter = kToRouter;
        }
    }
}

void Engine::use_windows(TimePs shortest) {
    SOFTIB_CHECK(ethernet() == nullptr);
    std::vector<std::uint32_t> switch_of(plant().node_count(), WindowQueue::kNoBin);
    std::vector<Round::Outputs> outputs;
    for (std::uint32_t node = 0; node < plant().node_count(); ++node) {
        if (plant().is_switch(node)) {
            switch_of[node] = static_cast<std::uint32_t>(outputs.size());
            outputs.push_back({plant().port_of(node, 0), plant().ports_of(node)});
        }
    }
    std::vector<Schedule::LinkEnds> links(plant().port_count());
    for (std::uint32_t port = 0; port < plant().port_count(); ++port) {
        if (plant().connected(port)) {
            const std::uint32_t peer = plant().peer(port);
            links[port] = {.sender = switch_of[plant().node_of(port)],
                           .receiver = switch_of[plant().node_of(peer)],
                           .cable_ps = peer == port ? kNever : plant().cable(port)};
        }
    }
    const auto switches = static_cast<std::uint32_t>(outputs.size());
    mover_.schedule_.use_windows(links, switches, plant().node_count() - switches, shortest);
    if (has_windows()) {
        mover_.round_.outputs = std::move(outputs);
    }
}

void Engine::cut(std::uint32_t port, std::uint32_t part) {
    SOFTIB_CHECK(plant().connected(port) && plant().tx(port).to_adapter == 0);
    const std::uint32_t peer = plant().peer(port);
    mover_.border_.cut(port, peer, part);
    plant().tx(port).special |= tx_special::kCrosses;
    for (std::uint8_t vl = 0; vl < plant().config().data_vls; ++vl) {
        plant().lane(peer, vl).starved = Lane::kRemote;
    }
}

void Engine::set_timer(std::uint32_t port, TimePs at, std::uint32_t order, std::uint32_t word) {
    mover_.schedule_.queue().push(at, port, EventKind::kTimer, word, order);
}

void Engine::take_crossing(std::uint32_t link, const Crossing& crossing) {
    if (crossing.blocks != 0) {
        mover_.release(link, crossing.vl, crossing.blocks, crossing.at);
        return;
    }
    Packet packet = crossing.packet;
    packet.in_link = link;
    packet.next = kNone;
    mover_.schedule_.post(crossing.at, link, EventKind::kArrival,
                          mover_.queues_.packets().make(packet), crossing.vl);
}

void Engine::fetch_crossing(std::uint32_t link, const Crossing& crossing) const {
    if (crossing.blocks != 0) {
        fetch(&plant().lane(link, crossing.vl));
        fetch(&plant().tx(link));
    } else {
        mover_.schedule_.fetch_receiver(link);
    }
}

void Engine::count_lanes() {
    mover_.lane_counts_.start(plant().lane_count());
    for (std::uint32_t port = 0; port < plant().port_count(); ++port) {
        plant().tx(port).special |= tx_special::kCounted;
        plant().rx(port).special |= rx_special::kCounted;
    }
}

TimePs Engine::begin_window(TimePs at, TimePs until) {
    WindowQueue& windows = mover_.schedule_.windows();
    windows.advance(at);
    return std::min(until, windows.base() + windows.window() - 1);
}

std::uint32_t Engine::next_switch(std::uint32_t bin) const {
    return mover_.schedule_.windows().next_bin(bin);
}

bool Engine::settle_credits() {
    bool settled = true;
    for (std::uint32_t port = 0; port < plant().port_count(); ++port) {
        for (std::uint8_t vl = 0; vl < plant().config().data_vls; ++vl) {
            Lane& queue = plant().lane(port, vl);
            queue.absorb(queue.grid(now()));
            settled &= queue.pending == 0;
        }
    }
    return settled;
}

void Engine::give_back() {
    mover_.schedule_.give_back();
    mover_.queues_.packets().give_back();
}

bool Engine::idle() const {
    // Events that only check limits of waiting find nothing where no packet is.
    const std::uint64_t pending = mover_.schedule_.pending();
    return mover_.outbox_.dropped.empty() &&
           (pending == 0 || (pending == waits().watching && queues().packets().live() == 0));
}

std::size_t Engine::bytes() const {
    return plant().bytes() + queues().bytes() + mover_.schedule_.bytes();
}

counters::PortCounts Engine::counts(std::uint32_t port) const {
    counters::PortCounts counts = plant().counts_at(port, now());
    counts.link_downed = mover_.cables_.downed(port);
    counts.link_recoveries = mover_.cables_.recovered(port);
    counts.time_congested = mover_.lane_counts_.time_congested(port, now()) / plant().tick_ps(port);
    return counts;
}

counters::LaneCounts Engine::lane_counts(std::uint32_t port) const {
    counters::LaneCounts counts;
    mover_.lane_counts_.add_levels(counts, port);
    const auto add = [&](std::uint8_t vl) {
        mover_.lane_counts_.add_lane(counts, plant().lane_index(port, vl), vl,
                                     plant().lane(port, vl), plant().tick_ps(port), now());
    };
    for (std::uint8_t vl = 0; vl < plant().config().data_vls; ++vl) {
        add(vl);
    }
    add(link::kVl15);
    return counts;
}

}  // namespace softib::net
