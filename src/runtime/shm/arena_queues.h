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

namespace softib::shm {

/// What every completion queue entry has, four to a cache line. The producer writes `seq` last,
/// which makes the entry valid.
struct alignas(16) CqCell {
    /// Send: number of requests posted up to this one, inclusive. Receive: index in the ring.
    std::uint32_t wqe_index;
    std::uint32_t about;  ///< The QPN, and the bits below.
    std::uint32_t byte_len;
    std::uint32_t seq;

    std::uint32_t load_seq() const { return __atomic_load_n(&seq, __ATOMIC_ACQUIRE); }
    void publish(std::uint32_t value) { __atomic_store_n(&seq, value, __ATOMIC_RELEASE); }
    // Atomic, because a thread that arms the queue reads entries that another thread may be
    // polling.
    std::uint32_t load_about() const { return __atomic_load_n(&about, __ATOMIC_RELAXED); }
    void store_about(std::uint32_t value) { __atomic_store_n(&about, value, __ATOMIC_RELAXED); }
};
static_assert(sizeof(CqCell) == 16);

// The bits of CqCell::about.
inline constexpr std::uint32_t kCellQpn = 0xFFFFFF;
inline constexpr unsigned kCellSlShift = 24;  ///< kCellShort: four bits of SL.
/// A successful SEND without more, received on a connection: there is no Cqe. What the cell does
/// not say, the receiver's queue pair knows.
inline constexpr std::uint32_t kCellShort = 1U << 28;
inline constexpr std::uint32_t kCellReceive = 1U << 29;
/// Raises the event also of a queue that is armed for solicited completions only.
inline constexpr std::uint32_t kCellSolicited = 1U << 30;

/// A completion, as producers write it beside its cell, unless that is short.
struct alignas(64) Cqe {
    std::uint64_t wr_id;
    std::uint64_t timestamp_ns;
    std::uint32_t byte_len;
    std::uint32_t imm_or_rkey;  ///< Immediate in network order, or the invalidated rkey.
    std::uint32_t qpn;
    std::uint32_t src_qpn;
    /// Send: number of requests posted up to this one, inclusive. Receive: index in the ring.
    std::uint32_t wqe_index;
    std::uint16_t slid;
    std::uint16_t pkey_index;
    std::uint8_t status;
    std::uint8_t opcode;  ///< WcOpcode
    std::uint8_t flags;   ///< WcFlags
    std::uint8_t sl;
    std::uint8_t path_bits;
    std::uint8_t is_receive;
    std::uint64_t tag;
    /// As that of the cell, and written before the cell: a poll needs one line of either.
    std::uint32_t seq;

    std::uint32_t load_seq() const { return __atomic_load_n(&seq, __ATOMIC_ACQUIRE); }
    void publish(std::uint32_t value) { __atomic_store_n(&seq, value, __ATOMIC_RELEASE); }
};
static_assert(sizeof(Cqe) == 64);

/// The ring of a completion queue of `slots` entries: its cells, and behind them its Cqes.
struct CqRing {
    CqCell* cells;
    Cqe* entries;
    static constexpr std::uint64_t bytes(std::uint32_t slots) {
        return std::uint64_t{slots} * (sizeof(CqCell) + sizeof(Cqe));
    }
    static CqRing at(std::byte* memory, std::uint32_t slots) {
        return {reinterpret_cast<CqCell*>(memory),
                reinterpret_cast<Cqe*>(memory + std::uint64_t{slots} * sizeof(CqCell))};
    }
};
/// The fewest slots of a CqRing: its Cqes then begin at a cache line.
inline constexpr std::uint32_t kCqSlotsMin = 4;

/// A completion queue. Its first line belongs to its producers: while only one adds entries
/// (sole_producer.h), that line stays in the producer's cache.
struct alignas(64) CqShared {
    /// Held by the producer that writes an entry: a peer, or a sender of the owner's.
    std::atomic<std::uint32_t> lock;
    std::uint32_t produced;
    /// `consumed` as producers last read it, which they do only when the queue looks full.
    std::uint32_t consumed_seen;
    std::uint32_t mask;
    std::uint64_t ring_off;
    std::uint32_t entries;  ///< Capacity that the program asked for; the ring may be larger.
    std::uint32_t index;
    /// The producer that adds entries without the lock; 0: none. Written under the lock.
    std::atomic<std::uint64_t> sole;
    /// Under the lock: a producer that was dismissed and may still be adding an entry; 0: none.
    std::uint64_t leaving;
    std::uint64_t last;           ///< Under the lock: the producer that added the last entry.
    std::uint16_t streak;         ///< How many entries before that it added without a break.
    std::uint16_t streak_wanted;  ///< How long a streak makes a producer the sole one.
    std::uint32_t timestamps;     ///< 1: the program reads completion times.

