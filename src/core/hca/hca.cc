// SPDX-License-Identifier: BSD-2-Clause
// The HCA's objects and commands, and the choice of the queue pair that sends next.
#include "core/hca/hca.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace softib::hca {

namespace {

constexpr std::uint32_t kIndexBits = 20;
constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
/// The number of QPNs of one slot: 15 of 16 possible, so that no queue pair gets kQpnMulticast.
constexpr std::uint32_t kUses = 15;
constexpr std::uint32_t kSpecialQps = 2;

}  // namespace

Hca::Hca(Memory& memory, const Port& port, const HcaLimits& limits, CompletionSink* sink)
    : context_(memory, sink), limits_(limits), slots_(kSpecialQps), timers_(kSpecialQps) {
    SOFTIB_CHECK(limits.qps + kSpecialQps <= kIndexMask);
    context_.port = port;
    context_.cqs.reserve(limits.cqs);
    context_.events.resize(limits.events);
    members_.reserve(limits.group_members);
}

QueuePair* Hca::find(Qpn qpn) const {
    const std::uint32_t index = numbers_.find(qpn.value & kIndexMask);
    QueuePair* qp = index != NumberMap::kNone ? slots_[index].qp.get() : nullptr;
    return qp != nullptr && qp->core().qpn == qpn ? qp : nullptr;
}

/// Returns the index of a slot for one more queue pair. All that grows with their number grows
/// here.
std::uint32_t Hca::take_slot() {
    if (!free_slots_.empty()) {
        const std::uint32_t index = free_slots_.back();
        free_slots_.pop_back();
        return index;
    }
    const auto index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
    free_slots_.reserve(slots_.size());
    timers_.grow(index + 1);
    return index;
}

std::optional<QpAttr> Hca::query_qp(Qpn qpn) const {
    const QueuePair* qp = find(qpn);
    return qp != nullptr ? std::optional(qp->attributes()) : std::nullopt;
}

std::optional<CqId> Hca::create_cq(std::uint32_t entries) {
    if (entries == 0 || context_.cqs.size() == limits_.cqs) {
        return std::nullopt;
    }
    context_.cqs.emplace_back(entries);
    return CqId{static_cast<std::uint32_t>(context_.cqs.size() - 1)};
}

std::optional<SrqId> Hca::create_srq(const SrqInit& init, std::optional<SrqId> number) {
    const SrqId id = number.value_or(SrqId{static_cast<std::uint32_t>(context_.srqs.size())});
    if (id.value >= limits_.srqs || context_.srq(id) != nullptr || init.max_sge > kSgesMax ||
        init.max_wr == 0 || (init.xrcd != 0 && !context_.has_cq(init.cq))) {
        return std::nullopt;
    }
    if (id.value >= context_.srqs.size()) {
        context_.srqs.resize(id.value + 1);
    }
    context_.srqs[id.value].emplace(
        SharedReceiveQueue{.queue = ReceiveQueue(init.max_wr, std::max(init.max_sge, 1U)),
                           .pd = init.pd,
                           .limit = init.limit,
                           .xrcd = init.xrcd,
                           .cq = init.cq});
    return id;
}

bool Hca::destroy_srq(SrqId srq) {
    const bool found = context_.srq(srq) != nullptr;
    if (found) {
        context_.srqs[srq.value].reset();
    }
    return found;
}

std::uint32_t Hca::receives_waiting(SrqId srq) const {
    const bool exists = srq.value < context_.srqs.size() && context_.srqs[srq.value];
    return exists ? context_.srqs[srq.value]->queue.size() : 0;
}

std::uint32_t Hca::receives_waiting(Qpn qpn) const {
    const QueuePair* qp = find(qpn);
    return qp != nullptr ? qp->receives_waiting() : 0;
}

bool Hca::set_srq_limit(SrqId srq, std::uint32_t limit) {
    SharedReceiveQueue* found = context_.srq(srq);
    if (found != nullptr) {
        found->limit = limit;
    }
    return found != nullptr;
}

std::optional<Qpn> Hca::create_qp(const QpInit& init, std::optional<Qpn> number) {
    const bool full = free_slots_.empty() && slots_.size() == limits_.qps + kSpecialQps;
    const bool bad_number =
        number && (number->value < kSpecialQps || number->value >= kQpnMulticast.value ||
                   numbers_.find(number->value & kIndexMask) != NumberMap::kNone);
    if (full || bad_number || !context_.has_cq(init.send_cq) || !context_.has_cq(init.recv_cq) ||
        init.max_send_sge > kSgesMax || init.max_recv_sge > kSgesMax ||
        init.max_inline > kInlineBytesMax || init.window_packets == 0 ||
        init.window_packets >= kPsnHalf || (init.srq && context_.srq(*init.srq) == nullptr)) {
        return std::nullopt;
    }
    const std::uint32_t index = take_slot();
    Slot& slot = slots_[index];
    const Qpn qpn = number.value_or(Qpn{index | (slot.use++ % kUses) << kIndexBits});
    slot.held_until_ns = 0;
    slot.qp = std::make_unique<QueuePair>(context_, init, qpn);
    numbers_.set(qpn.value & kIndexMask, index);
    return qpn;
}

