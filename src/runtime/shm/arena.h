// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The arena: one sparse memfd per fabric, made by softibd and mapped whole by every program on it.
//
// Everything a peer must reach to act as this process's NIC lives here: queue pairs, receive
// queues, completion queues, memory keys, the pages of registered memory, and the fabric itself
// (ports, cables, forwarding tables). An address in the arena is an offset, so that it means the
// same in every process; nothing in here is ever a pointer.
//
// Crash rule: a process may be killed at any instruction. Every update therefore has one commit
// point, a single store, and any prefix of a critical section leaves valid data. Ownership of
// table entries and memory is a word per batch or chunk that holds the owner's slot, so that the
// daemon finds and frees what a dead process left.
//
// Reader rule: a thread that uses another process's objects publishes a hazard in its stripe first;
// a thread that destroys an object waits until no hazard of an operation on its process is left
// (grace.h).

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/data_path.h"
#include "core/base/ids.h"
#include "core/base/port_state.h"
#include "core/counters/port_counters.h"
#include "core/hca/qp_attr.h"
#include "core/hca/qp_state.h"
#include "core/hca/vocabulary.h"
#include "runtime/shm/port_lanes.h"

namespace softib::live {

inline constexpr std::uint64_t kArenaMagic = 0x736F667469623031;  // "softib01"
inline constexpr std::uint32_t kArenaVersion = 10;

inline constexpr std::uint32_t kProcsMax = 10240;
inline constexpr std::uint32_t kStripesPerProc = 1024;
inline constexpr std::uint32_t kQpsMax = 1U << 20;
inline constexpr std::uint32_t kMrsMax = 1U << 20;
inline constexpr std::uint32_t kBatchEntries = 64;  ///< Table entries are claimed by batches,
inline constexpr std::uint32_t kCqsMax = kProcsMax * kBatchEntries;  ///< one for each process.
inline constexpr std::uint32_t kSrqsMax = kProcsMax * kBatchEntries;
static_assert(kProcsMax * kBatchEntries <= kQpsMax && kProcsMax * kBatchEntries <= kMrsMax);
inline constexpr std::uint64_t kChunkBytes = 64 * 1024;
inline constexpr std::uint32_t kLftEntries = 0xC000;
inline constexpr std::uint32_t kMftEntries = 0x3FFF;  ///< MLIDs 0xC000 to 0xFFFE.
inline constexpr std::uint32_t kPKeysPerPort = 32;
inline constexpr std::uint32_t kGidsPerPort = 8;
inline constexpr std::uint32_t kMcastGroupsMax = 1024;
inline constexpr std::uint32_t kMcastMembersMax = 240;  ///< QPs attached to one group.
inline constexpr std::uint64_t kPageBytes = 4096;

/// Index of a process slot plus one; 0 means nobody.
using Owner = std::uint16_t;

using hca::LinkLayer;

/// What an HCA has a limited number of, as ibv_query_device says it (limits.h).
enum class ObjectKind : std::uint32_t { kQp, kCq, kMr, kMw, kPd, kSrq, kAh, kDeviceMemory };
inline constexpr std::size_t kObjectKinds = 8;

/// Somebody who watches packets: a ring of records (capture.h) in its memory.
struct CaptureSlot {
    std::atomic<std::uint32_t> owner;  ///< 0: not in use.
    std::uint32_t snap_bytes;          ///< The most bytes captured of each packet.
    std::uint64_t ring_off;
    std::uint64_t ring_bytes;         ///< A power of two.
    std::atomic<std::uint32_t> lock;  ///< Held by the writer: the carrier, or the daemon.
    alignas(64) std::atomic<std::uint64_t> written;
    std::atomic<std::uint64_t> missed;  ///< Packets that found no room.
    alignas(64) std::atomic<std::uint64_t> read;
};
inline constexpr std::uint32_t kCaptures = 8;

struct alignas(64) ArenaHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t lid_max;
    std::uint64_t arena_bytes;
    std::uint64_t instance;  ///< Random; tells two arenas of one fabric name apart.
    char fabric_name[64];
    std::uint32_t hosts;
    std::uint32_t hcas;
    std::uint32_t switches;
    std::uint32_t switch_ports;
    std::uint32_t chunks;
    std::uint32_t daemon_pid;
    std::uint32_t mft_words;  ///< Words of 64 ports each, for the switch with the most ports.
    std::uint32_t ports_per_switch_max;  ///< Port 0 included.
    DataPath data_path;
    LinkLayer link_layer;  ///< The link layer of all ports.