    alignas(64) std::atomic<std::uint32_t> arm;  ///< ArmKind, and the arming's number above it.
    /// Not 0 from the first arming on. Until then, a sole producer need not look at `arm`.
    std::atomic<std::uint32_t> ever_armed;
    std::atomic<std::uint32_t> overflowed;
    Owner owner;
    std::uint16_t hca;
    std::uint32_t channel;  ///< Completion channel id; 0: none.
    std::uint32_t async_channel;
    std::uint64_t cookie;  ///< Owner's object, which the channel's events name.

    alignas(64) std::atomic<std::uint32_t> consumed;  ///< Written by the owner when it polls.
};
static_assert(sizeof(CqShared) == 192);

/// The state of CqShared::arm. kArmClaimed means that a producer is about to write the event; it
/// may die before it does. The word's upper bits count the armings, so that a producer that has
/// written the event of one arming does not clear another producer's claim on the next arming.
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

/// A receive request in a ring, apart from its buffers.
struct RecvWqe {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::uint32_t reserved;

    // Atomic, because the thread that polls may be another than the one that posted.
    std::uint64_t load_wr_id() const { return __atomic_load_n(&wr_id, __ATOMIC_RELAXED); }
    void store_wr_id(std::uint64_t value) { __atomic_store_n(&wr_id, value, __ATOMIC_RELAXED); }
};
static_assert(sizeof(RecvWqe) == 16 && sizeof(Sge) == 16);

/// A ring of receive requests: the receive queue of a QP, or a shared receive queue. Its owner
/// writes the line of `tail`, senders that of `head`; neither reads the other's for each request.
///
/// Its slots are two arrays: the buffers of each request (sges_max Sges; a ring with one a request
/// has an empty one for a request without), which is all that a sender reads of most requests, and
/// behind them the RecvWqes.
struct RecvRing {
    std::uint64_t ring_off;
    std::uint32_t mask;
    std::uint32_t sges_max;
    std::uint32_t entries;
    /// Owner number of a sender that found the ring empty and sleeps until a request is posted.
    std::atomic<std::uint32_t> rnr_waiter;
    alignas(64) std::atomic<std::uint32_t> tail;  ///< How many the owner has posted.
    alignas(64) std::atomic<std::uint32_t> head;  ///< How many senders have taken.
    std::atomic<std::uint32_t> lock;  ///< Held by a sender, if several can take (UD, shared queue).
    /// `tail` as senders last read it, which they do only when the ring looks empty.
    std::uint32_t tail_seen;
};

using hca::kSgesMax;

/// A receive request copied out of a ring.
struct TakenRecv {
    std::uint64_t wr_id;
    std::uint32_t num_sge;
    std::uint32_t wqe_index;
    Sge sges[kSgesMax];
};

/// What a sender is doing with a receive request of a ring that several senders take from. If the
/// sender dies, the process that takes over its lock of the ring or of the completion queue notes
/// here how far the sender had come. A request that was not completed then goes back to the ring,
/// exactly once.
struct DeliveryRecord {
    enum State : std::uint32_t {
        kNone = 0,
        kTaking = 1,    ///< It holds the lock of a shared queue; taken if the head has moved.
        kTaken = 2,     ///< It has taken the request from a shared queue.
        kDatagram = 3,  ///< It delivers to the head of a UD ring, and holds that ring's lock.
    };
    std::atomic<std::uint32_t> state;
    std::uint32_t source;  ///< Table index of the shared queue, or (kDatagram) of the queue pair.
    std::uint32_t use;     ///< SrqShared::use, or the QPN.
    /// Table index + 1 of the completion queue that the sender writes to; 0: not yet.
    std::atomic<std::uint32_t> cq;
    std::uint32_t cq_at;  ///< Number of the entry that it writes there.
    TakenRecv request;
};

/// What a datagram queue pair sent to one LID (flows.h).
struct Flow {
    std::atomic<std::uint32_t> dlid;  ///< 0: this entry is free.
    std::uint32_t reserved;
    std::atomic<std::uint64_t> packets;
    std::atomic<std::uint64_t> words;
    std::atomic<std::uint64_t> settled[2];  ///< How much of both is in the port totals.
};

/// A hash table of the further flows of a datagram queue pair (flows.h).
struct FlowTable {
    std::atomic<std::uint32_t> capacity;  ///< A power of two.
    std::uint32_t used;
    // Flow flows[capacity];
    Flow* flows() { return reinterpret_cast<Flow*>(this + 1); }
    static constexpr std::uint64_t bytes(std::uint32_t capacity) {
        return sizeof(FlowTable) + std::uint64_t{capacity} * sizeof(Flow);
    }
};
/// The largest FlowTable: twice the number of LIDs.
inline constexpr std::uint32_t kFlowsMax = 1U << 17;

using hca::QpState;
using hca::QpType;

/// A queue pair.
struct alignas(64) QpShared {
    /// The sender that may deliver here, as rx_word() writes it; 0: none.
    std::atomic<std::uint64_t> rx;
    std::atomic<QpState> state;
    QpType type;
    std::uint8_t path_mtu_code;
    std::uint8_t min_rnr_timer;
    std::uint32_t qpn;
    std::uint32_t pd;
    std::uint32_t access;  ///< What peers may do over this QP: AccessFlags.
    std::uint32_t qkey;
    std::uint32_t recv_cq;  ///< Index into the CQ table.
    std::uint32_t srq;      ///< Table index + 1; 0: it has a receive queue of its own.
    Owner owner;
    std::uint16_t hca;
    std::atomic<std::uint16_t> pkey;
    std::uint16_t pkey_index;
    std::uint32_t xrcd;

