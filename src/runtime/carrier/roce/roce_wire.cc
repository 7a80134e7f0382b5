// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/roce/roce_wire.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/wire/packet/roce.h"

namespace softib::carrier {

namespace {

/// Most packets that leave before arrivals are read, since many packets go to sockets of this very
/// process and must find room there.
constexpr std::uint32_t kPacketsAtOnce = 64;
constexpr std::uint32_t kWordBytes = 4;
constexpr std::size_t kMessages = 8;
constexpr std::size_t kMessageBytes = 64 * 1024;

/// Returns the size of each datagram if the kernel has joined several in a message; 0 if the
/// message is one datagram.
std::size_t segment_bytes(msghdr& message) {
    for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO) {
            int bytes = 0;
            std::memcpy(&bytes, CMSG_DATA(control), sizeof bytes);
            return static_cast<std::size_t>(bytes);
        }
    }
    return 0;
}

}  // namespace

struct RoceWire::Inbox {
    Inbox() : room(kMessages * kMessageBytes) {
        for (std::size_t i = 0; i < kMessages; ++i) {
            places[i] = {&room[i * kMessageBytes], kMessageBytes};
        }
    }
    void prepare() {
        for (std::size_t i = 0; i < kMessages; ++i) {
            msghdr& message = messages[i].msg_hdr;
            message = {};
            message.msg_name = &from[i];
            message.msg_namelen = sizeof from[i];
            message.msg_iov = &places[i];
            message.msg_iovlen = 1;
            message.msg_control = controls[i].bytes.data();
            message.msg_controllen = controls[i].bytes.size();
        }
    }

    struct alignas(cmsghdr) Control {
        std::array<std::uint8_t, CMSG_SPACE(sizeof(int))> bytes;
    };
    std::vector<std::uint8_t> room;
    std::array<iovec, kMessages> places{};
    std::array<mmsghdr, kMessages> messages{};
    std::array<sockaddr_storage, kMessages> from{};
    std::array<Control, kMessages> controls{};
};

RoceWire::RoceWire(const shm::Arena& arena, Adapters& adapters, Watchers& watchers)
    : arena_(arena),
      adapters_(adapters),
      cable_(arena, watchers),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      ports_(arena.header->hcas),
      inbox_(std::make_unique<Inbox>()) {
    for (std::uint32_t i = 0; i < ports_.size(); ++i) {
        // What an earlier carrier counted stays.
        const shm::PortTotals& totals = arena.hcas[i].totals;
        ports_[i].xmit_packets = totals.xmit_packets.load(std::memory_order_relaxed);
        ports_[i].xmit_words = totals.xmit_words.load(std::memory_order_relaxed);
        ports_[i].rcv_packets = totals.rcv_packets.load(std::memory_order_relaxed);
        ports_[i].rcv_words = totals.rcv_words.load(std::memory_order_relaxed);
    }
}

RoceWire::~RoceWire() {
    for (const Port& port : ports_) {
        close(port.fd);
    }
    close(epoll_fd_);
}

std::expected<std::unique_ptr<RoceWire>, std::string> RoceWire::open(const shm::Arena& arena,
                                                                     Adapters& adapters,
                                                                     Watchers& watchers) {
    std::unique_ptr<RoceWire> wire(new RoceWire(arena, adapters, watchers));
    for (std::uint32_t i = 0; i < wire->ports_.size(); ++i) {
        const auto fd = open_roce_socket(arena.hcas[i].ip_gid);
        if (!fd) {
            return std::unexpected(fd.error());
        }
        wire->ports_[i].fd = *fd;
        epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
        if (epoll_ctl(wire->epoll_fd_, EPOLL_CTL_ADD, *fd, &event) != 0) {
            return std::unexpected(
                fmt::format("cannot watch RoCE's sockets: {}", std::strerror(errno)));
        }
    }
    wire->watch_ = std::make_unique<SocketWatch>(arena, wire->epoll_fd_);
    return wire;
}

bool RoceWire::is_up(std::uint32_t hca) const {
    return arena_.hcas[hca].state.load(std::memory_order_relaxed) == PortState::kActive;
}

bool RoceWire::run() {
    bool some = transmit();
    if (receive()) {
        // Acknowledgements must leave before a program that has seen its message can destroy its
        // queue pair.
        transmit();
        some = true;
    }
    return some;
}

bool RoceWire::watch() {
    if (!batches_.empty() || !turns_.empty()) {
        return false;
    }
    watch_->arm();
    return true;
}

// Sending.

