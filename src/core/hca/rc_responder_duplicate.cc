// SPDX-License-Identifier: BSD-2-Clause
// The responder's part that handles duplicate requests (IBA vol. 1, 9.7.5). Messages are
// acknowledged again, READs are executed again, atomics are answered again with the stored result.
// No request takes effect twice.
#include <algorithm>

#include "core/base/check.h"
#include "core/hca/rc_responder.h"

namespace softib::hca {

void RcResponder::handle_duplicate(const wire::PacketHeaders& headers, wire::Operation operation) {
    core_.context.count(Counted::kDuplicate);
    switch (operation) {
        case wire::Operation::kReadRequest:
            repeat_read(headers);
            return;
        case wire::Operation::kCompareSwap:
        case wire::Operation::kFetchAdd:
            repeat_atomic(headers, operation);
            return;
        case wire::Operation::kAtomicWrite:
            repeat_atomic_write(headers);
            return;
        default:
            acknowledge();
            return;
    }
}

RcResponder::Resource* RcResponder::find_resource(Psn psn, Resource::Kind kind) {
    const auto found = std::ranges::find_if(resources_, [&](const Resource& r) {
        return r.kind == kind && !before(psn, r.psn) && before(psn, r.psn + r.psns);
    });
    return found != resources_.end() ? &*found : nullptr;
}

/// Returns the waiting response of a kind whose PSNs end before `behind`; nullptr if there is none.
/// No two requests end at the same PSN.
RcResponder::Response* RcResponder::find_response(Psn behind, Response::Kind kind) {
    for (std::size_t i = 0; i < count_; ++i) {
        Response& response = response_at(i);
        if (response.kind == kind && response.psn + response.psns == behind) {
            return &response;
        }
    }
    return nullptr;
}

/// Puts a response into the ring, before the answers to later requests: the requester would drop
/// those until it has this one.
void RcResponder::say_in_order(const Response& response) {
    if (stopped_) {
        return;
    }
    SOFTIB_CHECK(count_ < responses_.size());
    std::size_t at = count_++;
    for (; at != 0 && before(response.psn, response_at(at - 1).psn); --at) {
        response_at(at) = response_at(at - 1);
    }
    response_at(at) = response;
    ++repeated_;
}

/// Answers a duplicate READ. The requester may have a part of the response already and request only
/// the rest; the range must then be the rest of the range of the original READ.
void RcResponder::repeat_read(const wire::PacketHeaders& headers) {
    const wire::Reth& reth = headers.reth;
    const Resource* resource = find_resource(headers.bth.psn, Resource::Kind::kRead);
    if (resource == nullptr || repeated_ == kRepeatedMax) {
        core_.context.count(Counted::kDuplicateUnknown);
        return;
    }
    const std::uint64_t skipped =
        std::uint64_t{distance(resource->psn, headers.bth.psn)} * core_.mtu;
    if (reth.va != resource->addr + skipped || reth.r_key != resource->rkey ||
        reth.dma_len != resource->length - skipped) {
        core_.context.count(Counted::kDuplicateUnknown);
        return;
    }
    if (reth.dma_len != 0 &&
        !remote_place(core_, headers, reth.r_key, reth.va, reth.dma_len, kRemoteRead)) {
        refuse(Fault::kRemoteAccess, headers.bth.psn);
        return;
    }
    const std::uint32_t psns = packets_of(reth.dma_len, core_.mtu);
    if (Response* waiting = find_response(headers.bth.psn + psns, Response::Kind::kRead)) {
        // The READ is being answered, or will be. Packets that were sent and that the requester
        // requests again were lost, so the response begins again there.
        if (before(headers.bth.psn, waiting->psn + waiting->sent)) {
            waiting->psn = headers.bth.psn;
            waiting->psns = psns;
            waiting->addr = reth.va;
            waiting->length = reth.dma_len;
            waiting->sent = 0;
        }
        return;
    }
    say_in_order({.kind = Response::Kind::kRead,
                  .repeated = true,
                  .psn = headers.bth.psn,
                  .psns = psns,
                  .addr = reth.va,
                  .rkey = reth.r_key,
                  .length = reth.dma_len,
                  .srq = headers.xrc_eth.xrcsrq});
}

void RcResponder::repeat_atomic(const wire::PacketHeaders& headers, wire::Operation operation) {
    const Resource* resource = find_resource(headers.bth.psn, Resource::Kind::kAtomic);
    const AtomicOperands operands = operands_of(headers, operation);
    const bool same = resource != nullptr && resource->addr == headers.atomic_eth.va &&
                      resource->rkey == headers.atomic_eth.r_key &&
                      resource->operands.compare_swap == operands.compare_swap &&
                      resource->operands.compare_add == operands.compare_add &&
                      resource->operands.swap == operands.swap;
    if (!same || repeated_ == kRepeatedMax) {
        core_.context.count(Counted::kDuplicateUnknown);
        return;
    }
    if (find_response(headers.bth.psn + 1, Response::Kind::kAtomic) != nullptr) {
        return;
    }
    say_in_order({.kind = Response::Kind::kAtomic,
                  .repeated = true,
                  .psn = resource->psn,
                  .psns = 1,
                  .original = resource->original});
}

void RcResponder::repeat_atomic_write(const wire::PacketHeaders& headers) {
    const Resource* resource = find_resource(headers.bth.psn, Resource::Kind::kAtomicWrite);
    if (resource == nullptr || resource->addr != headers.reth.va ||
        resource->rkey != headers.reth.r_key || repeated_ == kRepeatedMax) {
        core_.context.count(Counted::kDuplicateUnknown);
        return;
    }
    if (find_response(headers.bth.psn + 1, Response::Kind::kRead) == nullptr) {
        say_in_order(
            {.kind = Response::Kind::kRead, .repeated = true, .psn = resource->psn, .psns = 1});
    }
}

}  // namespace softib::hca
