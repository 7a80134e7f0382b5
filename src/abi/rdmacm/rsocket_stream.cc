// SPDX-License-Identifier: BSD-2-Clause
// Stream sockets: the queue pair of a connection, its messages, and its events.
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"
#include "abi/rdmacm/rsocket_datagram.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::size_t kStreamMemoryBytes = std::size_t{kSlots + kReceives} * kSlotBytes;
// Bits of the immediate data:
constexpr std::uint32_t kEndBit = 1U << 31;     // The sender sends no more.
constexpr std::uint32_t kDataBit = 1U << 30;    // The message is data.
constexpr std::uint32_t kMapBit = 1U << 29;     // The message is a notice of mapped memory.
constexpr std::uint32_t kCreditsMask = 0xFFFF;  // The number of credits that it returns.
// Bits of a request's wr_id; the low bits are the slot:
constexpr std::uint64_t kReceiveTag = 1U << 16;  // A receive.
constexpr std::uint64_t kControlTag = 2U << 16;  // A message without a slot.
constexpr std::uint32_t kTransfersPerLook = 32;  // Transfers between two looks for events.

std::uint8_t* receive_slot(const Rsocket& socket, std::uint32_t slot) {
    return socket.memory + std::size_t{kSlots + slot} * kSlotBytes;
}

bool post_receive(const Rsocket& socket, std::uint32_t slot) {
    return post_one_receive(socket.id->qp, kReceiveTag | slot, receive_slot(socket, slot),
                            kSlotBytes, *socket.mr) == 0;
}

void fail_socket(Rsocket& socket, int error) {
    if (socket.state != SocketState::kClosed && socket.state != SocketState::kFailed) {
        socket.state = SocketState::kFailed;
        socket.error = error;
    }
}

/// Takes the next step of a connection that is being made, or notes its end.
void take_event(Rsocket& socket, const rdma_cm_event& event) {
    switch (event.event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            if (rdma_resolve_route(socket.id, kResolveTimeoutMs) != 0) {
                fail_socket(socket, errno);
            }
            break;
        case RDMA_CM_EVENT_ROUTE_RESOLVED: {
            rdma_conn_param parameters{};
            parameters.retry_count = 7;
            parameters.rnr_retry_count = 7;
            if (prepare(socket) != 0 || rdma_connect(socket.id, &parameters) != 0) {
                fail_socket(socket, errno);
            }
            break;
        }
        case RDMA_CM_EVENT_ESTABLISHED:
            socket.established = true;
            if (socket.state == SocketState::kConnecting) {
                socket.state = SocketState::kConnected;
            }
            break;
        case RDMA_CM_EVENT_ADDR_ERROR:
        case RDMA_CM_EVENT_ROUTE_ERROR:
            fail_socket(socket, EHOSTUNREACH);
            break;
        case RDMA_CM_EVENT_UNREACHABLE:
            fail_socket(socket, ETIMEDOUT);
            break;
        case RDMA_CM_EVENT_REJECTED:
        case RDMA_CM_EVENT_CONNECT_ERROR:
            fail_socket(socket, ECONNREFUSED);
            break;
        case RDMA_CM_EVENT_DISCONNECTED:
            if (socket.state != SocketState::kFailed) {
                socket.state = SocketState::kClosed;
            }
            break;
        default:
            break;
    }
}

void take_events(Rsocket& socket) {
    rdma_cm_event* event = nullptr;
    while (socket.request == nullptr && rdma_get_cm_event(socket.channel, &event) == 0) {
        ++socket.changes;
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
            socket.request = event;
            return;
        }
        take_event(socket, *event);
        rdma_ack_cm_event(event);
    }
}

