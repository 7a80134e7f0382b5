// SPDX-License-Identifier: BSD-2-Clause
// Posting on the direct path: executes a request, or lets it wait.
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"

namespace softib::direct {

int DirectQp::post_locked(const shm::WorkRequest& wr) {
    if (const int error = check_post_locked(wr, 0); error != 0) [[unlikely]] {
        return error;
    }
    ++send_posted_;
    run_or_wait(wr);
    return 0;
}

void DirectQp::run_or_wait(const shm::WorkRequest& wr) {
    const hca::QpState shared_state = shared_->state.load(std::memory_order_relaxed);
    if (waiting_any_ || shared_state != hca::QpState::kRts) [[unlikely]] {
        if (shared_state == hca::QpState::kErr || shared_state == hca::QpState::kSqe) {
            if (shared_state == hca::QpState::kErr) {
                flush_locked();
            }
            complete(wr, send_posted_, hca::WcStatus::kWrFlushErr);
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

void DirectQp::complete_done(const shm::WorkRequest& wr) {
    if ((wr.flags & hca::kSendSignaled) != 0 || init_.signal_all) {
        complete(wr, executing_, hca::WcStatus::kSuccess);
    }
}

}  // namespace softib::direct
