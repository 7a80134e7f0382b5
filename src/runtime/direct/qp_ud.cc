// SPDX-License-Identifier: BSD-2-Clause
// Datagrams: UD sends to one queue pair or to a multicast group.
#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/direct/flow_table.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/hooks.h"
#include "runtime/shm/path.h"

namespace softib::direct {

namespace {

constexpr std::uint32_t kGrhBytes = 40;

/// Writes the 40 bytes that precede the payload of every datagram in the receive buffer: the global
/// route header, or zeros if the datagram has none.
void write_grh(char* out, const hca::AddressVector& to, const Gid& sgid, std::uint64_t payload) {
    std::memset(out, 0, kGrhBytes);
    if (!to.global) {
        return;
    }
    const std::uint32_t word =
        6U << 28 | std::uint32_t{to.traffic_class} << 20 | (to.flow_label & 0xFFFFF);
    for (int i = 0; i < 4; ++i) {
        out[i] = static_cast<char>(word >> (24 - 8 * i));
    }
    const std::uint64_t length = (payload + 3) / 4 * 4 + 12 + 8 + 4;  // BTH, DETH, ICRC
    out[4] = static_cast<char>(length >> 8);
    out[5] = static_cast<char>(length);
    out[6] = 0x1B;  // IBA transport
    out[7] = static_cast<char>(to.hop_limit);
    std::memcpy(out + 8, sgid.bytes.data(), 16);
    std::memcpy(out + 24, to.dgid.bytes.data(), to.dgid.bytes.size());
}

/// Returns whether a packet goes to this group. A packet with a global route header is matched by
/// its MGID, one without by its MLID.
bool is_group_of(const shm::McastGroup& group, const hca::AddressVector& to) {
    return to.global ? std::memcmp(group.mgid, to.dgid.bytes.data(), sizeof group.mgid) == 0
                     : group.mlid == to.dlid.value;
}

/// How often a group is read until it is consistent. The daemon writes a group in less time, unless
/// it died meanwhile; the datagram is then sent without that group.
constexpr int kGroupReadsMax = 10'000;

/// Copies a group's members between two reads of its sequence number. Returns their number; 0 if
/// the packet does not go to this group; std::nullopt if no consistent state was seen.
std::optional<std::uint32_t> read_members(const shm::McastGroup& group,
                                          const hca::AddressVector& to,
                                          std::uint32_t (&qpns)[shm::kMcastMembersMax]) {
    for (int reads = 0; reads < kGroupReadsMax; ++reads) {
        const std::uint32_t seq = group.seq.load(std::memory_order_acquire);
        std::uint32_t members = group.members <= shm::kMcastMembersMax ? group.members : 0;
        if (!is_group_of(group, to)) {
            members = 0;
        }
        std::memcpy(qpns, group.qpns, members * sizeof qpns[0]);
        std::atomic_thread_fence(std::memory_order_acquire);
        if ((seq & 1) == 0 && group.seq.load(std::memory_order_relaxed) == seq) {
            return members;
        }
        shm::cpu_relax();
    }
    return std::nullopt;
}

}  // namespace

shm::request::Refused DirectQp::refused_datagram(const hca::AddressVector& to, std::uint32_t dest,
                                                 PKey pkey) const {
    const std::uint16_t lid = self_.arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
    return {.slid = Lid{static_cast<std::uint16_t>(lid + to.path_bits)},
            .dlid = to.dlid,
            .source_qpn = Qpn{shared_->qpn},
            .dest_qpn = Qpn{dest},
            .key = pkey.value,
            .sl = to.sl};
}

/// Finds the HCA that an address handle leads to, by the switches' forwarding tables; walks them
/// only once per change of routes. Returns false if no HCA is reached. A packet that a switch
/// refuses is counted with its flow, at the ports up to that switch.
bool DirectQp::resolve(const shm::WorkRequest& wr, std::uint32_t& hca) {
    constexpr std::uint64_t kHcaMask = 0xFFFF;
    const shm::Arena& arena = self_.arena;
    shm::AddressHandle& ah = *wr.ah;
    const PKey pkey = pkey_at(arena, init_.hca, attr_.pkey_index);
    const std::uint64_t generation = arena.header->route_generation.load(std::memory_order_acquire);
    const std::uint64_t key = generation << 32 | std::uint64_t{pkey.value} << 16;
    std::uint64_t cached = ah.path.load(std::memory_order_relaxed);
    if ((cached & ~kHcaMask) != key) {
        std::optional<shm::Refusal> refusal;
        const auto path = walk_path(arena, init_.hca, ah.to.dlid, pkey, refusal);
        if (refusal) {
            tell_refused(*refusal, refused_datagram(ah.to, wr.remote_qpn, pkey));
        }
        cached = key | (path ? path->hca + 1 : 0);
        ah.path.store(cached, std::memory_order_relaxed);
    }
    const auto found = static_cast<std::uint32_t>(cached & kHcaMask);
    hca = found - 1;
    return found != 0;
}

DirectQp::Verdict DirectQp::execute_datagram(const shm::WorkRequest& wr) {
    char grh[kGrhBytes];
    Gather gather;
    gather.add(grh, kGrhBytes);
    if (!gather_local(wr, gather)) {
        return failed(hca::WcStatus::kLocProtErr);
    }
    const std::uint64_t payload = gather.bytes - kGrhBytes;
    if (payload > 4096) {
        return failed(hca::WcStatus::kLocLenErr);
    }
    const shm::Arena& arena = self_.arena;
    const hca::AddressVector& to = wr.ah->to;
    const shm::HcaRecord& source = arena.hcas[init_.hca];
    const Gid sgid = gid_at(source, to.sgid_index);
    write_grh(grh, to, sgid == Gid{} ? gid_at(source, 0) : sgid, payload);
    count_datagram(wr, payload);
    if (is_multicast(to.dlid)) {
        return multicast(wr, gather);
    }
    std::uint32_t hca = 0;
    if (!resolve(wr, hca)) {
        return {};
    }
    shm::QpShared& target = arena.qps[qp_index(wr.remote_qpn)];
    const shm::Owner owner = target.owner;
    const shm::Hazard hazard(*stripe_, owner, hazard_fence_);
    if (datagram_accepted(wr, target, hca) && target.qpn == wr.remote_qpn &&
        target.owner == owner) {
        return deliver_datagram(wr, target, gather, true);
    }
    return {};
}

/// Counts a datagram in its flow. Called before the datagram is delivered, so that a program that
/// has received it finds it in the counters.
void DirectQp::count_datagram(const shm::WorkRequest& wr, std::uint64_t payload) {
    const hca::AddressVector& to = wr.ah->to;
    const hca::WireCost cost = hca::request_cost(to.global ? format_grh_ : format_,
                                                 static_cast<hca::WireOp>(wr.opcode), payload);
    if (flow_ == nullptr || flow_->dlid.load(std::memory_order_relaxed) != to.dlid.value)
        [[unlikely]] {
        if (to.dlid == kLidUnassigned) {
            return;  // LID 0 is no destination.
        }
        flow_ = &flow_to(*process_, *shared_, to.dlid);
    }
    add(flow_->packets, cost.packets);
    add(flow_->words, cost.words);
}

bool DirectQp::datagram_accepted(const shm::WorkRequest& wr, const shm::QpShared& target,
                                 std::uint32_t hca) {
    const shm::Arena& arena = self_.arena;
    if (target.rx.load(std::memory_order_acquire) !=
            shm::rx_word(hca::QpType::kUd, Qpn{0}, Lid{0}) ||
        target.hca != hca) {
        return false;
    }
    const PKey pkey = pkey_at(arena, init_.hca, attr_.pkey_index);
    if (!matches(pkey, pkey_at(arena, hca, target.pkey_index))) {
        shm::request::Refused packet = refused_datagram(wr.ah->to, wr.remote_qpn, pkey);
        packet.where = shm::request::Refused::kAdapterPKey;
        bad_key(hca, packet);
        return false;
    }
    const std::uint32_t qkey =
        (wr.remote_qkey & hca::kQKeyControlled) != 0 ? attr_.qkey : wr.remote_qkey;
    if (qkey != target.qkey) {
        shm::request::Refused packet = refused_datagram(wr.ah->to, wr.remote_qpn, pkey);
        packet.key = qkey;
        packet.where = shm::request::Refused::kAdapterQKey;
        bad_key(hca, packet);
        return false;
    }
    return true;
}

/// Locks the receive ring of a queue pair and takes its oldest request. Returns false, with the
/// ring unlocked, if there is no request or if it is too small: the request then waits for another
/// datagram (IBA vol. 1, 9.9.6.3, class D).
bool DirectQp::take_for_datagram(shm::QpShared& target, std::uint64_t bytes,
                                 shm::DeliveryRecord& record) {
    const shm::Arena& arena = self_.arena;
    shm::RecvRing& ring = target.rq;
    datagram_ring_lock(arena, target, self_.lock_word);
    const std::uint32_t head = ring.head.load(std::memory_order_relaxed);
    if (!has_request(ring, head)) {
        shm::shm_unlock(ring.lock);
        return false;
    }
    copy_out(arena, ring, head, record.request);
    if (!holds(record.request, bytes)) {
        shm::shm_unlock(ring.lock);
        return false;
    }
    record.source = static_cast<std::uint32_t>(&target - arena.qps);
    record.use = target.qpn;
    record.cq.store(0, std::memory_order_relaxed);
    record.state.store(shm::DeliveryRecord::kDatagram, std::memory_order_release);
    park_point(shm::ParkPoint::kRingLocked);
    return true;
}

/// Returns the successful completion of a receive request that was taken.
shm::Cqe DirectQp::datagram_completion(const shm::WorkRequest& wr, const shm::QpShared& target,
                                       const shm::TakenRecv& taken, std::uint64_t bytes) const {
    const std::uint16_t lid = self_.arena.hcas[init_.hca].lid.load(std::memory_order_relaxed);
    shm::Cqe e{};
    e.wr_id = taken.wr_id;
    e.wqe_index = taken.wqe_index;
    e.qpn = target.qpn;
    e.src_qpn = shared_->qpn;
    e.is_receive = 1;
    e.opcode = static_cast<std::uint8_t>(hca::WcOpcode::kRecv);
    e.byte_len = static_cast<std::uint32_t>(bytes);
    e.slid = static_cast<std::uint16_t>(lid + wr.ah->to.path_bits);
    e.sl = wr.ah->to.sl;
    e.pkey_index = target.pkey_index;
    if (wr.ah->to.global) {
        e.flags |= hca::kWcGrh;
    }
    if (wr.opcode == hca::WrOpcode::kSendImm) {
        e.flags |= hca::kWcWithImm;
        e.imm_or_rkey = wr.imm_or_rkey;
    }
    return e;
}

DirectQp::Verdict DirectQp::deliver_datagram(const shm::WorkRequest& wr, shm::QpShared& target,
                                             const Gather& gather, bool completes) {
    const shm::Arena& arena = self_.arena;
    shm::RecvRing& ring = target.rq;
    const bool shared = target.srq != 0;
    std::uint32_t pd = target.pd;
    shm::DeliveryRecord* const record = delivery_record(*process_, *stripe_);
    if (record == nullptr) {
        return {};
    }
    if (shared) {
        shm::SrqShared& srq = arena.srqs[target.srq - 1];
        pd = srq.pd;
        if (!srq_take(self_, srq, target.srq - 1, *record)) {
            return {};
        }
    } else if (!take_for_datagram(target, gather.bytes, *record)) {
        return {};  // The datagram is lost.
    }
    const shm::TakenRecv& taken = record->request;
    park_point(shm::ParkPoint::kDatagramTaken);
    shm::Cqe e = datagram_completion(wr, target, taken, gather.bytes);
    hca::WcStatus status = scatter_check(arena, taken, pd, gather.bytes);
    if (status == hca::WcStatus::kSuccess && !scatter_copy(*process_, gather, taken, pd)) {
        status = hca::WcStatus::kLocProtErr;
    }
    e.status = static_cast<std::uint8_t>(status);
    if (completes) {
        complete_done(wr);
    }
    cq_push(self_, arena.cqs[target.recv_cq], e,
            (wr.flags & hca::kSendSolicited) != 0 || status != hca::WcStatus::kSuccess, &producer_,
            {record, nullptr, 0});
    park_point(shm::ParkPoint::kDatagramCompleted);
    if (shared) {
        delivered(*record);
    } else {
        ring.head.store(taken.wqe_index + 1, std::memory_order_release);
        park_point(shm::ParkPoint::kDatagramHeadMoved);
        delivered(*record);
        shm::shm_unlock(ring.lock);
    }
    if (hca::stops_receiving(hca::QpType::kUd, status)) {
        // The receiver's own request was invalid: its queue pair enters the error state.
        target.rx.store(0, std::memory_order_release);
        target.state.store(hca::QpState::kErr, std::memory_order_release);
        self_.ring(target.owner);
    }
    return {completes ? Outcome::kCompleted : Outcome::kDone, hca::WcStatus::kSuccess};
}

bool DirectQp::Audience::is_of(const hca::AddressVector& to, PKey key) const {
    return dlid == to.dlid && pkey == key && global == to.global && (!global || dgid == to.dgid);
}

/// Finds the queue pairs that are attached to the group at the HCA ports that the switches'
/// multicast forwarding tables lead to, and at this HCA: an HCA delivers to its own queue pairs
/// itself.
bool DirectQp::find_audience(const hca::AddressVector& to, PKey pkey,
                             std::vector<std::uint32_t>& found) {
    const shm::Arena& arena = self_.arena;
    found.clear();
    if (!shm::active(arena.hcas[init_.hca].state)) {
        return true;
    }
    std::vector<std::uint32_t> reached{init_.hca};
    follow_multicast(
        arena, init_.hca, to.dlid, pkey,
        [&](shm::SwitchPortRecord& port, sw::Step step) {
            if (step == sw::Step::kRefusedIn || step == sw::Step::kRefusedOut) {
                tell_refused({&port, step == sw::Step::kRefusedIn},
                             refused_datagram(to, kQpnMulticast.value, pkey));
            }
        },
        [&](std::uint32_t hca) { reached.push_back(hca); });
    std::ranges::sort(reached);
    bool whole = true;
    for (std::uint32_t g = 0; g < shm::kMcastGroupsMax; ++g) {
        std::uint32_t qpns[shm::kMcastMembersMax];
        const std::optional<std::uint32_t> members = read_members(arena.mcast[g], to, qpns);
        whole = whole && members;
        for (std::uint32_t m = 0; m < members.value_or(0); ++m) {
            // The fabric never returns a multicast packet to the queue pair that sent it.
            if (qpns[m] != shared_->qpn &&
                std::ranges::binary_search(reached, arena.qps[qp_index(qpns[m])].hca)) {
                found.push_back(qpns[m]);
            }
        }
    }
    std::ranges::sort(found);
    const auto twice = std::ranges::unique(found);  // A queue pair may be attached by two MLIDs.
    found.erase(twice.begin(), twice.end());
    return whole;
}

const DirectQp::Audience& DirectQp::audience(const hca::AddressVector& to) {
    const shm::ArenaHeader& header = *self_.arena.header;
    const std::uint64_t route = header.route_generation.load(std::memory_order_acquire);
    const std::uint64_t mcast = header.mcast_generation.load(std::memory_order_acquire);
    const PKey pkey = pkey_at(self_.arena, init_.hca, attr_.pkey_index);
    if (audience_last_ >= audiences_.size() || !audiences_[audience_last_].is_of(to, pkey)) {
        const auto found =
            std::ranges::find_if(audiences_, [&](const Audience& a) { return a.is_of(to, pkey); });
        audience_last_ = static_cast<std::size_t>(found - audiences_.begin());
        if (found == audiences_.end()) {
            if (audiences_.size() == kAudiencesMax) {
                audiences_.clear();
            }
            audience_last_ = audiences_.size();
            Audience& added = audiences_.emplace_back();
            added.dlid = to.dlid;
            added.pkey = pkey;
            added.global = to.global;
            added.dgid = to.dgid;
        }
    }
    Audience& audience = audiences_[audience_last_];
    if (audience.route_generation != route || audience.mcast_generation != mcast) {
        const bool whole = find_audience(to, pkey, audience.qpns);
        audience.route_generation = whole ? route : 0;  // 0: the next datagram looks again.
        audience.mcast_generation = mcast;
    }
    return audience;
}

DirectQp::Verdict DirectQp::multicast(const shm::WorkRequest& wr, const Gather& gather) {
    const shm::Arena& arena = self_.arena;
    for (const std::uint32_t qpn : audience(wr.ah->to).qpns) {
        shm::QpShared& target = arena.qps[qp_index(qpn)];
        const shm::Owner owner = target.owner;
        const shm::Hazard hazard(*stripe_, owner, hazard_fence_);
        if (target.qpn == qpn && datagram_accepted(wr, target, target.hca) &&
            target.owner == owner) {
            deliver_datagram(wr, target, gather, false);
        }
    }
    return {};
}

}  // namespace softib::direct