void take_completion(Rsocket& socket, const ibv_wc& completion) {
    const auto slot = static_cast<std::uint32_t>(completion.wr_id & kCreditsMask);
    if ((completion.wr_id & kReceiveTag) == 0) {
        --socket.sends_under_way;
        if ((completion.wr_id & kControlTag) == 0) {
            socket.free_sends |= std::uint64_t{1} << slot;
        }
        if (completion.status != IBV_WC_SUCCESS && socket.state == SocketState::kConnected) {
            take_events(socket);  // The peer may have ended the connection.
            if (socket.state == SocketState::kConnected) {
                fail_socket(socket, ECONNRESET);
            }
        }
        return;
    }
    if (completion.status != IBV_WC_SUCCESS) {
        return;  // The receive was flushed; an event says why.
    }
    const std::uint32_t said = be32toh(completion.imm_data);
    socket.credits += said & kCreditsMask;
    socket.received_end |= (said & kEndBit) != 0;
    if ((said & kDataBit) != 0 && !socket.reads_no_more) {
        socket.queue[(socket.queue_first + socket.queue_count++) % kReceives] = {
            slot, completion.byte_len};
        return;
    }
    if ((said & kMapBit) != 0) {
        take_notice(socket, {receive_slot(socket, slot), completion.byte_len});
    }
    post_receive(socket, slot);
    socket.owed += (said & (kDataBit | kMapBit)) != 0 ? 1 : 0;
}

bool take_completions(Rsocket& socket) {
    bool any = false;
    ibv_wc completions[16];
    int n = 0;
    while ((n = ibv_poll_cq(socket.cq, 16, completions)) > 0) {
        any = true;
        ++socket.changes;
        for (int i = 0; i < n; ++i) {
            take_completion(socket, completions[i]);
        }
    }
    send_notices(socket);
    if (socket.owed >= kSlots / 2 && socket.state == SocketState::kConnected) {
        send_control(socket, false);
    }
    return any;
}

}  // namespace

int prepare(Rsocket& socket) {
    if (!fill_queue(socket, kStreamMemoryBytes) ||
        !make_queue_pair(socket, IBV_QPT_RC, kSlots + kControlSlots, kReceives)) {
        return -1;
    }
    for (std::uint32_t i = 0; i < kReceives; ++i) {
        if (!post_receive(socket, i)) {
            return fail(ENOMEM);
        }
    }
    socket.free_sends = ~std::uint64_t{0};
    static_assert(kSlots == 64);
    socket.credits = kSlots;
    return 0;
}

bool fill_queue(SocketQueue& queue, std::size_t memory_bytes) {
    void* const memory =
        mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    queue.memory = static_cast<std::uint8_t*>(memory);
    queue.memory_bytes = memory_bytes;
    constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
    queue.mr = ibv_reg_mr(queue.id->pd, queue.memory, memory_bytes, kAccess);
    queue.completions = ibv_create_comp_channel(queue.id->verbs);
    return queue.mr != nullptr && queue.completions != nullptr &&
           fcntl(queue.completions->fd, F_SETFL, O_NONBLOCK) == 0;
}

bool make_queue_pair(SocketQueue& queue, ibv_qp_type type, std::uint32_t sends,
                     std::uint32_t receives) {
    queue.cq = ibv_create_cq(queue.id->verbs, static_cast<int>(sends + receives), nullptr,
                             queue.completions, 0);
    if (queue.cq == nullptr) {
        return false;
    }
    ibv_qp_init_attr attr{};
    attr.send_cq = queue.cq;
    attr.recv_cq = queue.cq;
    attr.qp_type = type;
    attr.cap.max_send_wr = sends;
    attr.cap.max_recv_wr = receives;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = 1;
    attr.sq_sig_all = 1;
    return rdma_create_qp(queue.id, nullptr, &attr) == 0;
}

void close_queue(const SocketQueue& queue) {
    if (queue.id != nullptr && queue.id->qp != nullptr) {
        rdma_destroy_qp(queue.id);
    }
    if (queue.cq != nullptr) {
        ibv_destroy_cq(queue.cq);
    }
    if (queue.completions != nullptr) {
        ibv_destroy_comp_channel(queue.completions);
    }
    if (queue.mr != nullptr) {
        ibv_dereg_mr(queue.mr);
    }
    if (queue.memory != nullptr) {
        munmap(queue.memory, queue.memory_bytes);
    }
    if (queue.id != nullptr) {
        rdma_destroy_id(queue.id);
    }
}

void release(Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        release_datagrams(socket.datagrams);
    }
    if (socket.request != nullptr) {
        rdma_cm_id* const unseen = socket.request->id;
        rdma_ack_cm_event(socket.request);
        rdma_destroy_id(unseen);
    }
    for (const LocalMap& map : socket.maps) {
        ibv_dereg_mr(map.mr);
    }
    close_queue(socket);
    if (socket.channel != nullptr) {
        rdma_destroy_event_channel(socket.channel);
    }
}

