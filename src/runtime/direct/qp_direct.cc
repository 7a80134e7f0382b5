// SPDX-License-Identifier: BSD-2-Clause
// Requests on connections, apart from SENDs (qp_send.cc).
#include "runtime/direct/qp_direct.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>

#include "core/base/check.h"
#include "core/hca/send_queue.h"
#include "runtime/direct/carrier_call.h"
#include "runtime/direct/flow_table.h"
#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"
#include "runtime/direct/scatter.h"
#include "runtime/direct/window.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/hooks.h"
#include "runtime/shm/path.h"

namespace softib::direct {

DirectQp::DirectQp(Process& process, const QpInit& init, std::uint32_t index)
    : QpBase(process, init, index), hazard_fence_(process.self.hazard_fence) {}

bool DirectQp::gather_local(const shm::WorkRequest& wr, Gather& out) const {
    const shm::Arena& arena = self_.arena;
    for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
        const hca::Sge& sge = wr.sges[i];
        if (sge.length == 0) {
            continue;
        }
        const char* from = reinterpret_cast<const char*>(sge.addr);
        bool on_gpu = false;
        if ((wr.flags & hca::kSendInline) == 0) {
            const shm::MrShared* mr =
                find_key(arena, sge.lkey, shared_->pd, sge.addr, sge.length, 0);
            if (mr == nullptr || hca::is_window(mr->kind)) {
                return false;
            }
            if (mr->kind == hca::KeyKind::kNull) {
                out.add_zeros(sge.length);
                continue;
            }
            // The arena's mapping of the page stays, even if the program unmaps its own.
            const std::byte* shared = shared_address(arena, *mr, sge.addr, sge.length);
            from = shared != nullptr ? reinterpret_cast<const char*>(shared)
                                     : reinterpret_cast<const char*>(sge.addr + mr->va_delta);
            on_gpu = mr->rest_tier == shm::Tier::kGpu;
        }
        out.add(from, sge.length, on_gpu);
    }
    return true;
}

DirectQp::Verdict DirectQp::execute(const shm::WorkRequest& wr) {
    if (wr.opcode == hca::WrOpcode::kBindMw || wr.opcode == hca::WrOpcode::kLocalInv) [[unlikely]] {
        return do_local(wr);
    }
    if (init_.type == hca::QpType::kUd) {
        return execute_datagram(wr);
    }
    return execute_connected(wr);
}

bool DirectQp::check_peer() {
    return path_generation_ ==
               self_.arena.header->route_generation.load(std::memory_order_acquire) &&
           peer_->rx.load(std::memory_order_acquire) == peer_rx_ && peer_->qpn == peer_qpn_ &&
           peer_->owner == peer_owner_;
}

bool DirectQp::check_peer_slow() {
    const shm::Arena& arena = self_.arena;
    const std::uint64_t generation = arena.header->route_generation.load(std::memory_order_acquire);
    path_generation_ = 0;
    if (peer_rx_ == 0) {
        return false;
    }
    const Lid slid{
        static_cast<std::uint16_t>(arena.hcas[init_.hca].lid.load() + attr_.av.path_bits)};
    const std::optional<shm::Path> path = walk_there(slid);
    if (!path) {
        return false;
    }
    peer_rx_ = shm::rx_word(peer_->type, Qpn{shared_->qpn}, slid);
    std::uint64_t rx = peer_->rx.load(std::memory_order_acquire);
    // If the owner is another than the hazard names, the next try has the right hazard.
    if ((rx & ~shm::kRxFirst) != peer_rx_ || peer_->qpn != peer_qpn_ ||
        peer_->owner != peer_owner_) {
        return false;
    }
    if (!partitions_match(path->hca) || !walk_back(*path, slid)) {
        return false;
    }
    if ((rx & shm::kRxFirst) != 0 && peer_->rx.compare_exchange_strong(rx, peer_rx_)) {
        self_.channels.signal(
            peer_->owner, peer_->async_channel,
            {peer_->event_id, static_cast<std::uint32_t>(hca::AsyncKind::kCommEst), 1});
    }
    // A receiver takes its peer's LID to be the one that it sends to.
    const std::uint16_t lid = arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
    brief_ = init_.type == hca::QpType::kRc && peer_->dest_lid.load() == lid
                 ? peer_qpn_ | shm::kCellShort | shm::kCellReceive |
                       (attr_.av.sl & 0xFU) << shm::kCellSlShift
                 : 0;
    path_generation_ = generation;
    resend_ns_ = 0;
    refused_sends_ = 0;
    return true;
}

