// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An HCA with one port: queue pairs by number, completion queues, shared receive queues, multicast
// groups. It does no input or output: packets and time come in by handle_*, packets, completions,
// events and the next deadline go out by poll_*. Time is nanoseconds on any clock that does not go
// back. Nothing is allocated once queue pairs exist.
//
// The caller sends what poll_transmit() gives as soon as the link has room, and gives it back by
// handle_packet() when the DLID is the HCA's own. The HCA itself copies multicasts to its own queue
// pairs. Packets to QP0 and QP1 belong to the node's agents; the caller does not give them to the
// HCA. Not there yet: automatic path migration, reliable datagrams.
//
// Thread rule: one caller at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/hca/context.h"
#include "core/hca/number_map.h"
#include "core/hca/queue_pair.h"
#include "core/hca/timer_heap.h"

namespace softib::hca {

struct HcaLimits {
    std::uint32_t qps = 1024;
    std::uint32_t cqs = 1024;
    std::uint32_t srqs = 256;
    std::uint32_t events = 1024;
    std::uint32_t group_members = 1024;  ///< Over all multicast groups.
};

class Hca {
  public:
    /// With a sink, completions go there as they happen, and the sink defines the queues.
    Hca(Memory& memory, const Port& port, const HcaLimits& limits = {},
        CompletionSink* sink = nullptr);

    // Getters
    const Port& port() const { return context_.port; }
    std::uint64_t counter(Counted what) const {
        return context_.counters[static_cast<std::size_t>(what)];
    }
    std::optional<QpAttr> query_qp(Qpn qpn) const;
    bool has_responses(Qpn qpn) const {
        const QueuePair* qp = find(qpn);
        return qp != nullptr && qp->has_responses();
    }
    /// Requests that wait for nothing but their turn.
    bool has_unsent(Qpn qpn) const {
        const QueuePair* qp = find(qpn);
        return qp != nullptr && qp->has_unsent();
    }
    bool has_unacknowledged(Qpn qpn) const {
        const QueuePair* qp = find(qpn);
        return qp != nullptr && qp->has_unacknowledged();
    }
    /// Receive requests that wait, of a queue pair's own queue or of a shared one.
    std::uint32_t receives_waiting(Qpn qpn) const;
    std::uint32_t receives_waiting(SrqId srq) const;
    /// When handle_timeout() is due at the latest; kNever: no timer runs.
    std::uint64_t next_timeout_ns() const { return timers_.empty() ? kNever : timers_.first_ns(); }

    // Commands. Nothing or false: a limit is reached or an argument is wrong.
    void set_port(const Port& port) { context_.port = port; }
    std::optional<CqId> create_cq(std::uint32_t entries);
    struct SrqInit {
        std::uint32_t max_wr = 0;
        std::uint32_t max_sge = 1;
        Pd pd{};
        std::uint32_t limit = 0;
        std::uint32_t xrcd = 0;  ///< XRC domain; 0: not for XRC.
        CqId cq{};               ///< XRC only.
    };
    /// `number`: a certain one, which nobody has yet; otherwise the next.
    std::optional<SrqId> create_srq(const SrqInit& init,
                                    std::optional<SrqId> number = std::nullopt);
    /// No queue pair may use it any more.
    bool destroy_srq(SrqId srq);
    bool set_srq_limit(SrqId srq, std::uint32_t limit);
    std::optional<Qpn> create_qp(const QpInit& init, std::optional<Qpn> number = std::nullopt);
    bool destroy_qp(Qpn qpn);
    bool modify_qp(Qpn qpn, const QpAttr& attr, std::uint32_t mask);
    PostError post_send(Qpn qpn, const WorkRequest& wr);
    PostError post_receive(Qpn qpn, std::uint64_t wr_id, std::span<const Sge> sges);
    PostError post_receive(SrqId srq, std::uint64_t wr_id, std::span<const Sge> sges);
    bool attach(Qpn qpn, const Gid& group, Lid lid);
    bool detach(Qpn qpn, const Gid& group, Lid lid);
    void detach_all(Qpn qpn);
    bool arm(CqId cq, Arm arm);

