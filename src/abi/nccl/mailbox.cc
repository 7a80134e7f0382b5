// SPDX-License-Identifier: BSD-2-Clause
#include "abi/nccl/mailbox.h"

#include <algorithm>
#include <cerrno>

namespace softib::abi::nccl {

namespace {

constexpr std::uint32_t kMailboxQKey = 0x0C0FFEE1;
constexpr std::uint8_t kHopLimit = 64;

}  // namespace

Address address_of(const Device& device, std::uint32_t qpn) {
    return {.gid = device.gid,
            .qpn = qpn,
            .lid = device.lid,
            .mtu = static_cast<std::uint8_t>(device.mtu),
            .global = device.is_infiniband ? std::uint8_t{0} : std::uint8_t{1}};
}

ibv_ah_attr route_to(const Device& device, const Address& to) {
    ibv_ah_attr route{};
    route.dlid = to.lid;
    route.port_num = device.port;
    if (to.global != 0) {
        route.is_global = 1;
        route.grh.dgid = to.gid;
        route.grh.hop_limit = kHopLimit;
    }
    return route;
}

Mailbox::Mailbox(const Device& device) : device_(device) {
    error_ = open();
}

Mailbox::~Mailbox() {
    if (qp_ != nullptr) {
        ibv_destroy_qp(qp_);
    }
    if (route_ != nullptr) {
        ibv_destroy_ah(route_);
    }
    if (cq_ != nullptr) {
        ibv_destroy_cq(cq_);
    }
    if (region_ != nullptr) {
        ibv_dereg_mr(region_);
    }
}

int Mailbox::open() {
    cq_ = ibv_create_cq(device_.context, 2 * kSlots, nullptr, nullptr, 0);
    if (cq_ == nullptr) {
        return errno;
    }
    constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
    region_ = ibv_reg_mr(device_.pd, slots_, sizeof slots_, kAccess);
    if (region_ == nullptr) {
        return errno;
    }
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.qp_type = IBV_QPT_UD;
    init.cap = {.max_send_wr = 1,
                .max_recv_wr = kSlots,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    qp_ = ibv_create_qp(device_.pd, &init);
    if (qp_ == nullptr) {
        return errno;
    }
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = device_.port;
    state.qkey = kMailboxQKey;
    int error =
        ibv_modify_qp(qp_, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    for (std::uint64_t slot = 0; slot < kSlots && error == 0; ++slot) {
        error = post(slot);
    }
    if (error != 0) {
        return error;
    }
    state.qp_state = IBV_QPS_RTR;
    if (error = ibv_modify_qp(qp_, &state, IBV_QP_STATE); error != 0) {
        return error;
    }
    state.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(qp_, &state, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int Mailbox::post(std::uint64_t slot) {
    ibv_sge place{.addr = reinterpret_cast<std::uint64_t>(&slots_[slot]),
                  .length = sizeof(Slot),
                  .lkey = region_->lkey};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &place;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp_, &request, &bad);
}

Address Mailbox::address() const {
    return address_of(device_, qp_->qp_num);
}

bool Mailbox::send(const Address& to, const Letter& letter) {
    if (route_ != nullptr) {
        return true;  // The letter before has not left yet; the caller sends this one again later.
    }
    ibv_ah_attr route = route_to(device_, to);
    route_ = ibv_create_ah(device_.pd, &route);
    if (route_ == nullptr) {
        return false;
    }
    slots_[kSlots].letter = letter;
    ibv_sge place{.addr = reinterpret_cast<std::uint64_t>(&slots_[kSlots].letter),
                  .length = sizeof(Letter),
                  .lkey = region_->lkey};
    ibv_send_wr request{};
    request.wr_id = kSlots;
    request.sg_list = &place;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud.ah = route_;
    request.wr.ud.remote_qpn = to.qpn;
    request.wr.ud.remote_qkey = kMailboxQKey;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp_, &request, &bad) != 0) {
        ibv_destroy_ah(route_);
        route_ = nullptr;
        return false;
    }
    return true;
}

std::optional<Letter> Mailbox::receive() {
    ibv_wc done{};
    while (ibv_poll_cq(cq_, 1, &done) > 0) {
        if (done.wr_id >= kSlots) {
            ibv_destroy_ah(route_);
            route_ = nullptr;
            continue;
        }
        const Letter letter = slots_[done.wr_id].letter;
        post(done.wr_id);
        if (done.status == IBV_WC_SUCCESS && done.byte_len == sizeof(Slot)) {
            return letter;
        }
    }
    return std::nullopt;
}

}  // namespace softib::abi::nccl
