// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/trunk/trunk_wire.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/trunk/items.h"

namespace softib::carrier {

namespace {

/// While at least this many bytes wait, the far end takes no packets from its switch.
constexpr std::size_t kOutBytesFull = 512 << 10;
/// How long the far end takes no packets, after one that found kOutBytesFull bytes waiting.
constexpr net::TimePs kPausePs = 50'000'000;
/// While at least this many bytes wait, packets that come to the far end are lost.
constexpr std::size_t kOutBytesMax = 16 << 20;
/// While this many packets wait for the switch, nothing is read from the socket.
constexpr std::uint32_t kEnteringMax = 256;
constexpr std::size_t kSpareMax = 64;

}  // namespace

TrunkWire::TrunkWire(const shm::Arena& arena, net::Engine& net, Adapters& adapters)
    : arena_(arena), net_(net), adapters_(adapters) {}

TrunkWire::~TrunkWire() {
    if (epoll_fd_ >= 0) {
        close(epoll_fd_);
    }
}

std::expected<std::unique_ptr<TrunkWire>, std::string> TrunkWire::open(
    const shm::Arena& arena, net::Engine& net, Adapters& adapters, const spec::Trunks& trunks,
    const std::vector<std::uint32_t>& ports) {
    std::unique_ptr<TrunkWire> wire(new TrunkWire(arena, net, adapters));
    wire->epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    if (wire->epoll_fd_ < 0) {
        return std::unexpected(fmt::format("cannot watch trunks: {}", std::strerror(errno)));
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
        auto socket =
            daemon::TrunkSocket::open(trunks.plans[i], trunks.key, daemon::TrunkSocket::kPackets);
        if (!socket) {
            return std::unexpected(socket.error());
        }
        epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
        epoll_ctl(wire->epoll_fd_, EPOLL_CTL_ADD, (*socket)->fd(), &event);
        wire->ends_.push_back({.port = ports[i], .socket = std::move(*socket), .out = {}});
    }
    return wire;
}

TrunkWire::End* TrunkWire::end_at(std::uint32_t port) {
    const auto found = std::ranges::find(ends_, port, &End::port);
    return found != ends_.end() ? &*found : nullptr;
}

TrunkWire::Datagram TrunkWire::new_datagram() {
    Datagram datagram;
    if (!spare_.empty()) {
        datagram = std::move(spare_.back());
        spare_.pop_back();
    } else {
        datagram.room = std::make_unique_for_overwrite<std::uint8_t[]>(trunk::kDatagramBytesMax);
    }
    datagram.bytes = trunk::kHeaderBytes;
    return datagram;
}

void TrunkWire::leave(std::uint32_t port, const net::Packet& packet,
                      const net::TransportHosts::Body& body) {
    End* const end = end_at(port);
    if (end == nullptr || !end->socket->session().up() || end->out_bytes >= kOutBytesMax) {
        return;
    }
    wire::PacketHeaders headers = body.headers;
    headers.lrh.vl = packet.vl;
    headers.bth.fecn = (packet.flags & net::packet_flag::kFecn) != 0;
    headers.bth.becn = (packet.flags & net::packet_flag::kBecn) != 0;
    const std::size_t needed = trunk::kItemHeaderBytes + packet.bytes;
    if (end->out.empty() || end->out.back().bytes + needed > end->socket->datagram_bytes()) {
        end->out.push_back(new_datagram());
    }
    Datagram& datagram = end->out.back();
    std::uint8_t* const at = datagram.room.get() + datagram.bytes;
    const auto bytes = wire::emit_without_vcrc(
        headers, {body.room.get(), body.length},
        {at + trunk::kItemHeaderBytes,
         trunk::kDatagramBytesMax - datagram.bytes - trunk::kItemHeaderBytes});
    if (!bytes) {
        return;
    }
    trunk::put_item_length(at, *bytes);
    datagram.bytes += trunk::kItemHeaderBytes + *bytes;
    end->out_bytes += needed;
    if (end->out_bytes >= kOutBytesFull) {
        net_.ports().pause(port, net_.now() + kPausePs);
    }
}

void TrunkWire::entered(std::uint32_t port) {
    if (End* const end = end_at(port)) {
        --end->entering;
    }
}

bool TrunkWire::send(End& end) {
    bool busy = false;
    while (!end.out.empty()) {
        if (!end.socket->session().up()) {
            end.out.clear();  // The trunk is down: its packets are lost, as on a cut cable.
            break;
        }
        if (!end.socket->session().may_send()) {
            return busy;
        }
        Datagram datagram = std::move(end.out.front());
        end.out.pop_front();
        if (datagram.bytes > trunk::kHeaderBytes) {
            end.socket->send({datagram.room.get(), datagram.bytes});
            busy = true;
        }
        end.out_bytes -= std::min(end.out_bytes, datagram.bytes);
        if (spare_.size() < kSpareMax) {
            spare_.push_back(std::move(datagram));
        }
    }
    end.out_bytes = 0;
    return busy;
}

bool TrunkWire::receive(End& end, std::uint64_t now_ns) {
    if (end.entering >= kEnteringMax) {
        return false;
    }
    return end.socket->receive(now_ns, [&](std::span<const std::uint8_t> body) {
        trunk::for_each_item(body, [&](std::span<const std::uint8_t> bytes) {
            // Even a datagram with the right seal may hold nonsense.
            if (const auto packet = wire::parse_without_vcrc(bytes)) {
                ++end.entering;
                adapters_.hosts().send_packet(net_, end.port, *packet);
            }
        });
    });
}

bool TrunkWire::receive(std::uint64_t now_ns) {
    bool busy = false;
    for (End& end : ends_) {
        busy |= receive(end, now_ns);
    }
    received_ |= busy;
    return busy;
}

bool TrunkWire::send(std::uint64_t now_ns) {
    bool busy = false;
    for (End& end : ends_) {
        busy |= send(end);
    }
    if (std::exchange(received_, false) || busy || now_ns >= next_timeout_ns_) {
        next_timeout_ns_ = UINT64_MAX;
        for (End& end : ends_) {
            next_timeout_ns_ = std::min(next_timeout_ns_, end.socket->run(now_ns));
        }
    }
    return busy;
}

bool TrunkWire::watch() {
    if (std::ranges::any_of(ends_, [](const End& end) { return !end.out.empty(); })) {
        return false;
    }
    if (watch_ == nullptr) {
        watch_ = std::make_unique<SocketWatch>(arena_, epoll_fd_);
    }
    watch_->arm();
    return true;
}

}  // namespace softib::carrier
