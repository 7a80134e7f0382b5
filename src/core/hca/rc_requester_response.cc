// SPDX-License-Identifier: BSD-2-Clause
// The requester's part that handles the peer's responses (IBA vol. 1, 9.7.6).
#include <algorithm>
#include <array>
#include <cstring>

#include "core/hca/rc_requester.h"

namespace softib::hca {

void RcRequester::handle_response(const wire::PacketHeaders& headers, wire::Operation operation,
                                  const Payload& payload, std::uint64_t now_ns) {
    const Psn psn = headers.bth.psn;
    if (distance(acked_, psn) >= distance(acked_, high_)) {
        // The newest acknowledgement may come again with more credits; all others are stale.
        const bool newest = operation == wire::Operation::kAcknowledge && psn + 1 == acked_ &&
                            Syndrome::parse(headers.aeth.syndrome).kind == AckKind::kAck;
        if (newest) {
            take_credits(headers.aeth);
        } else {
            core_.context.count(Counted::kGhost);
        }
        return;
    }
    switch (operation) {
        case wire::Operation::kAcknowledge:
            handle_ack(headers, now_ns);
            return;
        case wire::Operation::kAtomicAcknowledge:
            handle_atomic_response(headers, now_ns);
            return;
        default:
            handle_read_response(headers, operation, payload, now_ns);
            return;
    }
}

void RcRequester::take_credits(const wire::Aeth& aeth) {
    const std::uint8_t code = Syndrome::parse(aeth.syndrome).value;
    credits_counted_ = code != kCreditsUncounted;
    if (credits_counted_) {
        limit_ssn_ = add24(aeth.msn, kCreditCounts[code]);
    }
}

void RcRequester::handle_ack(const wire::PacketHeaders& headers, std::uint64_t now_ns) {
    const Syndrome syndrome = Syndrome::parse(headers.aeth.syndrome);
    const Psn psn = headers.bth.psn;
    if (syndrome.reserved_bit || syndrome.kind == AckKind::kReserved) {
        core_.context.count(Counted::kBadResponse);
        return;
    }
    switch (syndrome.kind) {
        case AckKind::kAck:
            take_credits(headers.aeth);
            if (!acknowledge_before(psn + 1, now_ns)) {
                lost();
            }
            return;
        case AckKind::kRnrNak:
            not_ready(psn, syndrome.value, now_ns);
            return;
        default:
            handle_nak(psn, syndrome, now_ns);
            return;
    }
}

/// Handles a NAK, which also acknowledges all packets before its PSN (IBA vol. 1, 9.7.5).
void RcRequester::handle_nak(Psn psn, Syndrome syndrome, std::uint64_t now_ns) {
    constexpr std::array kStatuses{WcStatus::kRetryExcErr, WcStatus::kRemInvReqErr,
                                   WcStatus::kRemAccessErr, WcStatus::kRemOpErr};
    if (syndrome.value >= kStatuses.size()) {  // A reserved code, or one of reliable datagrams.
        core_.context.count(Counted::kBadResponse);
        return;
    }
    if (!acknowledge_before(psn, now_ns) ||
        syndrome.value == static_cast<std::uint8_t>(NakCode::kSequenceError)) {
        lost();
        return;
    }
    fail(kStatuses[syndrome.value]);
}

/// Moves acked_ up to `end`. Returns false if a READ or atomic before `end` has not been answered:
/// acked_ stops there, and since the peer has answered a later request, the response to that one
/// was lost (IBA vol. 1, 9.7.5).
bool RcRequester::acknowledge_before(Psn end, std::uint64_t now_ns) {
    while (!core_.failed && before(acked_, end)) {
        const SendWqe& wqe = queue_.at(queue_.head());
        if (has_response(wqe.opcode)) {
            return false;
        }
        const Psn behind = wqe.first_psn + wqe.psns;
        move_acked(before(end, behind) ? end : behind, now_ns);
    }
    return true;
}

void RcRequester::move_acked(Psn to, std::uint64_t now_ns) {
    acked_ = to;
    went_back_ = false;
    reload_counters();
    if (limited_ && before(*limited_, to)) {
        limited_.reset();
    }
    retire();
    if (core_.failed) {
        return;
    }
    // An acknowledgement that came after the cursor went back: those packets need not go again.
    if (static_cast<std::int32_t>(cursor_ - queue_.head()) < 0) {
        cursor_ = queue_.head();
        cursor_packet_ = 0;
    }
    if (has_unsent_packets() && before(cursor_psn(), acked_)) {
        cursor_packet_ = distance(queue_.at(cursor_).first_psn, acked_);
    }
    if (cursor_psn() == acked_) {
        deadline(Timer::kAck) = kNever;
    } else {
        start_ack_timer(now_ns);
    }
}

/// Completes the requests that are acknowledged, in their order.
void RcRequester::retire() {
    while (!queue_.empty() && !core_.failed) {
        const std::uint32_t index = queue_.head();
        const SendWqe& wqe = queue_.at(index);
        if (wqe.local_error != WcStatus::kSuccess) {
            fail(wqe.local_error);
            return;
        }
        const bool done =
            is_local(wqe.opcode) ? wqe.executed : !before(acked_, wqe.first_psn + wqe.psns);
        if (!done) {
            break;
        }
        complete_send(core_, wqe, WcStatus::kSuccess);
        if (has_response(wqe.opcode) && static_cast<std::int32_t>(index - cursor_) < 0) {
            --reads_;
        }
        queue_.pop();
    }
    report_drained();
}

const SendWqe& RcRequester::request_of(Psn psn) const {
    std::uint32_t index = queue_.head();
    while (distance(queue_.at(index).first_psn, psn) >= queue_.at(index).psns) {
        ++index;
    }
    return queue_.at(index);
}

/// Returns whether a response that carries data may be accepted: it is of the right kind (`fits`),
/// and all requests before its PSN are answered, some of them implicitly by this response.
bool RcRequester::may_take(bool fits, Psn psn, std::uint64_t now_ns) {
    if (!fits) {
        core_.context.count(Counted::kBadResponse);
        return false;
    }
    if (!acknowledge_before(psn, now_ns)) {
        lost();
        return false;
    }
    return !core_.failed;
}

void RcRequester::handle_read_response(const wire::PacketHeaders& headers,
                                       wire::Operation operation, const Payload& payload,
                                       std::uint64_t now_ns) {
    using O = wire::Operation;
    const Psn psn = headers.bth.psn;
    const WrOpcode asked = request_of(psn).opcode;
    const bool fits = asked == WrOpcode::kRead || asked == WrOpcode::kAtomicWrite;
    if (!may_take(fits, psn, now_ns)) {
        return;
    }
    const std::uint32_t index = queue_.head();
    const SendWqe& wqe = queue_.at(index);
    const std::uint32_t packet = distance(wqe.first_psn, psn);
    const std::uint32_t offset = packet * core_.mtu;
    // An ATOMIC WRITE is answered like a READ of nothing (IBA vol. 1, annex A19).
    const std::uint32_t bytes =
        asked == WrOpcode::kRead ? std::min(core_.mtu, wqe.length - offset) : 0;
    const bool ends = operation == O::kReadResponseLast || operation == O::kReadResponseOnly;
    const bool has_aeth = operation != O::kReadResponseMiddle;
    // A READ that was requested again is answered from First on, even in the middle of the data.
    if (ends != (packet + 1 == wqe.psns) || payload.length() != bytes ||
        (has_aeth && Syndrome::parse(headers.aeth.syndrome).kind != AckKind::kAck)) {
        core_.context.count(Counted::kBadResponse);
        fail(WcStatus::kBadRespErr);
        return;
    }
    if (has_aeth) {
        take_credits(headers.aeth);
    }
    if (bytes != 0 && !queue_.scatter(core_.context, core_.init.pd, index, offset, payload)) {
        fail(WcStatus::kLocProtErr);
        return;
    }
    move_acked(psn + 1, now_ns);
}

void RcRequester::handle_atomic_response(const wire::PacketHeaders& headers, std::uint64_t now_ns) {
    const Psn psn = headers.bth.psn;
    const bool fits = is_atomic(request_of(psn).opcode) &&
                      Syndrome::parse(headers.aeth.syndrome).kind == AckKind::kAck;
    if (!may_take(fits, psn, now_ns)) {
        return;
    }
    take_credits(headers.aeth);
    std::uint8_t bytes[sizeof(std::uint64_t)];
    std::memcpy(bytes, &headers.atomic_ack_eth.orig_rem_dt, sizeof bytes);
    if (!queue_.scatter(core_.context, core_.init.pd, queue_.head(), 0, Payload(bytes))) {
        fail(WcStatus::kLocProtErr);
        return;
    }
    move_acked(psn + 1, now_ns);
}

}  // namespace softib::hca