    // Inputs
    void handle_packet(const wire::PacketHeaders& headers, const Payload& payload,
                       std::uint64_t now_ns);
    void handle_packet(const wire::Packet& packet, std::uint64_t now_ns) {
        handle_packet(packet.headers, Payload(packet.payload), now_ns);
    }
    void handle_timeout(std::uint64_t now_ns);
    /// A queue pair sends nothing before this time.
    void hold(Qpn qpn, std::uint64_t until_ns);

    // Outputs
    /// Makes the next packet, queue pairs in turn. Returns false if there is none now. Its payload
    /// lies in registered memory and is valid until the next call. `levels`: service levels that
    /// may send (bit n: level n).
    bool poll_transmit(Transmit& out, std::uint64_t now_ns, std::uint16_t levels = kAllLevels);
    /// Service levels of what may be there to send.
    std::uint16_t ready_levels() const {
        return context_.cnps.first() == nullptr
                   ? ready_levels_
                   : static_cast<std::uint16_t>(ready_levels_ | cnp_levels());
    }
    std::optional<Completion> poll_completion(CqId cq);
    std::optional<Event> poll_event();
    /// Returns the next flow that must slow down, see congestion.h.
    std::optional<Becn> poll_becn() { return context_.becns.pop(); }

  private:
    struct Slot {
        std::unique_ptr<QueuePair> qp;
        std::uint32_t use = 0;
        std::uint64_t held_until_ns = 0;
        bool held = false;    ///< Had its turn before that time.
        bool queued = false;  ///< In ready_[level],
        std::uint8_t level = 0;
        std::uint32_t next = 0;    ///< before this one,
        std::uint64_t ticket = 0;  ///< since then.
    };
    struct Member {
        Qpn qpn{};
        Gid group{};
        Lid lid{};
        friend bool operator==(const Member&, const Member&) = default;
    };

    QueuePair* find(Qpn qpn) const;
    std::uint32_t take_slot();
    /// After anything that may let a queue pair send, or wait.
    void touch(Qpn qpn);
    void line_up(std::uint32_t index);
    /// The slot that has waited longest; there is one.
    std::uint32_t take_first(std::uint16_t levels);
    void set_timer(std::uint32_t index);
    void stop_overrun();

    // hca_receive.cc
    bool is_for_us(const wire::PacketHeaders& headers) const;
    bool address_matches(const QpCore& core, const wire::PacketHeaders& headers);
    /// A CNP has no Q_Key.
    bool keys_match(const QpCore& core, const wire::PacketHeaders& headers, bool cnp);
    void deliver(QueuePair& qp, const wire::PacketHeaders& headers, const wire::OpcodeInfo& info,
                 const Payload& payload, std::uint64_t now_ns);
    void notice_congestion(QueuePair& qp, const wire::PacketHeaders& headers,
                           const wire::OpcodeInfo& info);
    /// Returns the service level of the first CNP that waits, as a bit; all bits if the queue pair
    /// that would have sent it is gone.
    std::uint16_t cnp_levels() const;
    bool transmit_cnp(Transmit& out, std::uint16_t levels);
    void deliver_multicast(const wire::PacketHeaders& headers, const wire::OpcodeInfo& info,
                           const Payload& payload, std::uint64_t now_ns);

    Context context_;
    HcaLimits limits_;
    NumberMap numbers_;  ///< Places in slots_.
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    struct Line {
        std::uint32_t head = 0;
        std::uint32_t tail = 0;
    };
    std::array<Line, kServiceLevels> ready_{};  ///< Slots, by service level, first come first.
    std::uint16_t ready_levels_ = 0;            ///< Bit n: ready_[n] is not empty.
    std::uint64_t tickets_ = 0;
    TimerHeap timers_;
    std::vector<Member> members_;
};

}  // namespace softib::hca
