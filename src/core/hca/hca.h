// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An HCA with one port: queue pairs by number, completion queues, shared receive queues, multicast
// groups. It does no input or output. The caller passes packets and time in by handle_*, and takes
// packets, completions, events and the next deadline by poll_*. Time is nanoseconds of any clock
// that does not go back. Nothing is allocated once the queue pairs exist.
//
// The caller polls poll_transmit() whenever the link has room, and sends the packet; one whose DLID
// is the HCA's own it passes to handle_packet(). The HCA itself copies multicasts to its own queue
// pairs. Packets to QP0 and QP1 are for the node's agents; the caller does not pass them to the
// HCA. Automatic path migration and reliable datagrams are not implemented.
//
// Not thread-safe: only one thread at a time may call an HCA.

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
    std::uint32_t group_members = 1024;  ///< Attachments of queue pairs to all multicast groups.
};

class Hca {
  public:
    /// With a sink, the HCA passes each completion to the sink, which defines the queues.
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
    /// Returns whether the queue pair has requests that wait only for their turn to be sent.
    bool has_unsent(Qpn qpn) const {
        const QueuePair* qp = find(qpn);
        return qp != nullptr && qp->has_unsent();
    }
    bool has_unacknowledged(Qpn qpn) const {
        const QueuePair* qp = find(qpn);
        return qp != nullptr && qp->has_unacknowledged();
    }
    /// Returns the number of receive requests in a queue pair's own queue, or in a shared one.
    std::uint32_t receives_waiting(Qpn qpn) const;
    std::uint32_t receives_waiting(SrqId srq) const;
    /// Returns the time at which the caller must call handle_timeout(); kNever if no timer runs.
    std::uint64_t next_timeout_ns() const { return timers_.empty() ? kNever : timers_.first_ns(); }

    // Commands. They return std::nullopt or false, with nothing changed, if a limit is reached or
    // an argument is wrong.
    void set_port(const Port& port) { context_.port = port; }
    std::optional<CqId> create_cq(std::uint32_t entries);
    struct SrqInit {
        std::uint32_t max_wr = 0;
        std::uint32_t max_sge = 1;
        Pd pd{};
        std::uint32_t limit = 0;
        std::uint32_t xrcd = 0;  ///< XRC domain; 0: not for XRC.
        CqId cq{};               ///< The completion queue of its receive requests, for XRC only.
    };
    /// `number`: the number that the queue must get, if it is free; by default the next number.
    std::optional<SrqId> create_srq(const SrqInit& init,
                                    std::optional<SrqId> number = std::nullopt);
    /// Destroys a shared receive queue, which no queue pair may use any more.
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
    /// Keeps a queue pair from sending anything before this time.
    void hold(Qpn qpn, std::uint64_t until_ns);

    // Outputs
    /// Makes the next packet; queue pairs take turns. Returns false if there is none now. The
    /// payload of the packet is in registered memory and is valid until the next call. `levels` are
    /// the service levels that may send (bit n: service level n).
    bool poll_transmit(Transmit& out, std::uint64_t now_ns, std::uint16_t levels = kAllLevels);
    /// Returns the service levels at which there may be a packet to send, as bits.
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
        std::uint32_t use = 0;            ///< Queue pairs that the slot has had, for their numbers.
        std::uint64_t held_until_ns = 0;  ///< The queue pair sends nothing before this time.
        bool held = false;                ///< It lost its turn because of held_until_ns.
        bool queued = false;              ///< It waits in ready_[level].
        std::uint8_t level = 0;
        std::uint32_t next = 0;    ///< The slot behind it in ready_[level], if it is not the last.
        std::uint64_t ticket = 0;  ///< Its place in the order of waiting, over all service levels.
    };
    struct Member {
        Qpn qpn{};
        Gid group{};
        Lid lid{};
        friend bool operator==(const Member&, const Member&) = default;
    };

    QueuePair* find(Qpn qpn) const;
    std::uint32_t take_slot();
    /// Sets the timer of a queue pair and puts it in line for sending. Called after anything that
    /// may have given it something to send or to wait for.
    void touch(Qpn qpn);
    void line_up(std::uint32_t index);
    /// Takes the slot that has waited longest at these service levels; there must be one.
    std::uint32_t take_first(std::uint16_t levels);
    void set_timer(std::uint32_t index);
    void stop_overrun();

    // hca_receive.cc
    bool is_for_us(const wire::PacketHeaders& headers) const;
    bool address_matches(const QpCore& core, const wire::PacketHeaders& headers);
    /// Checks the P_Key and, of a datagram, the Q_Key; a CNP has no Q_Key.
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
    NumberMap numbers_;  ///< The index in slots_, by the low bits of a QPN.
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_slots_;
    struct Line {
        std::uint32_t head = 0;
        std::uint32_t tail = 0;
    };
    /// The slots that wait for their turn to send, by service level, first come first served.
    std::array<Line, kServiceLevels> ready_{};
    std::uint16_t ready_levels_ = 0;  ///< Bit n: ready_[n] is not empty.
    std::uint64_t tickets_ = 0;
    TimerHeap timers_;
    std::vector<Member> members_;
};

}  // namespace softib::hca
