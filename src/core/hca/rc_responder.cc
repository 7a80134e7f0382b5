// SPDX-License-Identifier: BSD-2-Clause
// The responder's part that handles requests in sequence, and those that come too early.
#include "core/hca/rc_responder.h"

#include <algorithm>
#include <array>

namespace softib::hca {

AtomicOperands operands_of(const wire::PacketHeaders& headers, wire::Operation operation) {
    const bool swap = operation == wire::Operation::kCompareSwap;
    const wire::AtomicEth& eth = headers.atomic_eth;
    // In a FetchAdd the swap field holds the number to add.
    return {.compare_swap = swap,
            .compare_add = swap ? eth.cmp_dt : eth.swap_dt,
            .swap = swap ? eth.swap_dt : 0};
}

RcResponder::RcResponder(QpCore& core, ReceiveQueue* own)
    : core_(core), own_(own), inbound_(core, own) {
    reserve();
}

/// The ring holds the answers to new and to duplicate READs and atomics, and one acknowledgement
/// between any two of them.
void RcResponder::reserve() {
    const std::size_t agreed = core_.attr.max_dest_rd_atomic;
    const std::size_t slots = agreed == 0 ? 1 : 2 * (agreed + kRepeatedMax) + 1;
    resources_.resize(std::max(resources_.size(), agreed));
    if (responses_.size() < slots) {
        std::vector<Response> wider(slots);
        for (std::size_t i = 0; i < count_; ++i) {
            wider[i] = response_at(i);
        }
        responses_.swap(wider);
        head_ = 0;
    }
}

void RcResponder::start() {
    expected_ = Psn{core_.attr.rq_psn & kPsnMask};
    msn_ = 0;
    nak_sent_ = false;
    stopped_ = false;
    head_ = count_ = 0;
    reserve();
    resources_.assign(resources_.size(), {});
    resource_next_ = 0;
    fresh_ = repeated_ = 0;
    inbound_.reset();
}

void RcResponder::handle_request(const wire::PacketHeaders& headers, wire::Operation operation,
                                 const Payload& payload) {
    const std::int32_t ahead = diff(headers.bth.psn, expected_);
    if (ahead > 0) {
        out_of_sequence();
        return;
    }
    if (ahead < 0) {
        handle_duplicate(headers, operation);
        return;
    }
    nak_sent_ = false;
    switch (operation) {
        case wire::Operation::kReadRequest:
            accept_read(headers);
            return;
        case wire::Operation::kCompareSwap:
        case wire::Operation::kFetchAdd:
            accept_atomic(headers, operation);
            return;
        case wire::Operation::kAtomicWrite:
            accept_atomic_write(headers, payload);
            return;
        default:
            accept_message(headers, operation, payload);
            return;
    }
}

/// Handles a request that is ahead of the expected PSN. Sends one NAK for each gap; the requester
/// then sends again from the beginning of the gap on (IBA vol. 1, 9.7.5). After an RNR NAK no other
/// NAK is needed, since the requester goes back anyway.
void RcResponder::out_of_sequence() {
    core_.context.count(Counted::kOutOfSequence);
    if (!nak_sent_) {
        nak_sent_ = true;
        say({.kind = Response::Kind::kNak,
             .syndrome = nak(NakCode::kSequenceError),
             .psn = expected_});
    }
}

void RcResponder::advance(std::uint32_t psns) {
    expected_ = expected_ + psns;
}

void RcResponder::accept_message(const wire::PacketHeaders& headers, wire::Operation operation,
                                 const Payload& payload) {
    const Accepted accepted = inbound_.accept(headers, operation, payload);
    if (accepted.fault != Fault::kNone) {
        refuse(accepted.fault, headers.bth.psn);
        return;
    }
    advance(1);
    if (accepted.finished) {
        finish_message();
    }
    if (headers.bth.a) {
        acknowledge();
    }
}

const RcResponder::Resource& RcResponder::keep(const Resource& resource) {
    Resource& kept = resources_[resource_next_];
    resource_next_ = (resource_next_ + 1) % core_.attr.max_dest_rd_atomic;
    kept = resource;
    advance(kept.psns);
    finish_message();
    return kept;
}

void RcResponder::accept_read(const wire::PacketHeaders& headers) {
    const wire::Reth& reth = headers.reth;
    if (inbound_.active() || too_many_outstanding() || reth.dma_len > kMessageBytesMax) {
        refuse(Fault::kInvalidRequest, headers.bth.psn);
        return;
    }
    if (reth.dma_len != 0 &&
        !remote_place(core_, headers, reth.r_key, reth.va, reth.dma_len, kRemoteRead)) {
        refuse(Fault::kRemoteAccess, headers.bth.psn);
        return;
    }
    const Resource& resource = keep({.kind = Resource::Kind::kRead,
                                     .psn = headers.bth.psn,
                                     .psns = packets_of(reth.dma_len, core_.mtu),
                                     .addr = reth.va,
                                     .rkey = reth.r_key,
                                     .length = reth.dma_len});
    say({.kind = Response::Kind::kRead,
         .psn = resource.psn,
         .psns = resource.psns,
         .addr = reth.va,
         .rkey = reth.r_key,
         .length = reth.dma_len,
         .srq = headers.xrc_eth.xrcsrq});
}

void RcResponder::accept_atomic(const wire::PacketHeaders& headers, wire::Operation operation) {
    const wire::AtomicEth& eth = headers.atomic_eth;
    if (inbound_.active() || too_many_outstanding() || eth.va % kAtomicBytes != 0) {
        refuse(Fault::kInvalidRequest, headers.bth.psn);
        return;
    }
    const auto word = remote_place(core_, headers, eth.r_key, eth.va, kAtomicBytes, kRemoteAtomic);
    if (!word) {
        refuse(Fault::kRemoteAccess, headers.bth.psn);
        return;
    }
    const AtomicOperands operands = operands_of(headers, operation);
    const auto original = core_.context.memory.execute(*word, operands);
    if (!original) {
        refuse(Fault::kRemoteOperational, headers.bth.psn);
        return;
    }
    keep({.kind = Resource::Kind::kAtomic,
          .psn = headers.bth.psn,
          .psns = 1,
          .addr = eth.va,
          .rkey = eth.r_key,
          .operands = operands,
          .original = *original});
    say({.kind = Response::Kind::kAtomic,
         .psn = headers.bth.psn,
         .psns = 1,
         .original = *original});
}

/// Executes an ATOMIC WRITE, which writes eight bytes at once. It is answered like a READ of no
/// bytes, in the order of READs, and takes one of their resources (IBA vol. 1, annex A19).
void RcResponder::accept_atomic_write(const wire::PacketHeaders& headers, const Payload& payload) {
    const wire::Reth& reth = headers.reth;
    if (inbound_.active() || too_many_outstanding() || reth.va % kAtomicBytes != 0 ||
        reth.dma_len != kAtomicBytes || payload.length() != kAtomicBytes) {
        refuse(Fault::kInvalidRequest, headers.bth.psn);
        return;
    }
    const auto word = remote_place(core_, headers, reth.r_key, reth.va, kAtomicBytes, kRemoteWrite);
    if (!word) {
        refuse(Fault::kRemoteAccess, headers.bth.psn);
        return;
    }
    std::array<std::uint8_t, kAtomicBytes> bytes{};
    const bool whole = payload.copy_to(bytes);
    if (!core_.context.memory.write(*word, whole ? bytes.data() : nullptr, kAtomicBytes)) {
        refuse(Fault::kRemoteOperational, headers.bth.psn);
        return;
    }
    keep({.kind = Resource::Kind::kAtomicWrite,
          .psn = headers.bth.psn,
          .psns = 1,
          .addr = reth.va,
          .rkey = reth.r_key});
    say({.kind = Response::Kind::kRead, .psn = headers.bth.psn, .psns = 1});
}

/// Refuses a request by a NAK. A receiver that is not ready sends an RNR NAK, which is no error;
/// all other faults end the connection (IBA vol. 1, 9.9.3). A requester that asked to invalidate a
/// wrong R_Key gets no answer at all (9.9.6.3, class J).
void RcResponder::refuse(Fault fault, Psn psn) {
    Response no{.kind = Response::Kind::kNak, .last_words = true, .psn = psn};
    AsyncKind event = AsyncKind::kQpReqErr;
    switch (fault) {
        case Fault::kNotReady:
            core_.context.count(Counted::kNotReady);
            nak_sent_ = true;
            no.last_words = false;
            no.syndrome = {.kind = AckKind::kRnrNak, .value = core_.attr.min_rnr_timer};
            say(no);
            return;
        case Fault::kInvalidate:
            core_.context.count(Counted::kAccessViolation);
            if (count_ != 0) {
                response_at(count_ - 1).last_words = true;
            }
            core_.fail(event);
            return;
        case Fault::kRemoteAccess:
            core_.context.count(Counted::kAccessViolation);
            no.syndrome = nak(NakCode::kRemoteAccessError);
            event = AsyncKind::kQpAccessErr;
            break;
        case Fault::kRemoteOperational:
            core_.context.count(Counted::kOperationalError);
            no.syndrome = nak(NakCode::kRemoteOperationalError);
            break;
        default:
            core_.context.count(Counted::kInvalidRequest);
            no.syndrome = nak(NakCode::kInvalidRequest);
            break;
    }
    say(no);
    core_.fail(event);
}

}  // namespace softib::hca
