// SPDX-License-Identifier: BSD-2-Clause
// Queue pairs and shared receive queues of programs: executes programs' calls, and reads ports and
// multicast groups from the arena.
#include "runtime/carrier/adapters.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "runtime/carrier/sharp/sharp_ends.h"
#include "runtime/direct/qp_base.h"
#include "runtime/shm/packet_queue.h"

namespace softib::carrier {

namespace {

using hca::QpState;

/// Most unacknowledged packets of one queue pair: enough for the HCA's own pace, and few enough
/// that none waits in the network for longer than a timeout.
constexpr std::uint32_t kWindow = 128;
/// How long a queue pair that must stop may go on sending. Without a limit it would never stop if
/// its link is down or its peer is dead.
constexpr std::uint64_t kLastWordsNs = 5'000'000;
/// How long a queue pair that must stop waits for acknowledgements. A live peer is faster.
constexpr std::uint64_t kLastAnswerNs = 500'000;
constexpr hca::HcaLimits kLimits{
    .qps = 1U << 19, .cqs = 0, .srqs = shm::kSrqsMax, .events = 4096, .group_members = 1U << 16};

}  // namespace

void Adapters::join(net::Engine& net, std::vector<std::uint32_t> ports) {
    net_ = &net;
    net.set_key_reader(this);
    ports_ = std::move(ports);
    for (std::uint32_t i = 0; i < ports_.size(); ++i) {
        hca::CompletionSink* const sink = this;
        hcas_.push_back(std::make_unique<hca::Hca>(memory_, hca::Port{}, kLimits, sink));
        hosts_.attach(ports_[i], *hcas_.back());
        hca_of_port_.resize(std::max<std::size_t>(hca_of_port_.size(), ports_[i] + std::size_t{1}));
        hca_of_port_[ports_[i]] = i;
    }
}

Adapters::Pair* Adapters::pair(Qpn qpn) const {
    Pair* found = pair(direct::qp_index(qpn.value));
    return found != nullptr && found->qpn == qpn ? found : nullptr;
}

bool Adapters::is_gone(shm::Owner owner, std::uint64_t instance) const {
    const shm::ProcSlot& slot = process_.self.arena.proc(owner);
    return slot.instance != instance ||
           slot.state.load(std::memory_order_acquire) != shm::ProcState::kLive;
}

void Adapters::forget_dead() {
    for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
        if (pairs_[i] != nullptr && is_gone(pairs_[i]->owner, pairs_[i]->instance)) {
            destroy_qp(i);
        }
    }
    for (std::uint32_t i = 0; i < shareds_.size(); ++i) {
        if (shareds_[i] != nullptr && is_gone(shareds_[i]->owner, shareds_[i]->instance)) {
            destroy_srq(i);
        }
    }
}

/// Returns whether a queue pair that must stop has something to send first. A peer may wait for an
/// acknowledgement, and an HCA in hardware would have sent what its program posted before it
/// executes such a command. The queue pair also waits a moment for acknowledgements, so that a
/// request that has arrived does not complete as flushed.
bool Adapters::has_last_words(Pair& queue_pair) {
    const hca::Hca& hca = *hcas_[queue_pair.hca];
    if (queue_pair.ending_since_ns == 0) {
        queue_pair.ending_since_ns = now_ns_;
        fetch_sends(queue_pair);
        send_from(queue_pair.hca);
    }
    const std::uint64_t waited = now_ns_ - queue_pair.ending_since_ns;
    if ((waited < kLastWordsNs &&
         (hca.has_responses(queue_pair.qpn) || hca.has_unsent(queue_pair.qpn))) ||
        (waited < kLastAnswerNs && hca.has_unacknowledged(queue_pair.qpn))) {
        return true;
    }
    queue_pair.ending_since_ns = 0;
    return false;
}

