// SPDX-License-Identifier: BSD-2-Clause
// Posting of send requests: checks a request and executes it, or lets it wait.
#include <cerrno>

#include "runtime/direct/process.h"
#include "runtime/direct/qp.h"

namespace softib::live {

namespace {

std::uint32_t completion_bytes(const WorkRequest& wr) {
    if (wr.opcode == WrOpcode::kCompareSwap || wr.opcode == WrOpcode::kFetchAdd) {
        return 8;
    }
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
        bytes += wr.sges[i].length;
    }
    return static_cast<std::uint32_t>(bytes);
}

}  // namespace

bool Qp::allowed(const WorkRequest& wr) const {
    if (wr.num_sge > init_.max_send_sge && !(wr.num_sge == 1 && (wr.flags & kSendInline) != 0)) {
        return false;
    }
    switch (init_.type) {
        case QpType::kRc:
        case QpType::kXrcSend:
            return wr.opcode <= WrOpcode::kSendInv || wr.opcode == WrOpcode::kAtomicWrite;
        case QpType::kUc:
            return wr.opcode <= WrOpcode::kSendImm || wr.opcode == WrOpcode::kBindMw ||
                   wr.opcode == WrOpcode::kLocalInv || wr.opcode == WrOpcode::kSendInv;
        case QpType::kUd:
            return (wr.opcode == WrOpcode::kSend || wr.opcode == WrOpcode::kSendImm) &&
                   wr.ah != nullptr;
        case QpType::kXrcRecv:
            return false;
    }
    return false;
}

int Qp::check_post_locked(const WorkRequest& wr, std::uint32_t ahead) const {
    if (disowned_) [[unlikely]] {
        return EIO;
    }
    if (state_ < QpState::kRts || !allowed(wr)) [[unlikely]] {
        return EINVAL;
    }
    // The eight bytes of an atomic write are part of the request itself.
    if ((wr.flags & kSendInline) != 0 && wr.opcode != WrOpcode::kAtomicWrite) {
        std::uint64_t bytes = 0;
        for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
            bytes += wr.sges[i].length;
        }
        const bool carries = wr.opcode < WrOpcode::kRead || wr.opcode == WrOpcode::kSendInv;
        if (bytes > init_.max_inline || !carries) {
            return EINVAL;
        }
    }
    if (send_posted_ + ahead - send_done_.load(std::memory_order_relaxed) >= init_.max_send_wr)
        [[unlikely]] {
        return ENOMEM;
    }
    return 0;
}

int Qp::post_locked(const WorkRequest& wr) {
    if (const int error = check_post_locked(wr, 0); error != 0) [[unlikely]] {
        return error;
    }
    ++send_posted_;
    if (packets_) [[unlikely]] {
        post_packet(wr);
        return 0;
    }
    run_or_wait(wr);
    return 0;
}

void Qp::run_or_wait(const WorkRequest& wr) {
    const QpState shared_state = shared_->state.load(std::memory_order_relaxed);
    if (waiting_any_ || shared_state != QpState::kRts) [[unlikely]] {
        if (shared_state == QpState::kErr || shared_state == QpState::kSqe) {
            if (shared_state == QpState::kErr) {
                flush_locked();
            }
            complete(wr, send_posted_, WcStatus::kWrFlushErr);
            return;
        }
        keep_waiting(wr);
        return;
    }
    executing_ = send_posted_;
    const Verdict verdict = execute(wr);
    if (verdict.outcome == Outcome::kDone) [[likely]] {
        complete_done(wr);
        return;
    }
    if (verdict.outcome == Outcome::kCompleted) {
        return;
    }
    if (verdict.outcome == Outcome::kFailed) {
        conclude(wr, send_posted_, verdict.status);
        return;
    }
    start_wait(verdict);
    if (verdict.outcome == Outcome::kNotReady && attr_.rnr_retry == 0) {
        conclude(wr, send_posted_, verdict.status);
        return;
    }
    keep_waiting(wr);
}

void Qp::complete(const WorkRequest& wr, std::uint32_t posted, WcStatus status) {
    Cqe e{};
    e.wr_id = wr.wr_id;
    e.qpn = shared_->qpn;
    e.wqe_index = posted;
    e.status = static_cast<std::uint8_t>(status);
    e.opcode = static_cast<std::uint8_t>(hca::completion_opcode(wr.opcode));
    e.byte_len = completion_bytes(wr);
    cq_push(*process_, init_.send_cq->shared(), e, status != WcStatus::kSuccess);
}

void Qp::complete_done(const WorkRequest& wr) {
    if ((wr.flags & kSendSignaled) != 0 || init_.signal_all) {
        complete(wr, executing_, WcStatus::kSuccess);
    }
}

}  // namespace softib::live