void send_control(Rsocket& socket, bool end) {
    ibv_send_wr request{};
    request.wr_id = kControlTag;
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = htobe32((end ? kEndBit : 0) | socket.owed);
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(socket.id->qp, &request, &bad) == 0) {
        ++socket.sends_under_way;
        socket.owed = 0;
    }
}

void progress(Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        progress_datagrams(socket);
        return;
    }
    take_events(socket);
    if (socket.cq != nullptr) {
        take_completions(socket);
    }
}

void progress_transfer(Rsocket& socket) {
    if (socket.datagrams != nullptr || socket.cq == nullptr ||
        ++socket.transfers >= kTransfersPerLook) {
        socket.transfers = 0;
        progress(socket);
        return;
    }
    take_completions(socket);
}

bool arm(Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        return arm_datagrams(socket);
    }
    if (socket.cq == nullptr) {
        return true;
    }
    // To arm a queue that is not empty would raise an event, which costs two system calls.
    if (take_completions(socket)) {
        return false;
    }
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(socket.completions, &cq, &context) == 0) {
        ibv_ack_cq_events(cq, 1);
    }
    ibv_req_notify_cq(socket.cq, 0);
    return !take_completions(socket);
}

int completion_fd(const Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        return socket.datagrams->ready_fd;
    }
    return socket.completions != nullptr ? socket.completions->fd : -1;
}

bool is_readable(const Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        return !socket.datagrams->queue.empty() || socket.reads_no_more;
    }
    return socket.queue_count > 0 || socket.received_end || socket.request != nullptr ||
           socket.state == SocketState::kClosed || socket.state == SocketState::kFailed;
}

bool is_writable(const Rsocket& socket) {
    if (socket.datagrams != nullptr) {
        return std::ranges::all_of(socket.datagrams->ports,
                                   [](const DatagramPort& port) { return port.free_sends != 0; });
    }
    return (socket.state == SocketState::kConnected && socket.credits > 0 &&
            socket.free_sends != 0) ||
           socket.state == SocketState::kClosed || socket.state == SocketState::kFailed;
}

namespace {

/// Sends `data`, at most as much as fits into a send slot, by `request`. The caller has checked
/// that a slot is free. Returns the number of bytes; 0 if posting fails, which fails the socket.
std::size_t send_slot(Rsocket& socket, std::span<const std::uint8_t> data, ibv_send_wr request) {
    const auto slot = static_cast<std::uint32_t>(__builtin_ctzll(socket.free_sends));
    std::uint8_t* const from = socket.memory + std::size_t{slot} * kSlotBytes;
    const std::size_t part_bytes = std::min<std::size_t>(data.size(), kSlotBytes);
    std::copy_n(data.data(), part_bytes, from);
    ibv_sge part{};
    part.addr = reinterpret_cast<std::uintptr_t>(from);
    part.length = static_cast<std::uint32_t>(part_bytes);
    part.lkey = socket.mr->lkey;
    request.wr_id = slot;
    request.sg_list = &part;
    request.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(socket.id->qp, &request, &bad) != 0) {
        fail_socket(socket, ECONNRESET);
        return 0;
    }
    socket.free_sends &= ~(std::uint64_t{1} << slot);
    ++socket.sends_under_way;
    return part_bytes;
}

/// Sends a message of a kind, which uses a credit. Returns the number of bytes.
std::size_t send_message(Rsocket& socket, std::uint32_t kind, std::span<const std::uint8_t> data) {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = htobe32(kind | socket.owed);
    const std::size_t bytes = send_slot(socket, data, request);
    if (bytes > 0) {
        socket.owed = 0;
        --socket.credits;
    }
    return bytes;
}

}  // namespace

std::size_t write_remote(Rsocket& socket, std::span<const std::uint8_t> data, std::uint64_t address,
                         std::uint32_t rkey) {
    ibv_send_wr request{};
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    return send_slot(socket, data, request);
}

void send_notices(Rsocket& socket) {
    while (!socket.notices.empty() && socket.state == SocketState::kConnected &&
           is_writable(socket)) {
        if (send_message(socket, kMapBit, socket.notices.front()) == 0) {
            return;
        }
        socket.notices.pop_front();
    }
}