    // Offsets of the tables below.
    std::uint64_t procs_off;
    std::uint64_t hosts_off;
    std::uint64_t hcas_off;
    std::uint64_t switches_off;
    std::uint64_t switch_ports_off;
    std::uint64_t lfts_off;  ///< kLftEntries bytes per switch.
    std::uint64_t mfts_off;  ///< kMftEntries x switches x mft_words.
    std::uint64_t lanes_off;
    std::uint64_t injections_off;  ///< A PortLanes per HCA, and then per switch port.
    std::uint64_t adaptive_off;    ///< One per switch.
    std::uint64_t sl_rows_off;     ///< One per HCA; then per switch port ports_per_switch_max.
    std::uint64_t lid_owner_off;   ///< kLftEntries x NodeRef.
    std::uint64_t mcast_off;
    std::uint64_t qps_off;
    std::uint64_t mrs_off;
    std::uint64_t cqs_off;
    std::uint64_t srqs_off;
    std::uint64_t qp_batches_off;
    std::uint64_t qp_used_off;  ///< A bit per queue pair: one word per batch.
    std::uint64_t mr_batches_off;
    std::uint64_t cq_batches_off;
    std::uint64_t srq_batches_off;
    std::uint64_t chunk_owner_off;
    std::uint64_t bells_off;
    std::uint64_t chunks_off;

    /// Bumped after every change of a forwarding table, port state, LID or P_Key: cached paths
    /// older than this are walked anew.
    alignas(64) std::atomic<std::uint64_t> route_generation;
    std::atomic<std::uint64_t> key_violations;  ///< At all HCAs together.
    /// Bumped after every change of a multicast group.
    std::atomic<std::uint64_t> mcast_generation;
    /// MLIDs from this entry on were never in any switch's table.
    std::atomic<std::uint32_t> mft_top;
    /// Batches of queue pairs from this one on were never used.
    std::atomic<std::uint32_t> qp_batches_top;
    /// Bumped when a process has ended, before what it had is taken apart.
    std::atomic<std::uint64_t> death_generation;
    /// Bumped when a region that peers map is gone: they give up their mappings of it.
    std::atomic<std::uint64_t> pieces_generation;
    /// Process slots from this one on were never used.
    std::atomic<std::uint32_t> procs_top;
    /// The most objects of each ObjectKind that one HCA has.
    std::atomic<std::uint32_t> object_limits[kObjectKinds];

    // The packet path (packet_queue.h).
    alignas(64) std::atomic<std::uint32_t> carrier;  ///< The carrier's name in locks; 0: none yet.
    std::atomic<std::uint32_t> carrier_sleeping;
    std::atomic<std::uint32_t> carrier_doorbell;  ///< Futex word.
    std::atomic<std::uint32_t> counts_asked;  ///< The carrier brings the port totals up to date,
    std::atomic<std::uint32_t> counts_given;  ///< and then makes these two equal.
    CaptureSlot captures[kCaptures];
};

struct HostRecord {
    char name[56];
    std::uint32_t hca_first;
    std::uint32_t hca_count;
};

/// What a cable or a LID leads to.
struct NodeRef {
    enum Kind : std::uint32_t { kNone = 0, kHca = 1, kSwitch = 2 };
    std::uint32_t kind;
    std::uint32_t index;  ///< Into the HCA or the switch table.
};

/// What a port counted, as far as it was settled. What living QPs did since stands in the QPs
/// themselves, so that the data path never touches a shared counter (counters.h).
using PortTotals = counters::PortCounterSet<std::atomic<std::uint64_t>>;

/// What a cable does to the packets that a port sends into it. Packet path only.
struct LinkFaults {
    std::atomic<std::uint32_t> lost_ppm;
    std::atomic<std::uint32_t> broken_ppm;
    std::atomic<std::uint32_t> delay_ns;   ///< Beside that of the cable itself.
    std::atomic<std::uint32_t> rate_mbps;  ///< 0: what its generation says.
};

