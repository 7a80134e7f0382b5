// SPDX-License-Identifier: BSD-2-Clause
// Datagram sockets: lookups by peers, lookups of peers, and the data that is sent and received.
#include "abi/rdmacm/rsocket_datagram.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

namespace {

constexpr int kBacklog = 128;
constexpr std::size_t kWaitingMax = 64;
constexpr std::size_t kDestinationsMax = 1024;
constexpr std::uint32_t kSlotMask = 0xFFFF;

void forget_id(Destination& destination) {
    if (destination.id != nullptr) {
        rdma_destroy_id(destination.id);
        destination.id = nullptr;
    }
}

/// Ends the lookup of a destination with an error. The datagrams that wait for it are lost.
void give_up(Destination& destination, int error) {
    destination.state = Destination::State::kFailed;
    destination.error = error;
    destination.waiting.clear();
}

/// Notes where a destination is, from the answer to a lookup or from a datagram that came. Returns
/// false if `ah` is nullptr.
bool settle(Destination& destination, DatagramPort& port, ibv_ah* ah, std::uint16_t lid,
            std::uint32_t qpn, std::uint32_t qkey) {
    if (ah == nullptr) {
        return false;
    }
    if (destination.ah != nullptr) {
        ibv_destroy_ah(destination.ah);
    }
    destination.state = Destination::State::kKnown;
    destination.port = &port;
    destination.ah = ah;
    destination.lid = lid;
    destination.qpn = qpn;
    destination.qkey = qkey;
    return true;
}

/// Sends the datagrams that wait for a destination, until no send slot is free. The others stay.
void send_waiting(Datagrams& datagrams, Destination& destination) {
    auto& waiting = destination.waiting;
    auto next = waiting.begin();
    // A datagram that cannot be sent for another reason, as one that is too long, is lost.
    while (next != waiting.end() &&
           (post_datagram(datagrams, destination, *next) || errno != EAGAIN)) {
        ++next;
    }
    waiting.erase(waiting.begin(), next);
    datagrams.wait_for_slots |= !waiting.empty();
}

void take_answer(Datagrams& datagrams, Destination& destination, const rdma_ud_param& answer) {
    DatagramPort* const port = port_at(datagrams, destination.id);
    ibv_ah_attr to = answer.ah_attr;
    if (port == nullptr || !settle(destination, *port, ibv_create_ah(port->id->pd, &to), to.dlid,
                                   answer.qp_num, answer.qkey)) {
        give_up(destination, errno);
        return;
    }
    send_waiting(datagrams, destination);
}

/// Answers a peer's lookup of our queue pair. The caller can then destroy the endpoint of the
/// lookup.
void answer_question(Datagrams& datagrams, rdma_cm_id* question) {
    const DatagramPort* const port = port_at(datagrams, question);
    if (port == nullptr) {
        rdma_reject(question, nullptr, 0);
        return;
    }
    rdma_conn_param parameters{};
    parameters.qp_num = port->id->qp->qp_num;
    rdma_accept(question, &parameters);
}

/// Takes the next step of one of our lookups. Returns true if the lookup is over, answered or not.
bool take_step(Datagrams& datagrams, Destination& destination, const rdma_cm_event& event) {
    rdma_conn_param parameters{};
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            if (rdma_resolve_route(destination.id, kResolveTimeoutMs) == 0) {
                return false;
            }
            give_up(destination, errno);
            return true;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            if (rdma_connect(destination.id, &parameters) == 0) {
                return false;
            }
            give_up(destination, errno);
            return true;
        case RDMA_CM_EVENT_ESTABLISHED:
            take_answer(datagrams, destination, event.param.ud);
            return true;
        case RDMA_CM_EVENT_ADDR_ERROR:
        case RDMA_CM_EVENT_ROUTE_ERROR:
            give_up(destination, EHOSTUNREACH);
            return true;
        case RDMA_CM_EVENT_UNREACHABLE:
            give_up(destination, event.status == -ETIMEDOUT ? ETIMEDOUT : ECONNREFUSED);
            return true;
        default:
            give_up(destination, ECONNREFUSED);
            return true;
    }
}

void take_datagram_events(Rsocket& socket) {
    rdma_cm_event* event = nullptr;
    while (rdma_get_cm_event(socket.channel, &event) == 0) {
        rdma_cm_id* const id = event->id;
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
            answer_question(*socket.datagrams, id);
            rdma_ack_cm_event(event);
            rdma_destroy_id(id);
            continue;
        }
        auto* const destination = static_cast<Destination*>(id->context);
        const bool is_over = destination != nullptr && destination->id == id &&
                             take_step(*socket.datagrams, *destination, *event);
        rdma_ack_cm_event(event);
        if (is_over) {
            forget_id(*destination);
        }
    }
}