bool RoceWire::transmit() {
    std::vector<std::uint32_t>& wanting = adapters_.wanting();
    for (const std::uint32_t hca : wanting) {
        if (!ports_[hca].wants) {
            ports_[hca].wants = true;
            turns_.push_back(hca);
        }
    }
    wanting.clear();
    if ((!batches_.empty() && !batches_.flush()) || turns_.empty()) {
        return false;
    }
    std::uint32_t budget = kPacketsAtOnce;
    std::size_t done = 0;
    while (done < turns_.size() && transmit_from(turns_[done], budget)) {
        ports_[turns_[done++]].wants = false;
    }
    turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(done));
    if (turns_.size() > 1) {
        std::rotate(turns_.begin(), turns_.begin() + 1, turns_.end());
    }
    batches_.flush();
    return true;
}

/// Sends packets of an HCA. Returns true if it has nothing more to send, false if the budget is
/// spent or the socket has no room.
bool RoceWire::transmit_from(std::uint32_t hca, std::uint32_t& budget) {
    Port& port = ports_[hca];
    for (; budget != 0 && (batches_.has_room() || batches_.flush()); --budget) {
        if (!adapters_.poll_transmit(hca, transmit_)) {
            return true;
        }
        if (!transmit_.headers.grh || !is_up(hca)) {
            continue;  // The packet is lost; the transport will notice.
        }
        ++port.xmit_packets;
        port.xmit_words += transmit_.headers.grh->pay_len / kWordBytes;
        if (cable_.leaves(hca, transmit_)) {
            batches_.add(port.fd, transmit_);
        }
    }
    return false;
}

// Receiving.

bool RoceWire::receive() {
    std::array<epoll_event, 64> ready{};
    const int count = epoll_wait(epoll_fd_, ready.data(), static_cast<int>(ready.size()), 0);
    bool some = false;
    for (int i = 0; i < count; ++i) {
        some |= receive_at(ready[static_cast<std::size_t>(i)].data.u32);
    }
    return some;
}

bool RoceWire::receive_at(std::uint32_t hca) {
    Inbox& in = *inbox_;
    in.prepare();
    const int count =
        recvmmsg(ports_[hca].fd, in.messages.data(), kMessages, MSG_DONTWAIT, nullptr);
    for (std::size_t i = 0; count > 0 && i < static_cast<std::size_t>(count); ++i) {
        const GidAndPort from = from_socket_address(in.from[i]);
        std::span<const std::uint8_t> left(&in.room[i * kMessageBytes], in.messages[i].msg_len);
        const std::size_t each = segment_bytes(in.messages[i].msg_hdr);
        for (std::uint16_t place = 0; !left.empty(); ++place) {
            const auto datagram = left.first(each == 0 ? left.size() : std::min(each, left.size()));
            take(hca, datagram, from, place);
            left = left.subspan(datagram.size());
        }
    }
    if (count > 0) {
        adapters_.wanting().push_back(hca);
    }
    return count > 0;
}

/// Handles a datagram. `place` is its number among those that the kernel has joined.
void RoceWire::take(std::uint32_t hca, std::span<const std::uint8_t> datagram,
                    const GidAndPort& from, std::uint16_t place) {
    if (!is_up(hca)) {
        return;
    }
    // A socket does not show TOS and TTL, and the ICRC does not cover them.
    const wire::Grh route{.hop_lmt = 64, .sgid = from.gid, .dgid = arena_.hcas[hca].ip_gid};
    // The sender may be any RoCEv2 device, and the socket does not show its IPv4 Identification.
    const auto packet = wire::parse_roce_payload(
        datagram, route, {.source_port = from.port, .ipv4_id = place}, wire::CheckIcrc::kAnyIpv4Id);
    if (!packet || !cable_.arrives(hca, packet->headers, packet->payload)) {
        return;
    }
    Port& port = ports_[hca];
    ++port.rcv_packets;
    port.rcv_words += datagram.size() / kWordBytes;
    adapters_.handle_packet(hca, packet->headers, hca::Payload(packet->payload));
}

void RoceWire::publish_counts() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        shm::PortTotals& totals = arena_.hcas[i].totals;
        totals.xmit_packets.store(ports_[i].xmit_packets, std::memory_order_relaxed);
        totals.xmit_words.store(ports_[i].xmit_words, std::memory_order_relaxed);
        totals.rcv_packets.store(ports_[i].rcv_packets, std::memory_order_relaxed);
        totals.rcv_words.store(ports_[i].rcv_words, std::memory_order_relaxed);
    }
}

}  // namespace softib::carrier
