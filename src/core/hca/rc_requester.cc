// SPDX-License-Identifier: BSD-2-Clause
// Posting and sending.
#include "core/hca/rc_requester.h"

#include <algorithm>

#include "core/hca/message_packet.h"

namespace softib::hca {

namespace {

constexpr std::uint32_t kAckIntervalMax = 64;

bool takes_receive(WrOpcode opcode) {
    return is_send(opcode) || opcode == WrOpcode::kWriteImm;
}

}  // namespace

void RcRequester::start() {
    acked_ = high_ = next_ = Psn{core_.attr.sq_psn & kPsnMask};
    next_ssn_ = 1;
    credits_counted_ = false;
    reload_counters();
}

void RcRequester::reset() {
    queue_.clear();
    cursor_ = cursor_packet_ = begun_ = reads_ = 0;
    draining_ = went_back_ = false;
    limited_.reset();
    deadline(Timer::kAck) = deadline(Timer::kRnr) = kNever;
}

bool RcRequester::allowed(const WorkRequest& wr) const {
    return wr.opcode <= WrOpcode::kSendInv || wr.opcode == WrOpcode::kAtomicWrite;
}

PostError RcRequester::post(const WorkRequest& wr) {
    if (core_.state < QpState::kRts || !allowed(wr)) {
        return PostError::kInvalid;
    }
    if (const PostError error = queue_.check(wr); error != PostError::kOk) {
        return error;
    }
    SendWqe& wqe = queue_.push(wr);
    if (core_.state == QpState::kErr) {
        flush();
    } else {
        number(wqe);
    }
    return PostError::kOk;
}

/// Gives a request its PSNs and SSN. A READ takes the PSNs of its response (IBA vol. 1, 9.7.3).
void RcRequester::number(SendWqe& wqe) {
    wqe.first_psn = next_;
    if (is_atomic(wqe.opcode) && !wqe.too_long) {
        wqe.psns = 1;
    } else if (!is_local(wqe.opcode)) {
        wqe.psns = packets_of(wqe.length, core_.mtu);
    }
    wqe.ssn = next_ssn_;
    next_ = next_ + wqe.psns;
    next_ssn_ = add24(next_ssn_, wqe.psns != 0 ? 1 : 0);
}

Psn RcRequester::cursor_psn() const {
    return has_unsent_packets() ? queue_.at(cursor_).first_psn + cursor_packet_ : next_;
}

/// Returns after how many packets of a message the requester asks for an acknowledgement: often
/// enough that a full window always contains such a packet.
std::uint32_t RcRequester::ack_interval() const {
    return std::clamp(core_.init.window_packets / 4, 1U, kAckIntervalMax);
}

/// Checks the length and the local memory of a request, before its first packet is sent. Returns
/// false, with the error in `wqe`, if they are wrong. The request completes with that error after
/// the requests before it have completed.
bool RcRequester::check_local(SendWqe& wqe) {
    const bool fills = fills_memory(wqe.opcode);
    const bool is_word = is_atomic(wqe.opcode) || wqe.opcode == WrOpcode::kAtomicWrite;
    if (wqe.too_long || (is_word && wqe.length != kAtomicBytes)) {
        wqe.local_error = WcStatus::kLocLenErr;
    } else if (!queue_.places_are_valid(core_.context, core_.init.pd, cursor_,
                                        fills ? kLocalWrite : std::uint32_t{0})) {
        wqe.local_error = WcStatus::kLocProtErr;
    }
    return wqe.local_error == WcStatus::kSuccess;
}

bool RcRequester::execute_local(SendWqe& wqe) {
    if (!wqe.executed) {
        Memory& memory = core_.context.memory;
        const bool good = wqe.opcode == WrOpcode::kBindMw
                              ? memory.bind(queue_.bind(cursor_), core_.init.pd, core_.qpn)
                              : memory.invalidate(wqe.imm_or_rkey, core_.init.pd, core_.qpn);
        wqe.executed = true;
        if (!good) {
            wqe.local_error = WcStatus::kMwBindErr;
            return false;
        }
    }
    return true;
}

bool RcRequester::is_limited(const SendWqe& wqe) const {
    return core_.init.end_to_end_credits && credits_counted_ && takes_receive(wqe.opcode) &&
           diff24(wqe.ssn, limit_ssn_) > 0;
}

/// Returns whether the packet at the cursor may be sent.
bool RcRequester::ready(const SendWqe& wqe) {
    if (limited_ || (draining_ && cursor_ == begun_)) {
        return false;
    }
    const std::uint32_t in_flight = distance(acked_, cursor_psn());
    if (in_flight >= core_.init.window_packets) {
        return false;
    }
    if (cursor_packet_ == 0 && (wqe.flags & kSendFence) != 0 && reads_ != 0) {
        return false;  // A fence waits for all READs and atomics before it (IBA vol. 1, 9.5).
    }
    if (!has_response(wqe.opcode)) {
        return true;
    }
    // Fewer than half of all PSNs may be in flight, so that old ones can be told from new ones.
    const std::uint32_t span = wqe.psns - cursor_packet_;
    return reads_ < core_.attr.max_rd_atomic && (in_flight == 0 || in_flight + span < kPsnHalf);
}

bool RcRequester::poll_transmit(Transmit& out, std::uint64_t now_ns) {
    if ((core_.state != QpState::kRts && core_.state != QpState::kSqd) ||
        deadline(Timer::kRnr) != kNever) {
        return false;
    }
    while (has_unsent_packets()) {
        SendWqe& wqe = queue_.at(cursor_);
        if (wqe.local_error == WcStatus::kSuccess && is_local(wqe.opcode)) {
            const bool fenced = (wqe.flags & kSendFence) != 0 && reads_ != 0;
            if (fenced || (draining_ && cursor_ == begun_)) {
                return false;
            }
            if (execute_local(wqe)) {
                begun_ = begun_ == cursor_ ? cursor_ + 1 : begun_;
                ++cursor_;
                cursor_packet_ = 0;
                retire();
                continue;
            }
        } else if (has_response(wqe.opcode) && core_.attr.max_rd_atomic == 0) {
            wqe.local_error = WcStatus::kLocQpOpErr;  // It could never be sent.
        } else if (wqe.local_error == WcStatus::kSuccess) {
            if (!ready(wqe)) {
                return false;
            }
            if (cursor_packet_ != 0 || check_local(wqe)) {
                build(wqe, out);
            }
        }
        if (wqe.local_error != WcStatus::kSuccess) {
            retire();
            return false;
        }
        sent(wqe, now_ns);
        return true;
    }
    return false;
}

void RcRequester::build(const SendWqe& wqe, Transmit& out) {
    out.payload.clear();
    if (wqe.opcode == WrOpcode::kRead) {
        const std::uint32_t offset = cursor_packet_ * core_.mtu;
        core_.begin(out.headers, wire::Operation::kReadRequest, cursor_psn());
        out.headers.reth = {
            .va = wqe.remote_addr + offset, .r_key = wqe.rkey, .dma_len = wqe.length - offset};
    } else if (is_atomic(wqe.opcode)) {
        const bool swap = wqe.opcode == WrOpcode::kCompareSwap;
        core_.begin(out.headers, swap ? wire::Operation::kCompareSwap : wire::Operation::kFetchAdd,
                    cursor_psn());
        out.headers.atomic_eth = {.va = wqe.remote_addr,
                                  .r_key = wqe.rkey,
                                  .swap_dt = swap ? wqe.swap : wqe.compare_add,
                                  .cmp_dt = swap ? wqe.compare_add : 0};
    } else if (wqe.opcode == WrOpcode::kAtomicWrite) {
        build_atomic_write(wqe, out);
    } else {
        build_message(wqe, out);
    }
    out.headers.xrc_eth.xrcsrq = core_.init.type == QpType::kXrcSend ? wqe.remote_srqn : 0;
    set_lengths(out.headers, out.payload.length());
}

void RcRequester::build_atomic_write(const SendWqe& wqe, Transmit& out) {
    core_.begin(out.headers, wire::Operation::kAtomicWrite, cursor_psn());
    out.headers.reth = {.va = wqe.remote_addr, .r_key = wqe.rkey, .dma_len = kAtomicBytes};
    if (!queue_.gather(core_.context, core_.init.pd, cursor_, 0, kAtomicBytes, out.payload)) {
        queue_.at(cursor_).local_error = WcStatus::kLocProtErr;
    }
}

void RcRequester::build_message(const SendWqe& wqe, Transmit& out) {
    const bool first = cursor_packet_ == 0;
    const bool last = cursor_packet_ + 1 == wqe.psns;
    const std::uint32_t offset = cursor_packet_ * core_.mtu;
    const std::uint32_t bytes = std::min(core_.mtu, wqe.length - offset);
    const wire::Operation operation = message_operation(wqe.opcode, first, last);
    core_.begin(out.headers, operation, cursor_psn());
    set_message_headers(out.headers, wqe, role_of(operation));
    const bool limited = first && is_limited(wqe);
    out.headers.bth.a = last || limited || (cursor_packet_ + 1) % ack_interval() == 0;
    if (!queue_.gather(core_.context, core_.init.pd, cursor_, offset, bytes, out.payload)) {
        queue_.at(cursor_).local_error = WcStatus::kLocProtErr;
        return;
    }
    if (limited) {
        limited_ = cursor_psn();
    }
}

void RcRequester::sent(const SendWqe& wqe, std::uint64_t now_ns) {
    if (before(cursor_psn(), high_)) {
        core_.context.count(Counted::kRetransmit);
    }
    begun_ = begun_ == cursor_ ? cursor_ + 1 : begun_;
    if (has_response(wqe.opcode)) {
        cursor_packet_ = wqe.psns;
        ++reads_;
    } else {
        ++cursor_packet_;
    }
    const Psn behind = wqe.first_psn + cursor_packet_;
    if (before(high_, behind)) {
        high_ = behind;
    }
    if (cursor_packet_ == wqe.psns) {
        ++cursor_;
        cursor_packet_ = 0;
    }
    if (deadline(Timer::kAck) == kNever) {
        start_ack_timer(now_ns);
    }
}

}  // namespace softib::hca