std::optional<int> Adapters::call(shm::Owner owner, const shm::CarrierCall& call) {
    using Call = shm::CarrierCall;
    if (call.op == Call::kCreateQp) {
        return create_qp(owner, call.index);
    }
    if (call.op == Call::kCreateSrq) {
        return create_srq(owner, call.index);
    }
    Pair* const queue_pair = pair(call.index);
    Shared* const queue = shared(call.index);
    const bool is_pair = call.op == Call::kModifyQp || call.op == Call::kDestroyQp;
    if (is_pair ? queue_pair == nullptr || queue_pair->owner != owner
                : queue == nullptr || queue->owner != owner) {
        return ENOENT;
    }
    const bool ends = call.op == Call::kDestroyQp ||
                      (call.op == Call::kModifyQp && (call.mask & hca::qp_attr::kState) != 0 &&
                       (call.attr.state == QpState::kReset || call.attr.state == QpState::kErr));
    if (ends && has_last_words(*queue_pair)) {
        return std::nullopt;
    }
    switch (call.op) {
        case Call::kModifyQp:
            return modify_qp(*queue_pair, call.attr, call.mask);
        case Call::kDestroyQp:
            destroy_qp(call.index);
            return 0;
        case Call::kLimitSrq:
            fetch_receives(*queue);
            hcas_[queue->hca]->set_srq_limit(
                hca::SrqId{call.index},
                process_.self.arena.srqs[call.index].limit.load(std::memory_order_acquire));
            return 0;
        case Call::kDestroySrq:
            destroy_srq(call.index);
            return 0;
        default:
            return ENOSYS;
    }
}

int Adapters::create_qp(shm::Owner owner, std::uint32_t index) {
    if (index >= shm::kQpsMax || process_.self.arena.qps[index].owner != owner ||
        process_.self.arena.qps[index].hca >= hcas_.size()) {
        return EINVAL;
    }
    shm::QpShared& from = process_.self.arena.qps[index];
    const hca::Pd pd{from.pd};
    if (pd == kOwnPd) {
        return EINVAL;
    }
    if (pair(index) != nullptr) {
        destroy_qp(index);
    }
    hca::QpInit init{.type = from.type,
                     .pd = pd,
                     .send_cq = hca::CqId{from.sq.cq},
                     .recv_cq = hca::CqId{from.recv_cq},
                     .max_send_wr = from.sq.entries,
                     .max_recv_wr = from.rq.ring_off != 0 ? from.rq.entries : 0,
                     .max_send_sge = from.sq.sges_max,
                     .max_recv_sge = from.rq.ring_off != 0 ? from.rq.sges_max : 1,
                     .max_inline = from.sq.inline_max,
                     .signal_all = from.sq.signal_all != 0,
                     .xrcd = from.xrcd,
                     .window_packets = kWindow};
    if (from.srq != 0) {
        init.srq = hca::SrqId{from.srq - 1};
    }
    const Qpn qpn{from.qpn};
    if (!hcas_[from.hca]->create_qp(init, qpn)) {
        return ENOMEM;
    }
    if (pairs_.size() <= index) {
        pairs_.resize(std::bit_ceil(index + 1));
    }
    pairs_[index] = std::make_unique<Pair>(
        Pair{.index = index,
             .hca = from.hca,
             .qpn = qpn,
             .owner = owner,
             .instance = process_.self.arena.proc(owner).instance,
             .receives = ReceiveSource(from.rq.ring_off != 0 ? &from.rq : nullptr),
             .srq = from.srq});
    return 0;
}

int Adapters::modify_qp(Pair& queue_pair, const hca::QpAttr& attr, std::uint32_t mask) {
    hca::Hca& hca = *hcas_[queue_pair.hca];
    const bool to_reset = (mask & hca::qp_attr::kState) != 0 && attr.state == QpState::kReset;
    if (!to_reset) {
        fetch_receives(queue_pair);
    }
    if (!hca.modify_qp(queue_pair.qpn, attr, mask)) {
        return EINVAL;
    }
    if (to_reset) {
        queue_pair.sends = 0;
        queue_pair.receives.reset();
    }
    show_state(queue_pair);
    send_from(queue_pair.hca);
    return 0;
}

