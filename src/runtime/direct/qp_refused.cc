// SPDX-License-Identifier: BSD-2-Clause
// Packets that do not arrive because of their P_Key or Q_Key: a switch port refuses them, or the
// destination HCA does.

#include "core/hca/timers.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/shm/clock.h"

namespace softib::direct {

/// Returns whether a refused packet would be sent now, and counts the sending. A request that waits
/// is tried with every poll, but an HCA would send it again only after its ACK timeout, and at most
/// retry_cnt times.
bool DirectQp::sends_again() {
    if (init_.type == hca::QpType::kUc) {
        return true;
    }
    const std::uint64_t now = shm::monotonic_ns();
    const std::uint64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    if (now < resend_ns_ || (resend_ns_ != 0 && deadline != 0 && now >= deadline) ||
        refused_sends_ > attr_.retry_cnt) {
        return false;
    }
    ++refused_sends_;
    const std::uint64_t once = hca::ack_timeout_ns(attr_.timeout);
    resend_ns_ = once == hca::kTimeoutInfiniteNs ? UINT64_MAX : now + once;
    return true;
}

void DirectQp::count_refused(const shm::Refusal& refusal) {
    if (sends_again()) {
        shm::PortTotals& totals = refusal.port->totals;
        (refusal.inbound ? totals.rcv_constraint_errors : totals.xmit_constraint_errors)
            .fetch_add(1, std::memory_order_relaxed);
    }
}

/// Reports a refused packet to the daemon, which sends a trap. Reports once per change of routes:
/// the daemon repeats the trap until a subnet manager has acknowledged it.
void DirectQp::tell_refused(const shm::request::Refused& packet) {
    const std::uint64_t generation =
        self_.arena.header->route_generation.load(std::memory_order_relaxed);
    if (told_generation_ == generation) {
        return;
    }
    told_generation_ = generation;
    self_.tell(packet);
}

void DirectQp::tell_refused(const shm::Refusal& refusal, shm::request::Refused packet) {
    packet.place = static_cast<std::uint32_t>(refusal.port - self_.arena.switch_ports);
    packet.where =
        refusal.inbound ? shm::request::Refused::kSwitchIn : shm::request::Refused::kSwitchOut;
    tell_refused(packet);
}

/// Counts and reports a packet that an HCA has refused because of its P_Key or Q_Key.
void DirectQp::bad_key(std::uint32_t hca, shm::request::Refused packet) {
    shm::PortTotals& totals = self_.arena.hcas[hca].totals;
    (packet.where == shm::request::Refused::kAdapterPKey ? totals.pkey_violations
                                                         : totals.qkey_violations)
        .fetch_add(1, std::memory_order_relaxed);
    self_.arena.header->key_violations.fetch_add(1, std::memory_order_release);
    packet.place = hca;
    tell_refused(packet);
}

std::optional<shm::Path> DirectQp::walk_there(Lid slid) {
    const shm::Arena& arena = self_.arena;
    const PKey mine = pkey_at(arena, init_.hca, attr_.pkey_index);
    const Lid dlid = attr_.av.dlid;
    std::optional<shm::Refusal> refusal;
    const auto path = walk_path(arena, init_.hca, dlid, mine, refusal);
    if (refusal) {
        count_refused(*refusal);
        tell_refused(*refusal, {.slid = slid,
                                .dlid = dlid,
                                .source_qpn = Qpn{shared_->qpn},
                                .dest_qpn = Qpn{peer_qpn_},
                                .key = mine.value,
                                .sl = attr_.av.sl});
    }
    return path && path->hca == peer_->hca ? path : std::nullopt;
}

/// Walks the path of the peer's ACKs. The caller has checked that the peer takes our packets: only
/// then may its P_Key index be read.
bool DirectQp::walk_back(const shm::Path& path, Lid slid) {
    const shm::Arena& arena = self_.arena;
    std::optional<shm::Refusal> refusal;
    const PKey theirs = pkey_at(arena, path.hca, peer_->pkey_index);
    const bool answers = init_.type != hca::QpType::kUc;
    const auto back =
        walk_path(arena, path.hca, slid, answers ? std::optional(theirs) : std::nullopt, refusal);
    if (refusal) {
        count_refused(*refusal);
        tell_refused(*refusal, {.slid = attr_.av.dlid,
                                .dlid = slid,
                                .source_qpn = Qpn{peer_qpn_},
                                .dest_qpn = Qpn{shared_->qpn},
                                .key = theirs.value,
                                .sl = attr_.av.sl});
    }
    return back.has_value();
}

bool DirectQp::partitions_match(std::uint32_t peer_hca) {
    const shm::Arena& arena = self_.arena;
    const PKey mine = pkey_at(arena, init_.hca, attr_.pkey_index);
    if (matches(mine, pkey_at(arena, peer_hca, peer_->pkey_index))) {
        return true;
    }
    if (sends_again()) {
        const std::uint16_t lid = arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
        bad_key(peer_hca, {.slid = Lid{static_cast<std::uint16_t>(lid + attr_.av.path_bits)},
                           .dlid = attr_.av.dlid,
                           .source_qpn = Qpn{shared_->qpn},
                           .dest_qpn = Qpn{peer_qpn_},
                           .key = mine.value,
                           .sl = attr_.av.sl,
                           .where = shm::request::Refused::kAdapterPKey});
    }
    return false;
}

}  // namespace softib::direct