namespace {

/// Copies received data, at most `bytes`. With `peek`, the data stays in the socket. Returns the
/// number of bytes.
std::size_t read_some(Rsocket& socket, std::uint8_t* out, std::size_t bytes, bool peek) {
    std::size_t done = 0;
    std::uint32_t index = 0;
    std::uint32_t offset = socket.read_offset;
    while (done < bytes && index < socket.queue_count) {
        const Received& first = socket.queue[(socket.queue_first + index) % kReceives];
        const std::size_t part = std::min<std::size_t>(bytes - done, first.bytes - offset);
        std::copy_n(receive_slot(socket, first.slot) + offset, part, out + done);
        done += part;
        offset += static_cast<std::uint32_t>(part);
        if (offset < first.bytes) {
            break;
        }
        offset = 0;
        ++index;
        if (!peek) {
            post_receive(socket, first.slot);
            ++socket.owed;
            socket.queue_first = (socket.queue_first + 1) % kReceives;
            --socket.queue_count;
            index = 0;
        }
    }
    if (!peek) {
        socket.read_offset = offset;
        if (socket.owed >= kSlots / 2 && socket.state == SocketState::kConnected) {
            send_control(socket, false);
        }
    }
    return done;
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

ssize_t rsend(int number, const void* buf, size_t len, int flags) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    std::unique_lock lock(socket->mutex);
    const auto* const data = static_cast<const std::uint8_t*>(buf);
    if (socket->datagrams != nullptr) {
        return socket->state == SocketState::kConnected
                   ? send_datagram(*socket, lock, {data, len}, flags, socket->datagrams->peer)
                   : fail(EDESTADDRREQ);
    }
    const Patience patience(socket->send_timeout_ms);
    std::size_t done = 0;
    progress_transfer(*socket);
    while (done < len) {
        if (socket->state == SocketState::kFailed || socket->state == SocketState::kClosed ||
            socket->sent_end) {
            return done > 0 ? static_cast<ssize_t>(done)
                            : fail(socket->state == SocketState::kFailed && socket->error != 0
                                       ? socket->error
                                       : EPIPE);
        }
        if (socket->state != SocketState::kConnected && socket->state != SocketState::kConnecting) {
            return fail(ENOTCONN);
        }
        if (is_writable(*socket)) {
            done += send_message(*socket, kDataBit, {data + done, len - done});
            continue;
        }
        progress_transfer(*socket);
        if (is_writable(*socket)) {
            continue;
        }
        if (socket->nonblocking || (flags & MSG_DONTWAIT) != 0 || !wait(*socket, lock, patience)) {
            return done > 0 ? static_cast<ssize_t>(done) : fail(EAGAIN);
        }
    }
    return static_cast<ssize_t>(done);
}

ssize_t rrecv(int number, void* buf, size_t len, int flags) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    std::unique_lock lock(socket->mutex);
    if (socket->datagrams != nullptr) {
        const iovec part{.iov_base = buf, .iov_len = len};
        return receive_datagram(*socket, lock, {&part, 1}, flags, nullptr);
    }
    auto* const out = static_cast<std::uint8_t*>(buf);
    const bool peek = (flags & MSG_PEEK) != 0;
    const Patience patience(socket->receive_timeout_ms);
    std::size_t done = 0;
    progress_transfer(*socket);
    while (len > 0) {
        done += read_some(*socket, out + done, len - done, peek);
        if (done == len || (done > 0 && (peek || (flags & MSG_WAITALL) == 0))) {
            break;
        }
        if (socket->state == SocketState::kFailed) {
            return done > 0 ? static_cast<ssize_t>(done) : fail(socket->error);
        }
        if (socket->received_end || socket->reads_no_more ||
            socket->state == SocketState::kClosed) {
            break;
        }
        if (socket->state != SocketState::kConnected && socket->state != SocketState::kConnecting) {
            return fail(ENOTCONN);
        }
        if (socket->nonblocking || (flags & MSG_DONTWAIT) != 0 || !wait(*socket, lock, patience)) {
            return done > 0 ? static_cast<ssize_t>(done) : fail(EAGAIN);
        }
    }
    return static_cast<ssize_t>(done);
}

}  // extern "C"
