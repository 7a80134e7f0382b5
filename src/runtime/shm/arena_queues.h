// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Queues in the arena: completion queues, receive queues, queue pairs. Part of arena.h.

#include <atomic>
#include <cstdint>

#include "core/base/ids.h"
#include "core/hca/qp_state.h"
#include "core/hca/vocabulary.h"
#include "runtime/shm/arena_constants.h"
#include "runtime/shm/arena_packet.h"

namespace softib::live {

/// Completion queue entry; one cache line. `seq` is written last and makes the entry valid.
struct alignas(64) Cqe {
    std::uint64_t wr_id;
    std::uint64_t timestamp_ns;
    std::uint32_t byte_len;
    std::uint32_t imm_or_rkey;  ///< Immediate in network order, or the invalidated rkey.
    std::uint32_t qpn;
    std::uint32_t src_qpn;
    std::uint32_t
        wqe_index;  ///< Send: requests posted up to and with this one. Receive: ring index.
    std::uint16_t slid;
    std::uint16_t pkey_index;
    std::uint8_t status;
    std::uint8_t opcode;  ///< WcOpcode
    std::uint8_t flags;   ///< WcFlags
    std::uint8_t sl;
    std::uint8_t path_bits;
    std::uint8_t is_receive;
    std::uint8_t solicited;  ///< Raises the event of a queue armed for solicited completions alone.
    std::uint8_t reserved;
    std::uint64_t tag;
    std::uint32_t seq;

    std::uint32_t load_seq() const { return __atomic_load_n(&seq, __ATOMIC_ACQUIRE); }
    void publish(std::uint32_t value) { __atomic_store_n(&seq, value, __ATOMIC_RELEASE); }
};
static_assert(sizeof(Cqe) == 64);

struct alignas(64) CqShared {
    // Producers: peers and the owner's own senders.
    std::atomic<std::uint32_t> lock;
    std::uint32_t produced;
    std::uint32_t consumed_seen;  ///< Producers' view of `consumed`, refreshed only when full.
    std::uint32_t mask;
    std::uint64_t ring_off;
    Owner owner;
    std::uint16_t hca;
    std::uint32_t index;
    std::uint32_t channel;  ///< Completion channel id; 0: none.
    std::uint32_t entries;  ///< Capacity the program asked for (ring may be larger).
    std::uint64_t cookie;   ///< Owner's object; handed back in the channel's event.
    std::uint32_t async_channel;
    std::uint32_t timestamps;  ///< 1: the program reads completion times.

    alignas(64) std::atomic<std::uint32_t> arm;  ///< ArmKind and the arming's number: see below.
    std::atomic<std::uint32_t> overflowed;

    alignas(64) std::atomic<std::uint32_t> consumed;  ///< Written by the owner's polls.
};

/// kArmClaimed: a producer is about to write the event; it may die before it does. The word's
/// upper bits count the armings, so that a producer done with one does not clear the claim of
/// another producer on the next.
enum ArmKind : std::uint32_t { kArmNone = 0, kArmSolicited = 1, kArmAny = 2, kArmClaimed = 3 };
inline constexpr std::uint32_t kArmKindMask = 3;
inline constexpr std::uint32_t kArmStep = 4;
inline ArmKind arm_kind(std::uint32_t word) {
    return static_cast<ArmKind>(word & kArmKindMask);
}
inline std::uint32_t with_kind(std::uint32_t word, ArmKind kind) {
    return (word & ~kArmKindMask) | kind;
}

using hca::Sge;

/// A receive request in a ring; `sges` follow it (stride is in the queue).
struct RecvWqe {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::uint32_t total_bytes;
    // Sge sges[num_sge];
    Sge* sges() { return reinterpret_cast<Sge*>(this + 1); }
    const Sge* sges() const { return reinterpret_cast<const Sge*>(this + 1); }
};
static_assert(sizeof(RecvWqe) == 16 && sizeof(Sge) == 16);

/// A ring of receive requests: the receive queue of a QP, or a shared receive queue.
struct RecvRing {
    std::uint64_t ring_off;
    std::uint32_t stride_bytes;
    std::uint32_t mask;
    std::uint32_t sges_max;
    std::uint32_t entries;
    alignas(64) std::atomic<std::uint32_t> tail;  ///< Owner: posted.
    alignas(64) std::atomic<std::uint32_t> head;  ///< Deliverers: consumed.
    std::atomic<std::uint32_t> lock;  ///< Deliverers, where there can be several (UD, shared).
    /// Set by a sender that found the queue empty and will not poll: owner of that sender.
    std::atomic<std::uint32_t> rnr_waiter;
};

using hca::kSgesMax;

/// A receive request copied out of a ring.
struct TakenRecv {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::uint32_t wqe_index;
    Sge sges[kSgesMax];
};

/// What a sender is doing with a receive request of a ring that others take from as well. If it
/// dies, whoever takes over the ring's or the completion queue's lock writes down here how far it
/// had come, and the request is given back unless it was completed: once, whatever happens.
struct DeliveryRecord {
    enum State : std::uint32_t {
        kNone = 0,
        kTaking = 1,    ///< Inside the lock of a shared queue: taken if the head has moved.
        kTaken = 2,     ///< Taken from a shared queue.
        kDatagram = 3,  ///< At the head of a UD ring, whose lock is held until the end.
    };
    std::atomic<std::uint32_t> state;
    std::uint32_t source;  ///< Shared queue, or (kDatagram) queue pair: index in its table.
    std::uint32_t use;     ///< SrqShared::use, or the QPN.
    /// Completion queue + 1 and its entry, once the completion is being written there.
    std::atomic<std::uint32_t> cq;
    std::uint32_t cq_at;
    TakenRecv request;
};

/// What a datagram queue pair sent to one LID (flows.h).
struct Flow {
    std::atomic<std::uint32_t> dlid;  ///< 0: entry is free.
    std::uint32_t reserved;
    std::atomic<std::uint64_t> packets;
    std::atomic<std::uint64_t> words;
    std::atomic<std::uint64_t> settled[2];  ///< Of both, what the ports already have.
};

struct FlowTable {
    std::atomic<std::uint32_t> capacity;  ///< A power of two.
    std::uint32_t used;
    // Flow flows[capacity];
    Flow* flows() { return reinterpret_cast<Flow*>(this + 1); }
    static constexpr std::uint64_t bytes(std::uint32_t capacity) {
        return sizeof(FlowTable) + std::uint64_t{capacity} * sizeof(Flow);
    }
};
inline constexpr std::uint32_t kFlowsMax = 1U << 17;  ///< All LIDs there are, and room to find one.

using hca::QpState;
using hca::QpType;

struct alignas(64) QpShared {
    /// Who may deliver here, in one word: see rx_word(). 0: nobody.
    std::atomic<std::uint64_t> rx;
    std::atomic<QpState> state;
    QpType type;
    std::uint8_t path_mtu_code;
    std::uint8_t min_rnr_timer;
    std::uint32_t qpn;
    std::uint32_t pd;
    std::uint32_t access;  ///< Remote rights of this QP: AccessFlags.
    std::uint32_t qkey;
    std::uint32_t recv_cq;  ///< Index into the CQ table.
    std::uint32_t srq;      ///< Index + 1; 0: own receive queue.
    Owner owner;
    std::uint16_t hca;
    std::atomic<std::uint16_t> pkey;
    std::uint16_t pkey_index;
    std::uint32_t xrcd;
    std::atomic<std::uint32_t> async_error;  ///< AsyncKind that a peer's request provoked; 0 none.