/// Makes room for one more destination, if need be by forgetting all that can be looked up again.
/// Returns false if there is no room.
bool make_room(Datagrams& datagrams) {
    if (datagrams.destinations.size() < kDestinationsMax) {
        return true;
    }
    if (std::ranges::any_of(datagrams.ports, is_sending)) {
        return false;
    }
    std::erase_if(datagrams.destinations, [&datagrams](auto& entry) {
        auto& [name, destination] = entry;
        if (destination.state == Destination::State::kAsking || name == datagrams.peer) {
            return false;
        }
        if (destination.ah != nullptr) {
            ibv_destroy_ah(destination.ah);
        }
        return true;
    });
    return datagrams.destinations.size() < kDestinationsMax;
}

/// Remembers where a datagram came from.
void learn(Datagrams& datagrams, DatagramPort& port, const Name& from, ibv_wc& completion,
           ibv_grh* grh) {
    const auto known = datagrams.destinations.find(from);
    if (known != datagrams.destinations.end()) {
        const Destination& destination = known->second;
        const bool is_same = destination.state == Destination::State::kKnown &&
                             destination.qpn == completion.src_qp &&
                             destination.lid == completion.slid && destination.port == &port;
        // A destination that is being looked up, or that sends under way may be for, stays as it
        // is.
        if (is_same || destination.state == Destination::State::kAsking || is_sending(port)) {
            return;
        }
    } else if (!make_room(datagrams)) {
        return;
    }
    settle(datagrams.destinations[from], port,
           ibv_create_ah_from_wc(port.id->pd, &completion, grh, port.id->port_num), completion.slid,
           completion.src_qp, RDMA_UDP_QKEY);
}

/// Returns whether a datagram came from the queue pair that the socket is connected to, whichever
/// of the peer's addresses the program has named.
bool is_from_peer(const Datagrams& datagrams, const ibv_wc& completion) {
    const auto peer = datagrams.destinations.find(datagrams.peer);
    return peer != datagrams.destinations.end() &&
           peer->second.state == Destination::State::kKnown &&
           peer->second.qpn == completion.src_qp && peer->second.lid == completion.slid;
}

void take_datagram(Rsocket& socket, DatagramPort& port, ibv_wc& completion) {
    Datagrams& datagrams = *socket.datagrams;
    const auto slot = static_cast<std::uint32_t>(completion.wr_id & kSlotMask);
    std::uint8_t* const packet = received_packet(port, slot);
    constexpr std::size_t kHeaders = sizeof(ibv_grh) + kNameBytes;
    const bool is_connected = datagrams.peer != Name{};
    if (completion.status != IBV_WC_SUCCESS || completion.byte_len < kHeaders ||
        socket.reads_no_more || (is_connected && !is_from_peer(datagrams, completion))) {
        if (completion.status != IBV_WC_WR_FLUSH_ERR) {
            post_datagram_receive(port, slot);
        }
        return;
    }
    Datagram datagram{.port = &port,
                      .slot = slot,
                      .bytes = completion.byte_len - static_cast<std::uint32_t>(kHeaders)};
    std::copy_n(packet + sizeof(ibv_grh), kNameBytes, datagram.from.begin());
    if (is_connected) {
        datagram.from = datagrams.peer;
    } else {
        learn(datagrams, port, datagram.from, completion, reinterpret_cast<ibv_grh*>(packet));
    }
    datagrams.queue.push_back(datagram);
}

/// Sends datagrams that found no free send slot when their destination was looked up. They go
/// before those that the program sends later, which find no free slot until then.
void send_all_waiting(Datagrams& datagrams) {
    if (!datagrams.wait_for_slots) {
        return;
    }
    datagrams.wait_for_slots = false;
    for (auto& [name, destination] : datagrams.destinations) {
        if (destination.state == Destination::State::kKnown) {
            send_waiting(datagrams, destination);
        }
    }
}

bool take_datagram_completions(Rsocket& socket) {
    bool any = false;
    ibv_wc completions[16];
    for (DatagramPort& port : socket.datagrams->ports) {
        int n = 0;
        while ((n = ibv_poll_cq(port.cq, 16, completions)) > 0) {
            any = true;
            for (int i = 0; i < n; ++i) {
                if ((completions[i].wr_id & kDatagramReceive) != 0) {
                    take_datagram(socket, port, completions[i]);
                } else {
                    port.free_sends |= std::uint64_t{1} << (completions[i].wr_id & kSlotMask);
                }
            }
        }
    }
    send_all_waiting(*socket.datagrams);
    return any;
}

/// Begins to look `name` up. Returns 0 or an errno value.
int ask(Rsocket& socket, Destination& destination, const Name& name) {
    destination.state = Destination::State::kAsking;
    if (rdma_create_id(socket.channel, &destination.id, &destination, RDMA_PS_UDP) != 0) {
        give_up(destination, errno);
        return destination.error;
    }
    sockaddr_storage address{};
    to_sockaddr(name, address);
    if (rdma_resolve_addr(destination.id, nullptr, reinterpret_cast<sockaddr*>(&address),
                          kResolveTimeoutMs) != 0) {
        give_up(destination, errno);
        forget_id(destination);
        return destination.error;
    }
    return 0;
}

}  // namespace

