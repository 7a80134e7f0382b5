// SPDX-License-Identifier: BSD-2-Clause
#include "net/hosts/transport_hosts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/check.h"
#include "core/wire/packet/arrival.h"

namespace softib::net {

namespace {

constexpr std::uint8_t kTag = 2;  // The engine tells of lost packets. Management has 1.
constexpr std::size_t kBytesMin =
    wire::Lrh::kBytes + wire::Bth::kBytes + wire::kIcrcBytes + wire::kVcrcBytes;

bool has_bytes(const hca::Payload& payload) {
    return std::ranges::none_of(payload.parts(),
                                [](const hca::PayloadPart& part) { return part.bytes == nullptr; });
}

/// Only datagrams may overtake each other, so only they let switches choose their way.
std::uint8_t flags_of(const wire::Bth& bth) {
    const bool is_datagram = bth.opcode >> 5 == static_cast<unsigned>(wire::Transport::kUd);
    return static_cast<std::uint8_t>((bth.becn ? packet_flag::kBecn : 0U) |
                                     (is_datagram ? packet_flag::kAdaptive : 0U));
}

}  // namespace

hca::Payload TransportHosts::Body::payload() const {
    hca::Payload all;
    all.add(has_bytes ? room.get() : nullptr, length);
    return all;
}

TransportHosts::Hooks& TransportHosts::none() {
    static Hooks none;
    return none;
}

void TransportHosts::attach(std::uint32_t port, hca::Hca& hca) {
    hosts_.resize(std::max<std::size_t>(hosts_.size(), port + std::size_t{1}));
    hosts_[port].hca = &hca;
}

void TransportHosts::pump(Engine& net, std::uint32_t port) {
    Host& host = hosts_[port];
    hca::Transmit transmit;
    for (std::uint16_t levels = free_levels(net, port, host);
         levels != 0 && host.hca->poll_transmit(transmit, hooks_.now_ns(net), levels);
         levels = free_levels(net, port, host)) {
        send(net, port, host, transmit);
    }
    arm(net, port);
}

/// Returns the service levels for which the HCA has something to send and on whose lane none of its
/// packets waits.
std::uint16_t TransportHosts::free_levels(const Engine& net, std::uint32_t port, const Host& host) {
    std::uint16_t levels = host.hca->ready_levels();
    if (host.busy == 0) {
        return levels;
    }
    for (unsigned rest = levels; rest != 0; rest &= rest - 1) {
        const auto sl = static_cast<std::uint8_t>(std::countr_zero(rest));
        if ((host.busy >> net.plant().first_lane(port, sl) & 1) != 0) {
            levels = static_cast<std::uint16_t>(levels & ~(1U << sl));
        }
    }
    return levels;
}

void TransportHosts::send(Engine& net, std::uint32_t port, Host& host,
                          const hca::Transmit& transmit) {
    const wire::PacketHeaders& headers = transmit.headers;
    const std::uint32_t body = keep(port, transmit);
    const hca::Port& own = host.hca->port();
    if ((headers.lrh.dlid.value ^ own.lid.value) >> own.lmc == 0) {
        // The packet is for the same HCA, and does not leave it.
        give(net, port, bodies_[body]);
        let_go(body);
        return;
    }
    // What an HCA at port 0 of a switch sends goes out of several ports: no lane is busy.
    if (net.plant().peer(port) != port) {
        host.busy = static_cast<std::uint16_t>(host.busy |
                                               1U << net.plant().first_lane(port, headers.lrh.sl));
    }
    net.inject(port,
               {.body = body,
                .dlid = headers.lrh.dlid.value,
                .slid = headers.lrh.slid.value,
                .bytes = static_cast<std::uint16_t>(headers.lrh.pkt_len * 4 + wire::kVcrcBytes),
                .sl = headers.lrh.sl,
                .flags = flags_of(headers.bth),
                .tag = kTag});
}

void TransportHosts::give(Engine& net, std::uint32_t port, const Body& body) {
    hooks_.before_packet(port, body.headers);
    hosts_[port].hca->handle_packet(body.headers, body.payload(), hooks_.now_ns(net));
    hooks_.after_packet(port, body.headers);
}

void TransportHosts::control_congestion(std::uint32_t port, const link::InjectionControl& control) {
    hosts_.resize(std::max<std::size_t>(hosts_.size(), port + std::size_t{1}));
    hosts_[port].control = std::make_unique<link::InjectionControl>(control);
}

void TransportHosts::hear_becns(Engine& net, Host& host) {
    while (const auto becn = host.hca->poll_becn()) {
        if (host.control) {
            host.flows[becn->qpn.value].handle_becn(host.control->rules[becn->sl],
                                                    host.control->table, net.now());
        }
    }
}

/// Makes the queue pair of a packet that begins to leave wait afterwards, as long as the congestion
/// control table says.
void TransportHosts::slow_down(Engine& net, std::uint32_t port, Host& host, const Packet& packet) {
    if (!host.control) {
        return;
    }
    const Qpn source = bodies_[packet.body].source;
    const auto flow = host.flows.find(source.value);
    if (flow == host.flows.end()) {
        return;
    }
    const TimePs takes = net.plant().transmit_time(port, packet.bytes);
    const TimePs delay =
        flow->second.delay(host.control->rules[packet.sl], host.control->table, takes, net.now());
    if (delay != 0) {
        host.hca->hold(source,
                       hooks_.now_ns(net) + (takes + delay + link::kPsPerNs - 1) / link::kPsPerNs);
    }
}

std::uint32_t TransportHosts::send_bytes(Engine& net, std::uint32_t port,
                                         std::span<const std::uint8_t> bytes) {
    const PlantConfig& config = net.plant().config();
    const std::uint32_t index = new_body(port);
    Body& body = bodies_[index];
    body.raw = true;
    // Bytes missing from the LRH count as zeros: such a packet is refused anyhow.
    std::array<std::uint8_t, wire::Lrh::kBytes> head{};
    std::ranges::copy(bytes.first(std::min(bytes.size(), head.size())), head.begin());
    const auto lrh = wire::parse<wire::Lrh>(std::span<const std::uint8_t, head.size()>(head));
    Packet packet{.body = index,
                  .dlid = lrh.dlid.value,
                  .slid = lrh.slid.value,
                  .bytes = static_cast<std::uint16_t>(
                      std::clamp<std::size_t>(bytes.size(), kBytesMin, config.packet_bytes_max)),
                  .sl = lrh.sl,
                  .vl = lrh.vl == wire::kVlManagement ? link::kVl15 : std::uint8_t{0},
                  .tag = kTag};
    switch (wire::check_arrival(bytes, {config.data_vls, config.packet_bytes_max})) {
        case wire::Arrival::kPhysical:
            packet.flags = packet_flag::kBad | packet_flag::kBrokenHere;
            break;
        case wire::Arrival::kMalformed:
            packet.flags = packet_flag::kBrokenHere;
            break;
        case wire::Arrival::kGood:
            if (const auto parsed = wire::parse_packet(bytes);
                parsed && parsed->payload.size() <= kBodyBytes) {
                body.headers = parsed->headers;
                std::ranges::copy(
                    parsed->payload,
                    room_for(body, static_cast<std::uint32_t>(parsed->payload.size())).begin());
            } else if (!parsed && parsed.error() == wire::PacketError::kIcrc) {
                packet.flags = packet_flag::kBadInside;
            } else {
                body.unknown = true;
            }
            break;
    }
    net.inject(port, packet);
    return index;
}

void TransportHosts::send_packet(Engine& net, std::uint32_t port, const wire::Packet& packet) {
    const wire::PacketHeaders& headers = packet.headers;
    const std::uint32_t index = new_body(port);
    Body& body = bodies_[index];
    body.raw = true;
    body.headers = headers;
    if (!packet.payload.empty()) {
        std::memcpy(room_for(body, static_cast<std::uint32_t>(packet.payload.size())).data(),
                    packet.payload.data(), packet.payload.size());
    }
    const unsigned marks =
        (headers.bth.fecn ? packet_flag::kFecn : 0U) | (headers.bth.becn ? packet_flag::kBecn : 0U);
    net.inject(port,
               {.body = index,
                .dlid = headers.lrh.dlid.value,
                .slid = headers.lrh.slid.value,
                .bytes = static_cast<std::uint16_t>(headers.lrh.pkt_len * 4 + wire::kVcrcBytes),
                .sl = headers.lrh.sl,
                .flags = static_cast<std::uint8_t>(marks),
                .tag = kTag});
}

/// Returns the number of a body for a packet that is about to be sent.
std::uint32_t TransportHosts::new_body(std::uint32_t port) {
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(bodies_.size()));
        bodies_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Body& body = bodies_[index];
    body.port = port;
    body.left = body.raw = body.unknown = body.has_bytes = false;
    body.length = 0;
    body.uses = 1;
    return index;
}