    RecvRing rq;

    /// Packets and words of this QP's own operations, written only by the thread that is its NIC:
    /// requests it sent (xmit) and responses to them (rcv). The mirror image counts at the port of
    /// dest_lid. Folded into PortTotals when the QP goes. UD: see first_flow.
    alignas(64) std::atomic<std::uint64_t> xmit_packets;
    std::atomic<std::uint64_t> xmit_words;
    std::atomic<std::uint64_t> rcv_packets;
    std::atomic<std::uint64_t> rcv_words;
    std::atomic<std::uint32_t> dest_qpn;
    std::atomic<std::uint16_t> dest_lid;
    std::atomic<std::uint16_t> has_flows;  ///< UD: 1 from its first datagram on.
    std::uint64_t cookie;                  ///< Owner's object.
    std::uint64_t event_id;  ///< Names it in asynchronous events, also after it is gone.
    std::uint32_t async_channel;
    /// Who moves counts to the ports: the owner when it ends, the daemon before a route changes.
    std::atomic<std::uint32_t> count_lock;
    /// Of the four counts above, what the ports already have; under count_lock.
    std::uint64_t settled[4];
    std::atomic<std::uint64_t> flows_off;  ///< UD: its FlowTable; 0: none.
    alignas(64) Flow first_flow;           ///< UD: most have one destination, and need no table.
    SendRing sq;                           ///< Packet path only, but for its completion queue.
    // As the program set them, for who looks on (rdma_netlink.h).
    std::uint32_t sq_psn;
    std::uint32_t rq_psn;
    std::uint8_t path_mig_state;
};
static_assert(sizeof(QpShared) <= 576);

/// The word a sender compares before it delivers: one load decides type, state and connection.
constexpr std::uint64_t kRxReady = std::uint64_t{1} << 63;
constexpr std::uint64_t kRxFirst = std::uint64_t{1} << 62;  ///< In RTR: COMM_EST is still to come.
constexpr std::uint64_t rx_word(QpType type, Qpn sender, Lid sender_lid) {
    return kRxReady | std::uint64_t{static_cast<std::uint8_t>(type)} << 48 |
           std::uint64_t{sender_lid.value} << 32 | sender.value;
}

struct alignas(64) SrqShared {
    RecvRing ring;
    alignas(64) std::atomic<std::uint32_t> live;  ///< 1 while receives may be taken.
    std::atomic<std::uint32_t> limit;             ///< SRQ_LIMIT_REACHED below this; 0: disarmed.
    std::uint32_t pd;
    std::uint32_t srqn;
    std::uint32_t xrcd;     ///< 0: not an XRC queue.
    std::uint32_t recv_cq;  ///< XRC only.
    Owner owner;
    std::uint16_t hca;
    std::uint32_t async_channel;
    std::uint64_t cookie;
    std::uint32_t use;  ///< Counts uses of this entry.
};

}  // namespace softib::live