int Adapters::create_srq(shm::Owner owner, std::uint32_t index) {
    if (index >= shm::kSrqsMax || process_.self.arena.srqs[index].owner != owner ||
        process_.self.arena.srqs[index].hca >= hcas_.size()) {
        return EINVAL;
    }
    shm::SrqShared& from = process_.self.arena.srqs[index];
    const hca::Pd pd{from.pd};
    if (pd == kOwnPd) {
        return EINVAL;
    }
    if (shared(index) != nullptr) {
        destroy_srq(index);
    }
    const hca::Hca::SrqInit init{.max_wr = from.ring.mask + 1,
                                 .max_sge = from.ring.sges_max,
                                 .pd = pd,
                                 .limit = from.limit.load(),
                                 .xrcd = from.xrcd,
                                 .cq = hca::CqId{from.recv_cq}};
    if (!hcas_[from.hca]->create_srq(init, hca::SrqId{index})) {
        return ENOMEM;
    }
    if (shareds_.size() <= index) {
        shareds_.resize(std::bit_ceil(index + 1));
    }
    shareds_[index] =
        std::make_unique<Shared>(Shared{.index = index,
                                        .hca = from.hca,
                                        .owner = owner,
                                        .instance = process_.self.arena.proc(owner).instance,
                                        .receives = ReceiveSource(&from.ring)});
    return 0;
}

void Adapters::destroy_qp(std::uint32_t index) {
    hcas_[pairs_[index]->hca]->destroy_qp(pairs_[index]->qpn);
    pairs_[index].reset();
}

void Adapters::destroy_srq(std::uint32_t index) {
    hcas_[shareds_[index]->hca]->destroy_srq(hca::SrqId{index});
    shareds_[index].reset();
}

/// set_time() tells them.
bool Adapters::tells_time(std::uint32_t, std::uint64_t due_ns) {
    next_timeout_ns_ = std::min(next_timeout_ns_, due_ns);
    return true;
}

void Adapters::set_time(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (now_ns < next_timeout_ns_) {
        return;
    }
    next_timeout_ns_ = hca::kNever;
    for (std::uint32_t i = 0; i < hcas_.size(); ++i) {
        if (hcas_[i]->next_timeout_ns() <= now_ns) {
            hcas_[i]->handle_timeout(now_ns);
            send_from(i);
        }
        next_timeout_ns_ = std::min(next_timeout_ns_, hcas_[i]->next_timeout_ns());
    }
    if (sharp_ != nullptr) {
        sharp_->take_completions();
        sharp_->handle_timeouts(now_ns);
        next_timeout_ns_ = std::min(next_timeout_ns_, sharp_->next_timeout_ns());
    }
}

void Adapters::read_ports() {
    for (std::uint32_t i = 0; i < hcas_.size(); ++i) {
        const shm::HcaRecord& from = process_.self.arena.hcas[i];
        hca::Port port{.link_layer = process_.self.arena.header->link_layer,
                       .lid = Lid{from.lid.load(std::memory_order_relaxed)},
                       .lmc = from.lmc,
                       .mtu_bytes = hca::mtu_bytes(from.mtu_code)};
        port.pkeys.clear();
        for (const auto& pkey : from.pkeys) {
            port.pkeys.push_back(PKey{pkey.load(std::memory_order_relaxed)});
        }
        port.gids.clear();
        for (std::uint32_t g = 0; g < shm::kGidsPerPort; ++g) {
            port.gids.push_back(shm::gid_at(from, g));
        }
        hcas_[i]->set_port(port);
    }
}

void Adapters::read_groups() {
    for (const auto& queue_pair : pairs_) {
        if (queue_pair != nullptr && queue_pair->listens) {
            hcas_[queue_pair->hca]->detach_all(queue_pair->qpn);
            queue_pair->listens = false;
        }
    }
    // A group that is being written now will be read again: the generation changes afterwards.
    const auto load = []<typename T>(T& word) {
        return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
    };
    for (std::uint32_t g = 0; g < shm::kMcastGroupsMax; ++g) {
        shm::McastGroup& group = process_.self.arena.mcast[g];
        const std::uint32_t members =
            std::min<std::uint32_t>(load(group.members), shm::kMcastMembersMax);
        Gid mgid;
        for (std::size_t i = 0; i < mgid.bytes.size(); ++i) {
            mgid.bytes[i] = load(group.mgid[i]);
        }
        for (std::uint32_t m = 0; m < members; ++m) {
            if (Pair* const queue_pair = pair(Qpn{load(group.qpns[m])})) {
                queue_pair->listens |=
                    hcas_[queue_pair->hca]->attach(queue_pair->qpn, mgid, Lid{load(group.mlid)});
            }
        }
    }
}

}  // namespace softib::carrier