struct alignas(64) HcaRecord {
    char name[64];  ///< Device name on its host: "mlx5_0".
    std::uint32_t host;
    std::uint32_t index_on_host;
    std::uint64_t node_guid;
    std::uint64_t system_image_guid;
    std::uint64_t port_guid;
    std::uint32_t peer_switch;
    std::uint8_t peer_port;
    std::uint8_t generation;  ///< topo::Generation
    std::atomic<PortState> state;
    std::uint8_t lmc;
    std::atomic<std::uint16_t> lid;
    std::uint16_t sm_lid;
    std::uint8_t sm_sl;
    std::uint8_t mtu_code;  ///< The port's MTU, as in ibv_mtu.
    std::atomic<std::uint16_t> pkeys[kPKeysPerPort];
    std::uint64_t gid_prefix;
    std::atomic<std::uint64_t> alias_guids[kGidsPerPort];  ///< 0: none. The first is not used.
    std::uint32_t capability_mask;                         ///< PortInfo's.
    Gid ip_gid;  ///< Ethernet: the port's IP address and only GID. All zero: InfiniBand.
    std::uint32_t net_interface;      ///< Ethernet: the index of the network interface that has it,
    char net_name[16];                ///< and its name.
    std::atomic<std::uint32_t> taps;  ///< Captures that see what comes in.
    LinkFaults faults;
    PortTotals totals;
    /// Objects of each ObjectKind that all processes have together.
    alignas(64) std::atomic<std::int64_t> objects[kObjectKinds];
};

/// All zero where the port has none at this index.
inline Gid gid_at(const HcaRecord& hca, std::uint32_t index) {
    if (hca.ip_gid != Gid{}) {
        return index == 0 ? hca.ip_gid : Gid{};
    }
    const std::uint64_t guid = index == 0 ? hca.port_guid
                               : index < kGidsPerPort
                                   ? hca.alias_guids[index].load(std::memory_order_relaxed)
                                   : 0;
    return guid == 0 ? Gid{} : Gid::from(hca.gid_prefix, Guid{guid});
}

/// Which packets a switch port compares with its P_Keys.
enum EnforcementBits : std::uint8_t { kEnforceInbound = 1, kEnforceOutbound = 2 };

struct SwitchPortRecord {
    NodeRef peer;
    std::uint8_t peer_port;
    std::uint8_t generation;
    std::atomic<PortState> state;
    std::atomic<std::uint8_t> enforcement;  ///< EnforcementBits.
    std::atomic<std::uint16_t> pkeys[kPKeysPerPort];
    std::atomic<std::uint32_t> taps;  ///< Captures that see what comes in.
    LinkFaults faults;
    PortTotals totals;
};

struct SwitchRecord {
    char name[48];
    std::uint64_t node_guid;
    std::uint32_t port_first;  ///< Into the switch port table; port 0 included.
    std::uint16_t port_count;  ///< Port 0 included.
    std::atomic<std::uint16_t> lid;
};

/// A sender holds its stripe's lock while it is the NIC for one of its queue pairs.
struct alignas(64) Stripe {
    /// Process-local spin lock; lives here so that lock and hazard share a cache line.
    std::atomic<std::uint32_t> lock;
    std::uint32_t reserved;
    /// 0: no operation under way; else kHazardBusy | owner of the target.
    std::atomic<std::uint64_t> hazard;
    /// The stripe's DeliveryRecord; 0 until it first delivers from a queue with several takers.
    std::atomic<std::uint64_t> delivery_off;
};
inline constexpr std::uint64_t kHazardBusy = std::uint64_t{1} << 32;
inline constexpr std::uint16_t kHazardAnyOwner = 0xFFFF;

enum class ProcState : std::uint32_t { kFree = 0, kAttaching = 1, kLive = 2, kDead = 3 };

enum class Tier : std::uint8_t { kShared = 1, kCopy = 2, kHelper = 3, kGpu = 4, kMapped = 5 };
inline constexpr std::size_t kTierEnd = 6;

