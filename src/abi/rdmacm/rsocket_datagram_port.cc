// SPDX-License-Identifier: BSD-2-Clause
// Addresses of datagram sockets, and the queue pairs by which they send and receive.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket_datagram.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::uint32_t kSends = 64;
constexpr std::uint32_t kReceivesPosted = 1024;
constexpr std::size_t kPacketMax = 4096;
constexpr std::size_t kStride = kPacketMax + 64;  // With room for the global route header.
constexpr std::size_t kPortMemoryBytes = std::size_t{kSends + kReceivesPosted} * kStride;
constexpr std::size_t kAddressAt = 4;

bool make_ready(DatagramPort& port) {
    if (!make_queue_pair(port, IBV_QPT_UD, kSends, kReceivesPosted)) {
        return false;
    }
    for (std::uint32_t i = 0; i < kReceivesPosted; ++i) {
        if (!post_datagram_receive(port, i)) {
            return false;
        }
    }
    return true;
}

/// Makes an endpoint with a free port number at the address of `at`, and its queue pair. Returns
/// false, with errno set, if that fails.
bool open_port(DatagramPort& port, rdma_cm_id* at, int ready_fd) {
    port.address = name_of(rdma_get_local_addr(at));
    sockaddr_storage local{};
    to_sockaddr(with_address_of(Name{port.address[0]}, port.address), local);
    if (rdma_create_id(at->channel, &port.id, nullptr, RDMA_PS_UDP) != 0 ||
        rdma_bind_addr(port.id, reinterpret_cast<sockaddr*>(&local)) != 0) {
        return false;
    }
    ibv_port_attr about{};
    if (const int error = ibv_query_port(port.id->verbs, port.id->port_num, &about); error != 0) {
        errno = error;
        return false;
    }
    const std::size_t mtu = std::size_t{128} << about.active_mtu;
    port.payload_max = std::min(mtu, kPacketMax) - kNameBytes;
    if (!fill_queue(port, kPortMemoryBytes)) {
        return false;
    }
    epoll_event readable{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(ready_fd, EPOLL_CTL_ADD, port.completions->fd, &readable) != 0) {
        return false;
    }
    port.free_sends = ~std::uint64_t{0};
    static_assert(kSends == 64);
    return make_ready(port);
}

}  // namespace

Name name_of(const sockaddr* address) {
    Name name{};
    if (address->sa_family == AF_INET) {
        const auto& in = reinterpret_cast<const sockaddr_in&>(*address);
        name[0] = 4;
        std::memcpy(&name[2], &in.sin_port, 2);
        std::memcpy(&name[kAddressAt], &in.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        const auto& in6 = reinterpret_cast<const sockaddr_in6&>(*address);
        name[0] = 6;
        std::memcpy(&name[2], &in6.sin6_port, 2);
        std::memcpy(&name[kAddressAt], &in6.sin6_addr, 16);
    }
    return name;
}

void to_sockaddr(const Name& name, sockaddr_storage& out) {
    out = {};
    if (name[0] == 4) {
        auto& in = reinterpret_cast<sockaddr_in&>(out);
        in.sin_family = AF_INET;
        std::memcpy(&in.sin_port, &name[2], 2);
        std::memcpy(&in.sin_addr, &name[kAddressAt], 4);
    } else {
        auto& in6 = reinterpret_cast<sockaddr_in6&>(out);
        in6.sin6_family = AF_INET6;
        std::memcpy(&in6.sin6_port, &name[2], 2);
        std::memcpy(&in6.sin6_addr, &name[kAddressAt], 16);
    }
}

Name with_address_of(const Name& name, const Name& other) {
    Name out = other;
    std::copy_n(&name[2], 2, &out[2]);
    return out;
}

bool is_any_address(const Name& name) {
    return std::all_of(name.begin() + kAddressAt, name.end(),
                       [](std::uint8_t byte) { return byte == 0; });
}

Datagrams* make_datagrams() {
    auto* const datagrams = new (std::nothrow) Datagrams;
    if (datagrams == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    datagrams->ready_fd = epoll_create1(EPOLL_CLOEXEC);
    if (datagrams->ready_fd < 0) {
        delete datagrams;
        return nullptr;
    }
    return datagrams;
}

void release_datagrams(Datagrams* datagrams) {
    for (auto& [name, destination] : datagrams->destinations) {
        if (destination.id != nullptr) {
            rdma_destroy_id(destination.id);
        }
        if (destination.ah != nullptr) {
            ibv_destroy_ah(destination.ah);
        }
    }
    for (DatagramPort& port : datagrams->ports) {
        close_queue(port);
    }
    close(datagrams->ready_fd);
    delete datagrams;
}

DatagramPort* port_at(Datagrams& datagrams, rdma_cm_id* id) {
    for (DatagramPort& port : datagrams.ports) {
        if (port.id->verbs == id->verbs && port.id->port_num == id->port_num) {
            return &port;
        }
    }
    DatagramPort& port = datagrams.ports.emplace_back();
    if (open_port(port, id, datagrams.ready_fd)) {
        return &port;
    }
    const int error = errno;
    close_queue(port);
    datagrams.ports.pop_back();
    errno = error;
    return nullptr;
}

std::uint8_t* received_packet(const DatagramPort& port, std::uint32_t slot) {
    return port.memory + std::size_t{kSends + slot} * kStride;
}

const std::uint8_t* payload_of(const Datagram& datagram) {
    return received_packet(*datagram.port, datagram.slot) + sizeof(ibv_grh) + kNameBytes;
}

bool is_sending(const DatagramPort& port) {
    return ~port.free_sends != 0;
}

bool post_datagram_receive(const DatagramPort& port, std::uint32_t slot) {
    const int error = post_one_receive(port.id->qp, kDatagramReceive | slot,
                                       received_packet(port, slot), kStride, *port.mr);
    if (error != 0) {
        errno = error;
    }
    return error == 0;
}

bool post_datagram(const Datagrams& datagrams, Destination& to,
                   std::span<const std::uint8_t> data) {
    DatagramPort& port = *to.port;
    if (port.free_sends == 0) {
        errno = EAGAIN;
        return false;
    }
    if (data.size() > port.payload_max) {
        errno = EMSGSIZE;
        return false;
    }
    const auto slot = static_cast<std::uint32_t>(__builtin_ctzll(port.free_sends));
    std::uint8_t* const packet = port.memory + std::size_t{slot} * kStride;
    const Name from = is_any_address(datagrams.own) ? with_address_of(datagrams.own, port.address)
                                                    : datagrams.own;
    std::copy(from.begin(), from.end(), packet);
    std::copy(data.begin(), data.end(), packet + kNameBytes);
    ibv_sge part{};
    part.addr = reinterpret_cast<std::uintptr_t>(packet);
    part.length = static_cast<std::uint32_t>(kNameBytes + data.size());
    part.lkey = port.mr->lkey;
    ibv_send_wr request{};
    request.wr_id = slot;
    request.sg_list = &part;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.wr.ud.ah = to.ah;
    request.wr.ud.remote_qpn = to.qpn;
    request.wr.ud.remote_qkey = to.qkey;
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(port.id->qp, &request, &bad); error != 0) {
        errno = error;
        return false;
    }
    port.free_sends &= ~(std::uint64_t{1} << slot);
    return true;
}

}  // namespace softib::abi::rdmacm
