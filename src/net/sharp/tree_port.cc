// SPDX-License-Identifier: BSD-2-Clause
#include "net/sharp/tree_port.h"

#include <algorithm>

namespace softib::net {

bool TreePort::open(const wire::SharpQpcConfig& context) {
    const hca::QpInit init{.pd = config_.pd,
                           .send_cq = config_.cq,
                           .recv_cq = config_.cq,
                           .max_send_wr = config_.sends,
                           .max_recv_wr = kReceives,
                           .signal_all = true,
                           // A receive request is posted again before the next packet is handled.
                           .end_to_end_credits = false};
    if (!hca_.create_qp(init, context.qpn)) {
        return false;
    }
    if (!connect(context)) {
        hca_.destroy_qp(context.qpn);
        return false;
    }
    connections_[context.qpn].context = context;
    return true;
}

bool TreePort::connect(const wire::SharpQpcConfig& context) {
    namespace set = hca::qp_attr;
    const std::vector<PKey>& pkeys = hca_.port().pkeys;
    const auto pkey = std::ranges::find(pkeys, context.pkey);
    hca::QpAttr attr;
    attr.state = hca::QpState::kInit;
    attr.port = 1;
    attr.pkey_index = static_cast<std::uint16_t>(pkey == pkeys.end() ? 0 : pkey - pkeys.begin());
    if (!hca_.modify_qp(context.qpn, attr,
                        set::kState | set::kPkeyIndex | set::kPort | set::kAccessFlags)) {
        return false;
    }
    for (std::uint32_t i = 0; i < kReceives; ++i) {
        if (!post_receive(context.qpn)) {
            return false;
        }
    }
    attr.state = hca::QpState::kRtr;
    attr.av.dlid = context.rlid;
    attr.av.sl = context.sl;
    attr.path_mtu = context.mtu == 0 ? hca::kMtuCodeMax : context.mtu;
    attr.dest_qpn = context.rqpn.value;
    attr.rq_psn = context.rq_psn.value;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    if (!hca_.modify_qp(context.qpn, attr,
                        set::kState | set::kAv | set::kPathMtu | set::kDestQpn | set::kRqPsn |
                            set::kMaxDestRdAtomic | set::kMinRnrTimer)) {
        return false;
    }
    attr.state = hca::QpState::kRts;
    attr.sq_psn = context.sq_psn.value;
    attr.timeout = context.ack_timeout;
    attr.retry_cnt = context.retry;
    attr.rnr_retry = context.rnr_retry;
    attr.max_rd_atomic = 1;
    return hca_.modify_qp(context.qpn, attr,
                          set::kState | set::kSqPsn | set::kTimeout | set::kRetryCnt |
                              set::kRnrRetry | set::kMaxQpRdAtomic);
}

void TreePort::close(Qpn qpn) {
    if (connections_.erase(qpn) != 0) {
        hca_.destroy_qp(qpn);
    }
}

const wire::SharpQpcConfig* TreePort::find(Qpn qpn) const {
    const auto found = connections_.find(qpn);
    return found == connections_.end() ? nullptr : &found->second.context;
}

std::vector<Qpn> TreePort::open_pairs() const {
    std::vector<Qpn> qpns;
    for (const auto& [qpn, connection] : connections_) {
        qpns.push_back(qpn);
    }
    return qpns;
}

bool TreePort::has_failed(Qpn qpn) const {
    const auto found = connections_.find(qpn);
    return found != connections_.end() && found->second.failed;
}

bool TreePort::post_receive(Qpn qpn) {
    const hca::Sge sge{reinterpret_cast<std::uint64_t>(bytes_.data()),
                       static_cast<std::uint32_t>(bytes_.size()), config_.lkey};
    return hca_.post_receive(qpn, 0, std::span(&sge, 1)) == hca::PostError::kOk;
}

bool TreePort::send(Qpn from, std::vector<std::uint8_t> bytes) {
    const auto found = connections_.find(from);
    if (found == connections_.end() || found->second.failed) {
        return false;
    }
    found->second.sends.push_back(std::move(bytes));
    post_sends(from, found->second);
    return true;
}

void TreePort::post_sends(Qpn qpn, Connection& connection) {
    while (connection.posted < connection.sends.size()) {
        const std::vector<std::uint8_t>& bytes = connection.sends[connection.posted];
        const hca::Sge sge{reinterpret_cast<std::uint64_t>(bytes.data()),
                           static_cast<std::uint32_t>(bytes.size()), config_.lkey};
        hca::WorkRequest send;
        send.sges = std::span(&sge, 1);
        if (hca_.post_send(qpn, send) != hca::PostError::kOk) {
            return;
        }
        ++connection.posted;
    }
}

std::optional<TreePort::Arrived> TreePort::take(const hca::Completion& done) {
    const auto found = connections_.find(done.qpn);
    if (found == connections_.end()) {
        return std::nullopt;
    }
    Connection& connection = found->second;
    if (done.status != hca::WcStatus::kSuccess) {
        connection.failed = true;
        return std::nullopt;
    }
    if (!done.is_receive) {
        connection.sends.pop_front();
        --connection.posted;
        post_sends(done.qpn, connection);
        return std::nullopt;
    }
    post_receive(done.qpn);
    return Arrived{done.qpn,
                   std::span(bytes_).first(std::min<std::size_t>(done.byte_len, bytes_.size()))};
}

}  // namespace softib::net