/// A request to the target's helper thread (tier 3, and atomics on memory that is not shared).
struct ServiceCall {
    enum State : std::uint32_t {
        kIdle = 0,
        kClaimed = 1,
        kPosted = 2,
        kRunning = 3,
        kDone = 4,
        kAbandoned = 5,  ///< Runs, but its caller has given up: the helper frees the entry.
    };
    static constexpr unsigned kStateShift = 32;
    enum Op : std::uint32_t { kRead = 1, kWrite = 2, kFetchAdd = 3, kCompareSwap = 4 };
    /// LockWord of the caller and, above it, the State: one word, so that an entry never belongs
    /// to nobody while its caller lives.
    std::atomic<std::uint64_t> state;
    std::uint32_t op;
    std::uint32_t status;   ///< 0 or an errno value.
    std::uint64_t address;  ///< In the target's address space.
    std::uint64_t length;
    std::uint64_t bounce_off;
    std::uint64_t operand[2];
    std::uint64_t result;
};
inline constexpr std::uint32_t kServiceCalls = 16;

/// What a process asks of the carrier, one at a time.
struct CarrierCall {
    enum State : std::uint32_t { kIdle = 0, kPosted = 1, kDone = 2 };
    enum Op : std::uint32_t {
        kCreateQp = 1,
        kModifyQp = 2,
        kDestroyQp = 3,
        kCreateSrq = 4,
        kLimitSrq = 5,
        kDestroySrq = 6,
    };
    std::atomic<std::uint32_t> state;  ///< Futex word.
    Op op;
    std::uint32_t index;  ///< Index of the queue pair or shared receive queue.
    std::uint32_t mask;   ///< kModifyQp
    std::int32_t status;  ///< 0 or an errno value.
    hca::QpAttr attr;
};
inline constexpr std::uint32_t kAsyncChannels = 128;  ///< Open contexts of one process.
inline constexpr std::uint32_t kDevicesPerProc = 256;

/// What one process has of an HCA's objects, so that the HCA gets back what a dead process had.
struct HeldObjects {
    std::uint32_t hca;
    std::atomic<std::uint32_t> count[kObjectKinds];
};

enum AttentionBits : std::uint32_t {
    kAttentionPeer = 1,   ///< A queue pair was moved to error, or a service call posted.
    kAttentionDeath = 2,  ///< A process died while it worked on our objects.
};

struct alignas(4096) ProcSlot {
    std::atomic<ProcState> state;
    std::uint32_t pid;
    std::uint64_t pid_namespace;
    std::uint64_t instance;  ///< Counts uses of this slot.
    std::uint32_t host_first;
    std::uint32_t uid;
    char command[32];
    std::atomic<std::uint64_t> bytes_by_tier[kTierEnd];  ///< Index is the Tier.
    std::atomic<std::uint32_t> regions_by_tier[kTierEnd];
    std::atomic<std::uint32_t> stripes_used;  ///< Stripes at and above this were never used.
    std::atomic<std::uint32_t> helper_ready;  ///< The helper thread serves calls.
    /// Odd while pages are being swapped for shared ones: a copy by address may not find them.
    std::atomic<std::uint32_t> page_swaps;
    std::atomic<std::uint32_t> peer_mappings;  ///< Mappings of peers' memory (mappings.h).

    /// Futex word: peers add 1 and wake when the owner has something to look at.
    alignas(64) std::atomic<std::uint32_t> doorbell;
    std::atomic<std::uint32_t> helper_sleeping;
    /// AttentionBits, set by peers and the daemon, cleared by the owner's progress.
    alignas(64) std::atomic<std::uint32_t> attention;

    /// Asynchronous event channels of the open contexts, for events of a port.
    struct AsyncChannel {
        std::atomic<std::uint32_t> channel;  ///< 0: entry is free.
        std::uint32_t hca;
    } async_channels[kAsyncChannels];
    HeldObjects held[kDevicesPerProc];  ///< In the order of the process's devices.

    ServiceCall calls[kServiceCalls];
    CarrierCall carrier_call;
    Stripe stripes[kStripesPerProc];
};

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
    std::atomic<std::uint64_t> settled[2];  ///< The part of both that the ports already have.
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

/// Send requests on their way to the carrier: slots of a PostedSend each (packet_queue.h).
struct SendRing {
    std::uint64_t ring_off;  ///< 0: none.
    std::uint32_t stride_bytes;
    std::uint32_t mask;
    std::uint32_t entries;
    std::uint32_t sges_max;
    std::uint32_t inline_max;
    std::uint32_t cq;  ///< Index into the CQ table.
    std::uint32_t signal_all;
    std::atomic<std::uint32_t> tail;  ///< Owner: posted.
};

