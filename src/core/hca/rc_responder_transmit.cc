// SPDX-License-Identifier: BSD-2-Clause
// The responder's part that queues and sends responses.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/hca/rc_responder.h"

namespace softib::hca {

namespace {

bool carries_data(const auto& response) {
    using Kind = std::remove_cvref_t<decltype(response.kind)>;
    return response.kind == Kind::kRead || response.kind == Kind::kAtomic;
}

}  // namespace

/// Acknowledges everything so far. Each acknowledgement covers all requests before it (IBA vol. 1,
/// 9.7.5). A NAK that still waits to be sent does so too, and is not replaced.
void RcResponder::acknowledge() {
    if (count_ != 0) {
        const Response& newest = response_at(count_ - 1);
        if (newest.kind == Response::Kind::kNak && newest.psn == expected_) {
            return;
        }
    }
    say({.kind = Response::Kind::kAck, .psn = expected_ + kPsnMask});
}

void RcResponder::say(const Response& response) {
    if (stopped_) {
        return;
    }
    if (carries_data(response)) {
        ++fresh_;
    } else if (count_ != 0) {
        Response& newest = response_at(count_ - 1);
        if (!carries_data(newest)) {
            newest = response;
            return;
        }
    }
    SOFTIB_CHECK(count_ < responses_.size());
    response_at(count_++) = response;
}

void RcResponder::pop() {
    if (carries_data(front())) {
        --(front().repeated ? repeated_ : fresh_);
    }
    head_ = (head_ + 1) % responses_.size();
    --count_;
}

void RcResponder::stop(bool say_last_words) {
    // The last words are still sent, after the responses before them.
    const bool wait = say_last_words && count_ != 0 && response_at(count_ - 1).last_words;
    stopped_ = true;
    if (!wait) {
        head_ = count_ = 0;
        fresh_ = repeated_ = 0;
    }
}

/// Returns the syndrome of an ACK with the number of credits. Receive requests of a shared queue
/// are not granted as credits, since any other queue pair may take them.
Syndrome RcResponder::credits() const {
    return {.kind = AckKind::kAck,
            .value = own_ != nullptr ? credit_code(own_->size()) : kCreditsUncounted};
}

bool RcResponder::poll_transmit(Transmit& out) {
    while (count_ != 0) {
        if (front().kind != Response::Kind::kRead) {
            transmit_short(out);
            return true;
        }
        if (transmit_read(out)) {
            return true;
        }
    }
    return false;
}

void RcResponder::transmit_short(Transmit& out) {
    const Response& response = front();
    const bool atomic = response.kind == Response::Kind::kAtomic;
    core_.begin(out.headers,
                atomic ? wire::Operation::kAtomicAcknowledge : wire::Operation::kAcknowledge,
                response.psn);
    out.headers.bth.becn = std::exchange(core_.becn_due, false);
    out.headers.aeth.syndrome =
        (response.kind == Response::Kind::kNak ? response.syndrome : credits()).emit();
    out.headers.aeth.msn = msn_;
    out.headers.atomic_ack_eth.orig_rem_dt = atomic ? response.original : 0;
    out.payload.clear();
    set_lengths(out.headers, 0);
    pop();
}

/// Makes one packet of a READ response. Returns false if the R_Key has become invalid since the
/// request came: a NAK then replaces all waiting responses.
bool RcResponder::transmit_read(Transmit& out) {
    Response& response = front();
    const std::uint32_t offset = response.sent * core_.mtu;
    const std::uint32_t bytes = std::min(core_.mtu, response.length - offset);
    const Psn psn = response.psn + response.sent;
    wire::PacketHeaders asked;
    asked.xrc_eth.xrcsrq = response.srq;
    const std::uint8_t* data = nullptr;
    if (bytes != 0) {
        const auto place =
            remote_place(core_, asked, response.rkey, response.addr + offset, bytes, kRemoteRead);
        const auto found = place ? core_.context.memory.read(*place, bytes) : std::nullopt;
        if (!found) {
            head_ = count_ = 0;
            fresh_ = repeated_ = 0;
            if (!stopped_) {
                refuse(place ? Fault::kRemoteOperational : Fault::kRemoteAccess, psn);
            }
            return false;
        }
        data = *found;
    }
    const bool first = response.sent == 0;
    const bool last = response.sent + 1 == response.psns;
    using O = wire::Operation;
    core_.begin(out.headers,
                first ? (last ? O::kReadResponseOnly : O::kReadResponseFirst)
                      : (last ? O::kReadResponseLast : O::kReadResponseMiddle),
                psn);
    out.headers.bth.becn = std::exchange(core_.becn_due, false);
    out.headers.aeth = {.syndrome = first || last ? credits().emit() : std::uint8_t{0},
                        .msn = first || last ? msn_ : 0};
    out.payload.clear();
    out.payload.add(data, bytes);
    set_lengths(out.headers, bytes);
    ++response.sent;
    if (last) {
        pop();
    }
    return true;
}

}  // namespace softib::hca
