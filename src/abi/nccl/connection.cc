// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/connection.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <new>

#include "abi/nccl/log.h"

namespace softib::abi::nccl {

namespace {

constexpr std::uint32_t kExpectedMax = 1024;
constexpr std::uint32_t kGreeting = UINT32_MAX;
constexpr std::uint64_t kNoRequest = UINT64_MAX;
constexpr int kCqEntries = static_cast<int>(2 * kRequestsMax + kExpectedMax);

/// Bits of a message's immediate value for the offer's place in its group. The bits above are the
/// group's place in the FIFO.
constexpr std::uint32_t kPlaceBits = std::bit_width(static_cast<unsigned>(kReceivesMax - 1));

}  // namespace

Connection::~Connection() {
    if (qp_ != nullptr) {
        ibv_destroy_qp(qp_);
    }
    if (cq_ != nullptr) {
        ibv_destroy_cq(cq_);
    }
    if (fifo_region_ != nullptr) {
        ibv_dereg_mr(fifo_region_);
    }
}

int Connection::open() {
    fifo_.reset(new (std::nothrow) OfferGroup[kRequestsMax]{});
    cq_ = ibv_create_cq(device_.context, kCqEntries, nullptr, nullptr, 0);
    if (fifo_ == nullptr || cq_ == nullptr) {
        return cq_ == nullptr ? errno : ENOMEM;
    }
    fifo_region_ = ibv_reg_mr(device_.pd, fifo_.get(), kRequestsMax * sizeof(OfferGroup),
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap = {.max_send_wr = 2 * kRequestsMax,
                .max_recv_wr = kExpectedMax,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    qp_ = fifo_region_ == nullptr ? nullptr : ibv_create_qp(device_.pd, &init);
    if (qp_ == nullptr) {
        return errno;
    }
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = device_.port;
    state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return ibv_modify_qp(qp_, &state,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

bool Connection::connect(const Address& peer) {
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_RTR;
    state.path_mtu =
        static_cast<ibv_mtu>(std::min(peer.mtu, static_cast<std::uint8_t>(device_.mtu)));
    state.dest_qp_num = peer.qpn;
    state.max_dest_rd_atomic = 1;
    state.min_rnr_timer = 12;
    state.ah_attr = route_to(device_, peer);
    if (ibv_modify_qp(qp_, &state,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0) {
        return false;
    }
    state.qp_state = IBV_QPS_RTS;
    state.timeout = 20;  // 4 s, as in NCCL's own transport.
    state.retry_cnt = 7;
    state.rnr_retry = 7;
    state.max_rd_atomic = 1;
    return ibv_modify_qp(qp_, &state,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

Result Connection::post_write(const ibv_sge& from, std::uint64_t to, std::uint32_t rkey,
                              const std::uint32_t* immediate, std::uint64_t id) {
    ibv_sge place = from;
    ibv_send_wr request{};
    request.wr_id = id;
    request.sg_list = &place;
    request.num_sge = place.length == 0 ? 0 : 1;
    request.opcode = immediate == nullptr ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = immediate == nullptr ? 0 : *immediate;
    request.wr.rdma.remote_addr = to;
    request.wr.rdma.rkey = rkey;
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(qp_, &request, &bad); error != 0) {
        warn("%s: cannot post an RDMA write: error %d", device_.name.c_str(), error);
        return kSystemError;
    }
    return kSuccess;
}

Result Connection::progress() {
    constexpr int kBatch = 16;
    ibv_wc done[kBatch];
    int count = 0;
    while ((count = ibv_poll_cq(cq_, kBatch, done)) > 0) {
        for (int i = 0; i < count; ++i) {
            if (done[i].status != IBV_WC_SUCCESS) {
                warn("%s: the connection to the peer is lost: %s", device_.name.c_str(),
                     ibv_wc_status_str(done[i].status));
                return kRemoteError;
            }
            take(done[i]);
        }
    }
    return count < 0 ? kSystemError : kSuccess;
}

Result SendEnd::greet() {
    return post_write({}, 0, 0, &kGreeting, kNoRequest);
}

Result SendEnd::send(void* data, std::size_t bytes, int tag, const ibv_mr& region,
                     Request*& request) {
    request = nullptr;
    const std::uint32_t slot = head_ % kRequestsMax;
    OfferGroup& group = fifo_[slot];
    const auto offered = [&](const Offer& offer) {
        return std::atomic_ref(const_cast<std::uint32_t&>(offer.number))
                   .load(std::memory_order_acquire) == head_ + 1;
    };
    if (!offered(group[0]) || requests_[writes_ % kRequestsMax].used) {
        return progress();
    }
    const std::uint32_t count = group[0].group;
    std::uint32_t place = 0;
    while (place < count &&
           ((taken_ >> place & 1) != 0 || !offered(group[place]) || group[place].tag != tag)) {
        ++place;
    }
    if (place == count) {
        return kSuccess;
    }
    const Offer offer = group[place];
    Request& next = requests_[writes_ % kRequestsMax];
    // Bytes for which the receiver has no room are cut off, as in NCCL's own transports.
    const std::size_t length = std::min<std::size_t>(bytes, offer.bytes);
    const std::uint32_t immediate = slot << kPlaceBits | place;
    const Result result = post_write({.addr = reinterpret_cast<std::uint64_t>(data),
                                      .length = static_cast<std::uint32_t>(length),
                                      .lkey = region.lkey},
                                     offer.at, offer.rkey, &immediate, writes_ % kRequestsMax);
    if (result != kSuccess) {
        return result;
    }
    next = {.connection = this, .used = true, .messages = 1, .left = 1};
    next.bytes[0] = static_cast<int>(length);
    request = &next;
    ++writes_;
    taken_ |= 1U << place;
    if (taken_ == (1U << count) - 1) {
        taken_ = 0;
        ++head_;
    }
    return kSuccess;
}

void SendEnd::take(const ibv_wc& done) {
    if (done.wr_id != kNoRequest) {
        --requests_[done.wr_id].left;
    }
}

Result ReceiveEnd::post_receive() {
    ibv_recv_wr request{};
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(qp_, &request, &bad) != 0) {
        warn("%s: cannot post a receive", device_.name.c_str());
        return kSystemError;
    }
    ++expected_;
    return kSuccess;
}

Result ReceiveEnd::expect_greeting() {
    return post_receive();
}

Result ReceiveEnd::receive(int count, void* const* data, const std::size_t* bytes, const int* tags,
                           void* const* regions, Request*& request) {
    request = nullptr;
    const std::uint32_t slot = head_ % kRequestsMax;
    Request& next = requests_[slot];
    if (count < 1 || count > kReceivesMax) {
        return kInvalidArgument;
    }
    if (next.used || expected_ + static_cast<std::uint32_t>(count) > kExpectedMax) {
        return progress();
    }
    OfferGroup& group = fifo_[slot];
    for (int i = 0; i < count; ++i) {
        const auto& region = *static_cast<const ibv_mr*>(regions[i]);
        group[i] = {.at = reinterpret_cast<std::uint64_t>(data[i]),
                    .bytes = bytes[i],
                    .rkey = region.rkey,
                    .tag = tags[i],
                    .group = static_cast<std::uint32_t>(count),
                    .number = head_ + 1};
        if (const Result result = post_receive(); result != kSuccess) {
            return result;
        }
    }
    const Result result = post_write(
        {.addr = reinterpret_cast<std::uint64_t>(&group),
         .length = static_cast<std::uint32_t>(static_cast<std::size_t>(count) * sizeof(Offer)),
         .lkey = fifo_region_->lkey},
        peer_fifo_ + slot * sizeof(OfferGroup), peer_rkey_, nullptr, kNoRequest);
    if (result != kSuccess) {
        return result;
    }
    next = {.connection = this, .used = true, .messages = count, .left = count};
    request = &next;
    ++head_;
    return kSuccess;
}

void ReceiveEnd::take(const ibv_wc& done) {
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
        return;  // Offers have arrived in the sender's FIFO.
    }
    --expected_;
    if (done.imm_data == kGreeting) {
        greeted_ = true;
        return;
    }
    Request& request = requests_[(done.imm_data >> kPlaceBits) % kRequestsMax];
    request.bytes[done.imm_data & (kReceivesMax - 1)] = static_cast<int>(done.byte_len);
    --request.left;
}

}  // namespace softib::abi::nccl