struct alignas(64) QpShared {
    /// The sender that may deliver here, in one word: see rx_word(). 0: nobody.
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
    /// Held by the process that settles counts to the ports: the owner when it ends, the daemon
    /// before a route changes.
    std::atomic<std::uint32_t> count_lock;
    /// The part of the four counts above that the ports already have; under count_lock.
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

using hca::AccessFlags;
using hca::is_window;
using hca::KeyKind;
using enum hca::AccessFlags;

/// A stretch of a region that is not covered by its main extent.
struct Extent {
    std::uint64_t begin;  ///< Same space as MrShared::iova.
    std::uint64_t end;
    std::uint64_t arena_off;
};

/// A stretch of a region that a peer maps before it can reach it, and how: GPU memory of one
/// allocation (gpu/exports.h), or one shared mapping of the owner (shared_memory.h).
struct PeerPiece {
    enum Kind : std::uint32_t {
        kOwnerOnly = 0,  ///< Not at all: the owner's helper reaches it.
        kIpcHandle = 1,  ///< By `handle`, which any process may open.
        kDescriptor =
            2,           ///< By the owner's descriptor `descriptor`, an export of the GPU's driver.
        kFile = 3,       ///< The host's: that descriptor is of a file, from `file_offset` on,
        kNamedFile = 4,  ///< likewise, and its owner can cut it short.
    };
    std::uint64_t begin;  ///< Owner's addresses.
    std::uint64_t end;
    std::uint64_t base;        ///< Where the allocation or mapping begins,
    std::uint64_t bytes;       ///< and its length.
    std::uint64_t number;      ///< Its number: no two of a process and kind are the same.
    std::uint32_t region;      ///< Index of the region's key,
    std::uint32_t generation;  ///< and its generation.
    Kind kind;
    std::int32_t descriptor;
    std::uint8_t device[16];  ///< UUID of the GPU.
    char handle[64];
    std::uint64_t file_offset;
};

/// A memory key: region or window. The first line decides the common case.
struct alignas(64) MrShared {
    std::atomic<std::uint32_t> key;  ///< 0: not valid.
    std::uint32_t access;
    std::uint32_t pd;
    Owner owner;
    KeyKind kind;
    Tier rest_tier;  ///< How to reach what is in no shared extent.
    std::uint64_t iova;
    std::uint64_t length;
    std::uint64_t ext_begin;  ///< Main extent: [ext_begin, ext_end) at arena offset ext_off.
    std::uint64_t ext_end;
    std::uint64_t ext_off;
    std::uint64_t va_delta;  ///< Owner's virtual address = addr + va_delta.

    std::uint64_t extents_off;
    std::uint32_t extents;
    std::uint32_t qpn;     ///< Type 2 window: the QP it is bound to.
    std::uint32_t parent;  ///< Window: index of its region.
    std::uint32_t next_key_variant;
    std::uint32_t hca;
    /// Region: changes with every registration. Window: that of its region when it was bound.
    std::atomic<std::uint32_t> generation;
    std::uint64_t pieces_off;  ///< Tier::kGpu and kMapped: its PeerPieces.
    std::uint32_t pieces;
};
static_assert(sizeof(MrShared) == 128);

struct McastGroup {
    std::atomic<std::uint32_t> seq;  ///< Odd while the daemon writes.
    std::uint16_t mlid;
    std::uint16_t members;
    std::uint8_t mgid[16];
    std::uint32_t qpns[kMcastMembersMax];
};

/// The doorbells of the carrier: a bit per process, and a bit per queue pair with two levels of
/// summary above it.
struct Bells {
    static constexpr std::uint32_t kWords = kQpsMax / 64;
    alignas(64) std::atomic<std::uint64_t> calls[kProcsMax / 64];
    alignas(64) std::atomic<std::uint64_t> top[kWords / 64 / 64];
    alignas(64) std::atomic<std::uint64_t> middle[kWords / 64];
    alignas(64) std::atomic<std::uint64_t> qps[kWords];
};

/// The mapped arena, seen from one process: typed bases next to each other.
struct Arena {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    int fd = -1;
    Owner self = 0;  ///< This process's slot; 0 for the daemon and observers.
    bool writable = false;