int bind_datagrams(Rsocket& socket, const sockaddr* address) {
    if (name_of(address) == Name{}) {
        return fail(EAFNOSUPPORT);
    }
    sockaddr_storage copy{};
    std::memcpy(&copy, address, address_bytes(address));
    if (rdma_bind_addr(socket.id, reinterpret_cast<sockaddr*>(&copy)) != 0 ||
        rdma_listen(socket.id, kBacklog) != 0) {
        return -1;
    }
    socket.datagrams->own = name_of(rdma_get_local_addr(socket.id));
    socket.state = SocketState::kBound;
    return 0;
}

int bind_anywhere(Rsocket& socket, sa_family_t family) {
    sockaddr_storage any{};
    any.ss_family = family;
    return socket.state == SocketState::kNew
               ? bind_datagrams(socket, reinterpret_cast<const sockaddr*>(&any))
               : 0;
}

int connect_datagrams(Rsocket& socket, const sockaddr* address) {
    if (address->sa_family == AF_UNSPEC) {
        socket.datagrams->peer = {};
        socket.state = socket.state == SocketState::kNew ? SocketState::kNew : SocketState::kBound;
        return 0;
    }
    const Name name = name_of(address);
    if (name == Name{}) {
        return fail(EAFNOSUPPORT);
    }
    if (bind_anywhere(socket, address->sa_family) != 0) {
        return -1;
    }
    socket.datagrams->peer = name;
    socket.state = SocketState::kConnected;
    return 0;
}

void progress_datagrams(Rsocket& socket) {
    take_datagram_events(socket);
    take_datagram_completions(socket);
}

bool arm_datagrams(Rsocket& socket) {
    if (take_datagram_completions(socket)) {
        return false;
    }
    for (DatagramPort& port : socket.datagrams->ports) {
        ibv_cq* cq = nullptr;
        void* context = nullptr;
        while (ibv_get_cq_event(port.completions, &cq, &context) == 0) {
            ibv_ack_cq_events(cq, 1);
        }
        ibv_req_notify_cq(port.cq, 0);
    }
    return !take_datagram_completions(socket);
}

ssize_t send_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                      std::span<const std::uint8_t> data, int flags, const Name& to) {
    Datagrams& datagrams = *socket.datagrams;
    const bool waits = !socket.nonblocking && (flags & MSG_DONTWAIT) == 0;
    progress(socket);
    if (!datagrams.destinations.contains(to) && !make_room(datagrams)) {
        return fail(ENOBUFS);
    }
    const Patience patience(socket.send_timeout_ms);
    // A failed destination is looked up again once in each call.
    bool asked = false;
    while (true) {
        const auto [entry, is_new] = datagrams.destinations.try_emplace(to);
        Destination& destination = entry->second;
        if (is_new || (destination.state == Destination::State::kFailed && !asked)) {
            if (const int error = ask(socket, destination, to); error != 0) {
                return fail(error);
            }
        }
        if (destination.state == Destination::State::kKnown) {
            if (post_datagram(datagrams, destination, data)) {
                return static_cast<ssize_t>(data.size());
            }
            if (errno != EAGAIN || !waits) {
                return -1;
            }
        } else if (destination.state == Destination::State::kFailed) {
            return fail(destination.error);
        } else if (!waits) {
            if (destination.waiting.size() >= kWaitingMax) {
                return fail(EAGAIN);
            }
            destination.waiting.emplace_back(data.begin(), data.end());
            return static_cast<ssize_t>(data.size());
        }
        asked = true;
        if (!wait(socket, lock, patience)) {
            return fail(EAGAIN);
        }
    }
}

ssize_t receive_datagram(Rsocket& socket, std::unique_lock<std::mutex>& lock,
                         std::span<const iovec> parts, int flags, sockaddr_storage* from) {
    Datagrams& datagrams = *socket.datagrams;
    const Patience patience(socket.receive_timeout_ms);
    progress(socket);
    while (datagrams.queue.empty()) {
        if (socket.reads_no_more) {
            return 0;
        }
        if (socket.nonblocking || (flags & MSG_DONTWAIT) != 0 || !wait(socket, lock, patience)) {
            return fail(EAGAIN);
        }
    }
    const Datagram first = datagrams.queue.front();
    std::size_t done = 0;
    for (const iovec& part : parts) {
        const std::size_t bytes = std::min<std::size_t>(part.iov_len, first.bytes - done);
        std::copy_n(payload_of(first) + done, bytes, static_cast<std::uint8_t*>(part.iov_base));
        done += bytes;
    }
    if (from != nullptr) {
        to_sockaddr(first.from, *from);
    }
    if ((flags & MSG_PEEK) == 0) {
        datagrams.queue.pop_front();
        post_datagram_receive(*first.port, first.slot);
    }
    return static_cast<ssize_t>((flags & MSG_TRUNC) != 0 ? first.bytes : done);
}

}  // namespace softib::abi::rdmacm