bool Hca::destroy_qp(Qpn qpn) {
    QueuePair* qp = find(qpn);
    if (qp == nullptr) {
        return false;
    }
    QpAttr to_reset;
    qp->modify(to_reset, qp_attr::kState);
    detach_all(qpn);
    const std::uint32_t index = numbers_.find(qpn.value & kIndexMask);
    slots_[index].qp.reset();
    numbers_.set(qpn.value & kIndexMask, NumberMap::kNone);
    free_slots_.push_back(index);
    return true;
}

bool Hca::modify_qp(Qpn qpn, const QpAttr& attr, std::uint32_t mask) {
    QueuePair* qp = find(qpn);
    const bool modified = qp != nullptr && qp->modify(attr, mask);
    touch(qpn);
    return modified;
}

PostError Hca::post_send(Qpn qpn, const WorkRequest& wr) {
    QueuePair* qp = find(qpn);
    if (qp == nullptr) {
        return PostError::kInvalid;
    }
    const PostError error = qp->post_send(wr);
    touch(qpn);
    return error;
}

PostError Hca::post_receive(Qpn qpn, std::uint64_t wr_id, std::span<const Sge> sges) {
    QueuePair* qp = find(qpn);
    const PostError error = qp != nullptr ? qp->post_receive(wr_id, sges) : PostError::kInvalid;
    if (context_.cq_overrun) {
        stop_overrun();
    }
    return error;
}

PostError Hca::post_receive(SrqId srq, std::uint64_t wr_id, std::span<const Sge> sges) {
    SharedReceiveQueue* found = context_.srq(srq);
    return found != nullptr ? found->queue.post(wr_id, sges) : PostError::kInvalid;
}

bool Hca::attach(Qpn qpn, const Gid& group, Lid lid) {
    const QueuePair* qp = find(qpn);
    const Member member{qpn, group, lid};
    if (qp == nullptr || qp->core().init.type != QpType::kUd || !group.is_multicast()) {
        return false;
    }
    if (std::ranges::find(members_, member) != members_.end()) {
        return true;
    }
    if (members_.size() == limits_.group_members) {
        return false;
    }
    members_.push_back(member);
    return true;
}

bool Hca::detach(Qpn qpn, const Gid& group, Lid lid) {
    return std::erase(members_, Member{qpn, group, lid}) != 0;
}

void Hca::detach_all(Qpn qpn) {
    std::erase_if(members_, [&](const Member& m) { return m.qpn == qpn; });
}

bool Hca::arm(CqId cq, Arm arm) {
    if (cq.value >= context_.cqs.size()) {
        return false;
    }
    context_.cqs[cq.value].arm(arm);
    return true;
}

void Hca::set_timer(std::uint32_t index) {
    const std::uint64_t deadline = slots_[index].qp->deadline_ns();
    if (deadline != kNever) {
        timers_.set(index, deadline);
    }
}

/// Stops all queue pairs that use a completion queue which has lost a completion.
void Hca::stop_overrun() {
    context_.cq_overrun = false;
    for (const Slot& slot : slots_) {
        if (slot.qp != nullptr) {
            slot.qp->stop_if_overrun();
        }
    }
    context_.cq_overrun = false;  // Set again by the flushed requests, which found no room either.
}

void Hca::touch(Qpn qpn) {
    if (find(qpn) == nullptr) {
        return;
    }
    if (context_.cq_overrun) {
        stop_overrun();
    }
    const std::uint32_t index = numbers_.find(qpn.value & kIndexMask);
    set_timer(index);
    if (!slots_[index].queued) {
        line_up(index);
    }
}

void Hca::line_up(std::uint32_t index) {
    Slot& slot = slots_[index];
    slot.queued = true;
    slot.level = slot.qp->service_level();
    slot.ticket = tickets_++;
    Line& line = ready_[slot.level];
    if ((ready_levels_ >> slot.level & 1) == 0) {
        line.head = index;
    } else {
        slots_[line.tail].next = index;
    }
    line.tail = index;
    ready_levels_ = static_cast<std::uint16_t>(ready_levels_ | 1U << slot.level);
}