DirectQp::Verdict DirectQp::execute_connected(const shm::WorkRequest& wr) {
    if (path_generation_ == 0) [[unlikely]] {
        peer_owner_ = peer_->owner;
    }
    const shm::Owner target = peer_owner_;
    const shm::Hazard hazard(*stripe_,
                             init_.type == hca::QpType::kXrcSend ? shm::kHazardAnyOwner : target,
                             hazard_fence_);
    if (!check_peer()) [[unlikely]] {
        if (!check_peer_slow()) {
            if (init_.type == hca::QpType::kUc) {
                return {};  // Lost on the way: the sender of an unreliable connection is not told.
            }
            return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
        }
    }
    switch (wr.opcode) {
        case hca::WrOpcode::kWrite:
        case hca::WrOpcode::kWriteImm:
            return do_write(wr);
        case hca::WrOpcode::kRead:
            return do_read(wr);
        case hca::WrOpcode::kCompareSwap:
        case hca::WrOpcode::kFetchAdd:
            return do_atomic(wr);
        case hca::WrOpcode::kAtomicWrite:
            return do_atomic_write(wr);
        default:
            return do_send(wr);
    }
}

const shm::MrShared* DirectQp::find_remote(const shm::WorkRequest& wr, std::uint64_t bytes,
                                           std::uint32_t access) {
    if ((peer_->access & access) != access) [[unlikely]] {
        return nullptr;
    }
    std::uint32_t pd = peer_->pd;
    if (init_.type == hca::QpType::kXrcSend) [[unlikely]] {
        // An XRC target queue pair has no protection domain: that of the shared receive queue that
        // the request names counts (IBA annex A14).
        if (wr.remote_srqn >= shm::kSrqsMax || self_.arena.srqs[wr.remote_srqn].live.load() == 0 ||
            self_.arena.srqs[wr.remote_srqn].xrcd != peer_->xrcd) {
            return nullptr;
        }
        pd = self_.arena.srqs[wr.remote_srqn].pd;
    }
    return find_remote_key(self_.arena, wr.rkey, pd, peer_->qpn, wr.remote_addr, bytes, access);
}

/// Returns the verdict on a request whose remote memory could not be reached: no answer if the
/// owner is gone, a remote operational error if the owner has unmapped the memory.
DirectQp::Verdict DirectQp::unreachable(shm::Owner owner) const {
    if (init_.type == hca::QpType::kUc) {
        return {};
    }
    if (errno == ETIMEDOUT || owner_gone(self_, owner)) {
        return {Outcome::kNoAnswer, hca::WcStatus::kRetryExcErr};
    }
    return failed(hca::WcStatus::kRemOpErr);
}

/// Refuses a request on behalf of the responder, which answers with a NAK and enters the error
/// state itself (IBA vol. 1, 9.9.3). On an unreliable connection the message is dropped instead.
DirectQp::Verdict DirectQp::refuse_remote(hca::WcStatus status, hca::AsyncKind kind) {
    self_.arena.hcas[peer_->hca].totals.access_violations.fetch_add(1, std::memory_order_relaxed);
    if (init_.type == hca::QpType::kUc) {
        return {};
    }
    stop_peer(kind);
    return failed(status);
}

void DirectQp::stop_peer(hca::AsyncKind kind) {
    peer_->rx.store(0, std::memory_order_release);
    peer_->state.store(hca::QpState::kErr, std::memory_order_release);
    self_.channels.signal(peer_->owner, peer_->async_channel,
                          {peer_->event_id, static_cast<std::uint32_t>(kind), 1});
    self_.ring(peer_->owner);
}