std::span<std::uint8_t> TransportHosts::room_for(Body& body, std::uint32_t length) {
    SOFTIB_CHECK(length <= kBodyBytes);
    if (body.room == nullptr) {
        body.room = std::make_unique_for_overwrite<std::uint8_t[]>(kBodyBytes);
    }
    body.has_bytes = true;
    body.length = length;
    return {body.room.get(), length};
}

std::uint32_t TransportHosts::keep(std::uint32_t port, const hca::Transmit& transmit) {
    const std::uint32_t index = new_body(port);
    Body& body = bodies_[index];
    body.headers = transmit.headers;
    body.source = transmit.source;
    body.length = transmit.payload.length();
    if (body.length != 0 && has_bytes(transmit.payload)) {
        transmit.payload.copy_to(room_for(body, body.length));
    }
    return index;
}

void TransportHosts::let_go(std::uint32_t body) {
    if (--bodies_[body].uses == 0) {
        free_.push_back(body);
    }
}

void TransportHosts::give_back() {
    if (free_.size() == bodies_.size()) {
        bodies_.clear();
        bodies_.shrink_to_fit();
        free_.clear();
        free_.shrink_to_fit();
    }
}

void TransportHosts::deliver(Engine& net, std::uint32_t port, const Packet& packet) {
    Body& body = bodies_[packet.body];
    if (body.unknown || hca_at(port) == nullptr) {
        ++unknown_;
        let_go(packet.body);
        return;
    }
    body.headers.lrh.vl = packet.vl;
    body.headers.bth.fecn = (packet.flags & packet_flag::kFecn) != 0;
    body.headers.bth.becn = (packet.flags & packet_flag::kBecn) != 0;
    give(net, port, body);
    hear_becns(net, hosts_[port]);
    let_go(packet.body);
    pump(net, port);
}