    ArenaHeader* header = nullptr;
    ProcSlot* procs = nullptr;
    HostRecord* hosts = nullptr;
    HcaRecord* hcas = nullptr;
    SwitchRecord* switches = nullptr;
    SwitchPortRecord* switch_ports = nullptr;
    std::atomic<std::uint8_t>* lfts = nullptr;
    std::atomic<std::uint64_t>* mfts = nullptr;
    PortLanes* lanes = nullptr;
    Injection* injections = nullptr;     ///< By HCA; on the packet path only, as lanes are.
    AdaptiveRecord* adaptive = nullptr;  ///< By switch; on the packet path only.
    SlRow* sl_rows = nullptr;
    NodeRef* lid_owner = nullptr;
    McastGroup* mcast = nullptr;
    QpShared* qps = nullptr;
    MrShared* mrs = nullptr;
    CqShared* cqs = nullptr;
    SrqShared* srqs = nullptr;
    std::atomic<Owner>* qp_batches = nullptr;
    std::atomic<std::uint64_t>* qp_used = nullptr;
    std::atomic<Owner>* mr_batches = nullptr;
    std::atomic<Owner>* cq_batches = nullptr;
    std::atomic<Owner>* srq_batches = nullptr;
    std::atomic<Owner>* chunk_owner = nullptr;
    Bells* bells = nullptr;

    template <typename T>
    T* at(std::uint64_t off) const {
        return reinterpret_cast<T*>(base + off);
    }
    std::atomic<std::uint8_t>& lft(std::uint32_t sw, Lid dlid) const {
        return lfts[std::size_t{sw} * kLftEntries + dlid.value];
    }
    /// By MLID first, so that a group takes memory only for itself: pages that nobody wrote are not
    /// there, and mft_ports() does not make them by looking.
    std::atomic<std::uint64_t>& mft(std::uint32_t sw, std::uint32_t entry,
                                    std::uint32_t word) const {
        return mfts[(std::size_t{entry} * header->switches + sw) * header->mft_words + word];
    }
    /// Ports 64 * word and up to which a switch forwards this MLID, a bit each.
    std::uint64_t mft_ports(std::uint32_t sw, Lid mlid, std::uint32_t word) const {
        const std::uint32_t entry = std::uint32_t{mlid.value} - kLidMulticastMin.value;
        return entry < header->mft_top.load(std::memory_order_relaxed)
                   ? mft(sw, entry, word).load(std::memory_order_relaxed)
                   : 0;
    }
    PortLanes& hca_lanes(std::uint32_t hca) const { return lanes[hca]; }
    /// By index into the switch port table.
    PortLanes& switch_lanes(std::uint32_t port) const { return lanes[header->hcas + port]; }
    SlRow& hca_sl_row(std::uint32_t hca) const { return sl_rows[hca]; }
    /// For packets that came in by this port of the switch, and go out by that one.
    SlRow& switch_sl_row(std::uint32_t port, std::uint32_t in) const {
        return sl_rows[header->hcas + std::size_t{port} * header->ports_per_switch_max + in];
    }
    ProcSlot& proc(Owner owner) const { return procs[owner - 1]; }
};

/// Process slots that were ever used: whoever looks for processes looks no further, since looking
/// makes the pages of a slot.
inline std::uint32_t procs_used(const Arena& arena) {
    return arena.header->procs_top.load(std::memory_order_acquire);
}

/// Room for all memory of the machine: a power of two, at least 32 GiB (more than valgrind can
/// map).
std::uint64_t arena_bytes_default();

/// Sizes of the variable tables; all others follow from the constants above.
struct ArenaSizes {
    std::uint64_t arena_bytes = arena_bytes_default();
    std::uint32_t hosts = 0;
    std::uint32_t hcas = 0;
    std::uint32_t switches = 0;
    std::uint32_t switch_ports = 0;
    std::uint32_t ports_per_switch_max = 255;  ///< Port 0 included.
    DataPath data_path = DataPath::kDirect;
    LinkLayer link_layer = LinkLayer::kInfiniBand;
};

/// Makes the memfd, maps it and lays the tables out; everything in them is zero. Returns an arena
/// with base == nullptr and errno set on failure.
Arena arena_create(const char* fabric_name, const ArenaSizes& sizes);

/// Maps an existing arena. Checks magic, version and size; on failure base is nullptr and errno
/// is set (EPROTO: made by another version of softib; ENOMEM: no room in the address space).
Arena arena_map(int fd, bool writable);

void arena_unmap(Arena& arena);

}  // namespace softib::live