DirectQp::Verdict DirectQp::do_write(const shm::WorkRequest& wr) {
    const shm::Arena& arena = self_.arena;
    // Most writes have one buffer, one shared extent on each side, and no immediate data.
    if (wr.num_sge == 1 && wr.opcode == hca::WrOpcode::kWrite) [[likely]] {
        const hca::Sge& sge = wr.sges[0];
        const shm::MrShared* to = find_remote(wr, sge.length, hca::kRemoteWrite);
        std::byte* at =
            to != nullptr ? shared_address(arena, *to, wr.remote_addr, sge.length) : nullptr;
        const char* from = reinterpret_cast<const char*>(sge.addr);
        if ((wr.flags & hca::kSendInline) == 0 && at != nullptr) {
            const shm::MrShared* mr =
                find_key(arena, sge.lkey, shared_->pd, sge.addr, sge.length, 0);
            from = mr == nullptr || hca::is_window(mr->kind)
                       ? nullptr
                       : reinterpret_cast<const char*>(
                             shared_address(arena, *mr, sge.addr, sge.length));
        }
        if (at != nullptr && from != nullptr && sge.length != 0) [[likely]] {
            copy_addressed(*process_, at, from, sge.length);
            count(hca::request_cost(format_, hca::WireOp::kWrite, sge.length),
                  hca::ack_cost(format_));
            return {};
        }
    }
    Gather gather;
    if (!gather_local(wr, gather)) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    if (gather.bytes > hca::kMessageBytesMax) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    // The R_Key of a write of 0 bytes is not checked (IBA vol. 1, 9.7.5.2.4).
    const shm::MrShared* to =
        gather.bytes == 0 ? nullptr : find_remote(wr, gather.bytes, hca::kRemoteWrite);
    if (gather.bytes != 0 && to == nullptr) {
        return refuse_remote(hca::WcStatus::kRemAccessErr, hca::AsyncKind::kQpAccessErr);
    }
    // The bytes are written before a receive request is taken: after an RNR NAK they are written
    // again.
    std::uint64_t addr = wr.remote_addr;
    for (std::uint32_t i = 0; i < gather.count; ++i) {
        const Gather::Part& part = gather.parts[i];
        if (!write_part(*process_, part, 0, part.bytes, *to, addr)) {
            return unreachable(to->owner);
        }
        addr += part.bytes;
        park_point(shm::ParkPoint::kWriteHalfDone);
    }
    Verdict verdict;
    if (wr.opcode == hca::WrOpcode::kWriteImm) {
        verdict = deliver(wr, gather, false, static_cast<std::uint32_t>(gather.bytes));
    }
    if (verdict.outcome == Outcome::kDone) {
        count(hca::request_cost(format_, static_cast<hca::WireOp>(wr.opcode), gather.bytes),
              hca::ack_cost(format_));
    }
    return verdict;
}

DirectQp::Verdict DirectQp::do_read(const shm::WorkRequest& wr) {
    const shm::Arena& arena = self_.arena;
    std::uint64_t bytes = 0;
    const shm::MrShared* local[hca::kSgesMax];
    for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
        const hca::Sge& sge = wr.sges[i];
        local[i] = find_key(arena, sge.lkey, shared_->pd, sge.addr, sge.length, hca::kLocalWrite);
        if (local[i] == nullptr && sge.length != 0) {
            return failed(hca::WcStatus::kLocProtErr);
        }
        bytes += sge.length;
    }
    if (bytes > hca::kMessageBytesMax) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    const shm::MrShared* from = bytes == 0 ? nullptr : find_remote(wr, bytes, hca::kRemoteRead);
    if (bytes != 0 && from == nullptr) {
        return refuse_remote(hca::WcStatus::kRemAccessErr, hca::AsyncKind::kQpAccessErr);
    }
    std::uint64_t addr = wr.remote_addr;
    for (std::uint32_t i = 0; i < wr.num_sge; ++i) {
        const hca::Sge& sge = wr.sges[i];
        if (sge.length == 0 || local[i]->kind == hca::KeyKind::kNull) {
            addr += sge.length;
            continue;
        }
        std::byte* to = shared_address(arena, *local[i], sge.addr, sge.length);
        if (to == nullptr) {
            to = reinterpret_cast<std::byte*>(sge.addr + local[i]->va_delta);
        }
        if (!remote_read(*process_, arena, *from, addr, to, sge.length,
                         local[i]->rest_tier == shm::Tier::kGpu)) {
            return unreachable(from->owner);
        }
        addr += sge.length;
    }
    count(hca::request_cost(format_, hca::WireOp::kRead, bytes),
          hca::read_response_cost(format_, bytes));
    return {};
}