/// The port argument is not used: a packet of a switch's HCA leaves by another port than the HCA's
/// own.
void TransportHosts::sent(Engine& net, std::uint32_t, const Packet& packet) {
    bodies_[packet.body].left = true;
    if (!bodies_[packet.body].raw) {
        const std::uint32_t port = bodies_[packet.body].port;
        free_lane(hosts_[port], packet);
        if (!hosts_[port].flows.empty()) {
            slow_down(net, port, hosts_[port], packet);
        }
        pump(net, port);
    }
}

void TransportHosts::copied(Engine&, const Packet& packet, std::uint32_t more) {
    bodies_[packet.body].uses += more;
}

void TransportHosts::dropped(Engine& net, const Packet& packet, TimePs) {
    const Body& body = bodies_[packet.body];
    const bool never_left = !body.left && !body.raw;
    const std::uint32_t port = body.port;
    let_go(packet.body);
    if (never_left) {
        // The port is down. The next packets are lost as well, and the transport finds out.
        free_lane(hosts_[port], packet);
        pump(net, port);
    }
}

void TransportHosts::timer(Engine& net, std::uint32_t port, std::uint32_t) {
    Host& host = hosts_[port];
    if (host.armed_at <= net.now()) {
        host.armed_at = kNever;
    }
    host.hca->handle_timeout(hooks_.now_ns(net));
    pump(net, port);
}

/// Sets a timer for the next_timeout_ns() of a port's HCA, at which the HCA is told the time. Does
/// not cancel timers: one that is not needed any more finds nothing to do.
void TransportHosts::arm(Engine& net, std::uint32_t port) {
    Host& host = hosts_[port];
    const std::uint64_t due_ns = host.hca->next_timeout_ns();
    if (due_ns == hca::kNever || hooks_.tells_time(port, due_ns)) {
        return;
    }
    const TimePs at = std::max<TimePs>(net.now() + 1, due_ns * link::kPsPerNs);
    if (at < host.armed_at) {
        host.armed_at = at;
        net.set_timer(port, at, 0);
    }
}

}  // namespace softib::net