    RecvRing rq;

    /// Packets and words of this QP's own requests (xmit) and of the responses to them (rcv). Only
    /// the thread that acts as its NIC writes them. At the port of dest_lid they count the other
    /// way round. They are added to PortTotals when the QP ends (counters.h). UD: see first_flow.
    alignas(64) std::atomic<std::uint64_t> xmit_packets;
    std::atomic<std::uint64_t> xmit_words;
    std::atomic<std::uint64_t> rcv_packets;
    std::atomic<std::uint64_t> rcv_words;
    std::atomic<std::uint32_t> dest_qpn;
    std::atomic<std::uint16_t> dest_lid;
    std::atomic<std::uint16_t> has_flows;  ///< UD: 1 from its first datagram on.
    std::uint64_t cookie;                  ///< Owner's object.
    std::uint64_t event_id;  ///< Its name in asynchronous events, valid also after it is destroyed.
    std::uint32_t async_channel;
    /// Held by the process that settles the counts: the owner when the QP ends, or the daemon.
    std::atomic<std::uint32_t> count_lock;
    /// How much of the four counts above is in the port totals; under count_lock.
    std::uint64_t settled[4];
    std::atomic<std::uint64_t> flows_off;  ///< UD: its FlowTable; 0: none.
    alignas(64) Flow first_flow;           ///< UD: most have one destination, and need no table.
    SendRing sq;                           ///< Packet path only, except sq.cq.
    // As the program set them; rdma_netlink.h reports them.
    std::uint32_t sq_psn;
    std::uint32_t rq_psn;
    std::uint8_t path_mig_state;
};
static_assert(sizeof(QpShared) <= 576);

/// Bits of QpShared::rx, the word that a sender compares before it delivers: one load checks type,
/// state and connection.
constexpr std::uint64_t kRxReady = std::uint64_t{1} << 63;
constexpr std::uint64_t kRxFirst = std::uint64_t{1} << 62;  ///< In RTR, before COMM_EST.
/// Returns the rx word of a queue pair that is connected to this sender.
constexpr std::uint64_t rx_word(QpType type, Qpn sender, Lid sender_lid) {
    return kRxReady | std::uint64_t{static_cast<std::uint8_t>(type)} << 48 |
           std::uint64_t{sender_lid.value} << 32 | sender.value;
}

/// A shared receive queue.
struct alignas(64) SrqShared {
    RecvRing ring;
    alignas(64) std::atomic<std::uint32_t> live;  ///< 1 while receives may be taken.
    std::atomic<std::uint32_t> limit;  ///< Fewer requests raise SRQ_LIMIT_REACHED; 0: disarmed.
    /// How many requests of dead senders went back to the ring.
    std::atomic<std::uint32_t> given_back;
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

}  // namespace softib::shm