DirectQp::Verdict DirectQp::do_atomic(const shm::WorkRequest& wr) {
    const shm::Arena& arena = self_.arena;
    if (wr.num_sge != 1 || wr.sges[0].length != 8) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    const hca::Sge& sge = wr.sges[0];
    const shm::MrShared* local =
        find_key(arena, sge.lkey, shared_->pd, sge.addr, 8, hca::kLocalWrite);
    if (local == nullptr) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    if (wr.remote_addr % 8 != 0) {
        return refuse_remote(hca::WcStatus::kRemInvReqErr, hca::AsyncKind::kQpReqErr);
    }
    const shm::MrShared* target = find_remote(wr, 8, hca::kRemoteAtomic);
    if (target == nullptr) {
        return refuse_remote(hca::WcStatus::kRemAccessErr, hca::AsyncKind::kQpAccessErr);
    }
    const bool swap = wr.opcode == hca::WrOpcode::kCompareSwap;
    std::uint64_t original = 0;
    if (std::byte* at = shared_address(arena, *target, wr.remote_addr, 8)) {
        original = execute_atomic(at, swap, wr.compare_add, wr.swap);
    } else if (!remote_atomic_slow(*process_, *target, wr.remote_addr, swap, wr.compare_add,
                                   wr.swap, original)) {
        return unreachable(target->owner);
    }
    if (!remote_write(*process_, arena, *local, sge.addr, &original, 8)) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    count(hca::request_cost(format_, hca::WireOp::kFetchAdd, 8), hca::atomic_ack_cost(format_));
    return {};
}

/// Executes an ATOMIC WRITE: eight bytes that appear at once (IBA vol. 1, annex A19).
DirectQp::Verdict DirectQp::do_atomic_write(const shm::WorkRequest& wr) {
    Gather gather;
    if (!gather_local(wr, gather)) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    if (gather.count != 1 || gather.bytes != 8) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    if (wr.remote_addr % 8 != 0) {
        return refuse_remote(hca::WcStatus::kRemInvReqErr, hca::AsyncKind::kQpReqErr);
    }
    const shm::MrShared* to = find_remote(wr, 8, hca::kRemoteWrite);
    if (to == nullptr) {
        return refuse_remote(hca::WcStatus::kRemAccessErr, hca::AsyncKind::kQpAccessErr);
    }
    const Gather::Part& part = gather.parts[0];
    std::byte* at = shared_address(self_.arena, *to, wr.remote_addr, 8);
    if (at != nullptr && !part.on_gpu) {
        copy_ordered(at, part.from, 8);  // One store, because the address is aligned.
    } else if (!remote_write(*process_, self_.arena, *to, wr.remote_addr, part.from, 8,
                             part.on_gpu)) {
        return unreachable(to->owner);
    }
    count(hca::request_cost(format_, hca::WireOp::kWrite, 8), hca::ack_cost(format_));
    return {};
}

/// Executes a bind or a local invalidate, which change keys of this process only.
DirectQp::Verdict DirectQp::do_local(const shm::WorkRequest& wr) {
    const shm::Arena& arena = self_.arena;
    if (wr.opcode == hca::WrOpcode::kLocalInv) {
        return invalidate_window(arena, wr.imm_or_rkey, shared_->pd, shared_->qpn)
                   ? Verdict{}
                   : failed(hca::WcStatus::kMwBindErr);
    }
    if (!may_bind(arena, *wr.bind, shared_->pd)) {
        return failed(hca::WcStatus::kMwBindErr);
    }
    // No new request can use the window without its key, and after the grace period no old one
    // does.
    std::atomic<std::uint32_t>& key = arena.mrs[wr.bind->mw_index].key;
    const std::uint32_t before = key.exchange(0);
    wait_grace(arena, self_.owner, stripe_);
    if (before == 0 || !bind_window(arena, *wr.bind, shared_->pd, shared_->qpn)) {
        key.store(before, std::memory_order_release);
        return failed(hca::WcStatus::kMwBindErr);
    }
    return {};
}

}  // namespace softib::direct