std::uint32_t Hca::take_first(std::uint16_t levels) {
    unsigned level = kServiceLevels;
    for (unsigned rest = ready_levels_ & levels; rest != 0; rest &= rest - 1) {
        const auto other = static_cast<unsigned>(std::countr_zero(rest));
        if (level == kServiceLevels ||
            slots_[ready_[other].head].ticket < slots_[ready_[level].head].ticket) {
            level = other;
        }
    }
    Line& line = ready_[level];
    const std::uint32_t index = line.head;
    if (index == line.tail) {
        ready_levels_ = static_cast<std::uint16_t>(ready_levels_ & ~(1U << level));
    } else {
        line.head = slots_[index].next;
    }
    slots_[index].queued = false;
    return index;
}

void Hca::handle_timeout(std::uint64_t now_ns) {
    while (!timers_.empty() && timers_.first_ns() <= now_ns) {
        const std::uint32_t index = timers_.pop();
        QueuePair* qp = slots_[index].qp.get();
        if (qp == nullptr) {
            continue;
        }
        if (slots_[index].held) {
            slots_[index].held = false;
            touch(qp->core().qpn);
        }
        if (qp->deadline_ns() > now_ns) {
            set_timer(index);
            continue;
        }
        qp->handle_timeout(now_ns);
        touch(qp->core().qpn);
    }
}

void Hca::hold(Qpn qpn, std::uint64_t until_ns) {
    if (find(qpn) != nullptr) {
        slots_[numbers_.find(qpn.value & kIndexMask)].held_until_ns = until_ns;
    }
}

std::uint16_t Hca::cnp_levels() const {
    const Cnp& cnp = *context_.cnps.first();
    const QueuePair* qp = find(cnp.qpn);
    if (qp == nullptr || qp->core().state < QpState::kRtr) {
        return kAllLevels;
    }
    const bool datagram = qp->core().init.type == QpType::kUd;
    return static_cast<std::uint16_t>(1U << (datagram ? cnp.sl : qp->core().attr.av.sl) %
                                                kServiceLevels);
}

bool Hca::transmit_cnp(Transmit& out, std::uint16_t levels) {
    while (context_.cnps.first() != nullptr && (cnp_levels() & levels) != 0) {
        const auto cnp = context_.cnps.pop();
        const QueuePair* qp = find(cnp->qpn);
        if (qp == nullptr || qp->core().state < QpState::kRtr) {
            continue;
        }
        const QpCore& core = qp->core();
        core.begin(out.headers, wire::Operation{}, Psn{});
        if (core.init.type == QpType::kUd) {
            out.headers.grh.reset();
            set_address(out.headers, {.dlid = cnp->dlid, .sl = cnp->sl}, context_.port);
            out.headers.bth.dest_qp = cnp->dest_qp;
        }
        out.headers.bth.opcode = wire::kCnpOpcode;
        out.headers.bth.becn = true;
        out.payload.clear();
        out.source = cnp->qpn;
        set_lengths(out.headers, 0);
        return true;
    }
    return false;
}

bool Hca::poll_transmit(Transmit& out, std::uint64_t now_ns, std::uint16_t levels) {
    if (transmit_cnp(out, levels)) {
        return true;
    }
    while ((ready_levels_ & levels) != 0) {
        const std::uint32_t index = take_first(levels);
        Slot& slot = slots_[index];
        if (slot.qp != nullptr && slot.qp->service_level() != slot.level) {
            line_up(index);  // Its next packet has another service level than when it lined up.
            continue;
        }
        if (slot.held_until_ns > now_ns) {
            slot.held = true;
            timers_.set(index, slot.held_until_ns);
            continue;
        }
        const bool sends = slot.qp != nullptr && slot.qp->poll_transmit(out, now_ns);
        if (context_.cq_overrun) {
            stop_overrun();
        }
        if (!sends) {
            continue;
        }
        out.source = slot.qp->core().qpn;
        touch(slot.qp->core().qpn);
        if (is_multicast(out.headers.lrh.dlid)) {
            if (const auto info = wire::opcode_info(out.headers.bth.opcode)) {
                deliver_multicast(out.headers, *info, out.payload, now_ns);
            }
        }
        return true;
    }
    return false;
}

std::optional<Completion> Hca::poll_completion(CqId cq) {
    return cq.value < context_.cqs.size() ? context_.cqs[cq.value].poll() : std::nullopt;
}

std::optional<Event> Hca::poll_event() {
    if (context_.events_count == 0) {
        return std::nullopt;
    }
    const Event event = context_.events[context_.events_head];
    context_.events_head = (context_.events_head + 1) % context_.events.size();
    --context_.events_count;
    return event;
}

}  // namespace softib::hca
