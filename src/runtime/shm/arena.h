// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The arena: one sparse memfd per fabric, made by softibd and mapped whole by every program on it.
//
// It holds everything that a peer must reach to act as a process's NIC: queue pairs, receive
// queues, completion queues, memory keys, the pages of registered memory, and the fabric itself
// (ports, cables, forwarding tables). An address in the arena is an offset, so that it means the
// same in every process; the arena holds no pointers that another process follows.
//
// Crash rule: a process may be killed at any instruction. Every update therefore has one commit
// point, a single store, and a critical section that stops anywhere leaves valid data. A word for
// each batch of table entries and each chunk of memory holds the owner's slot, so that the daemon
// finds and frees what a dead process left.
//
// Reader rule: a process that uses another process's objects first publishes a hazard in its
// stripe. A process that destroys an object waits until no hazard of an operation on the object's
// process is left (grace.h).

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/data_path.h"
#include "core/base/ids.h"
#include "runtime/shm/arena_constants.h"
#include "runtime/shm/arena_fabric.h"
#include "runtime/shm/arena_memory.h"
#include "runtime/shm/arena_packet.h"
#include "runtime/shm/arena_process.h"
#include "runtime/shm/arena_queues.h"
#include "runtime/shm/port_lanes.h"

namespace softib::shm {

inline constexpr std::uint64_t kArenaMagic = 0x736F667469623031;  // "softib01"
inline constexpr std::uint32_t kArenaVersion = 15;

/// The start of the arena.
struct alignas(64) ArenaHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t lid_max;  ///< The largest unicast LID that was ever given.
    std::uint64_t arena_bytes;
    std::uint64_t instance;  ///< Random; tells two arenas of one fabric name apart.
    char fabric_name[64];
    std::uint32_t hosts;
    std::uint32_t hcas;
    std::uint32_t switches;
    std::uint32_t switch_ports;
    std::uint32_t chunks;
    std::uint32_t daemon_pid;
    std::uint32_t mft_words;             ///< Words of 64 ports in an entry of a multicast table.
    std::uint32_t ports_per_switch_max;  ///< Port 0 included.
    DataPath data_path;
    LinkLayer link_layer;  ///< Link layer of all ports.

    // Offsets of the tables.
    std::uint64_t procs_off;
    std::uint64_t hosts_off;
    std::uint64_t hcas_off;
    std::uint64_t switches_off;
    std::uint64_t switch_ports_off;
    std::uint64_t lfts_off;        ///< kLftEntries bytes for each switch.
    std::uint64_t mfts_off;        ///< kMftEntries x switches x mft_words.
    std::uint64_t lanes_off;       ///< A PortLanes for each HCA, and then for each switch port.
    std::uint64_t adaptive_off;    ///< An AdaptiveRecord for each switch.
    std::uint64_t injections_off;  ///< An Injection for each HCA.
    /// A SlRow for each HCA, and then ports_per_switch_max of them for each switch port.
    std::uint64_t sl_rows_off;
    std::uint64_t lid_owner_off;  ///< A NodeRef for each unicast LID.
    std::uint64_t mcast_off;
    std::uint64_t qps_off;
    std::uint64_t mrs_off;
    std::uint64_t cqs_off;
    std::uint64_t srqs_off;
    std::uint64_t qp_batches_off;
    std::uint64_t qp_used_off;  ///< A bit for each queue pair: one word for each batch.
    std::uint64_t mr_batches_off;
    std::uint64_t cq_batches_off;
    std::uint64_t srq_batches_off;
    std::uint64_t chunk_owner_off;
    std::uint64_t bells_off;
    std::uint64_t chunks_off;

    /// Grows after every change of a forwarding table, port state, LID or P_Key. A sender walks a
    /// cached path again if the path has an older generation.
    alignas(64) std::atomic<std::uint64_t> route_generation;
    std::atomic<std::uint64_t> key_violations;  ///< Key violations at all HCAs together.
    /// Grows after every change of a multicast group.
    std::atomic<std::uint64_t> mcast_generation;
    /// Entries of the multicast forwarding tables from this one on were never written.
    std::atomic<std::uint32_t> mft_top;
    /// Batches of queue pairs from this one on were never in use.
    std::atomic<std::uint32_t> qp_batches_top;
    /// Grows when a process has ended, before the daemon frees what it had.
    std::atomic<std::uint64_t> death_generation;
    /// Grows when a region that peers map is gone: the peers then unmap it.
    std::atomic<std::uint64_t> pieces_generation;
    /// Process slots from this one on were never in use.
    std::atomic<std::uint32_t> procs_top;
    /// The most objects of each ObjectKind that an HCA can have.
    std::atomic<std::uint32_t> object_limits[kObjectKinds];

    // The packet path (packet_queue.h).
    alignas(64) std::atomic<std::uint32_t> carrier;  ///< The carrier's name in locks; 0: none yet.
    std::atomic<std::uint32_t> carrier_sleeping;
    std::atomic<std::uint32_t> carrier_doorbell;  ///< Futex word.
    /// Number of requests to bring the port totals up to date (ask_for_counts()).
    std::atomic<std::uint32_t> counts_asked;
    /// The value of counts_asked up to which the carrier has done so.
    std::atomic<std::uint32_t> counts_given;
    /// Grows after every change of aggregation nodes and SHARP groups.
    std::atomic<std::uint64_t> sharp_generation;
    CaptureSlot captures[kCaptures];
};

/// The arena as one process has mapped it, with a pointer to each table.
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
    Injection* injections = nullptr;     ///< One for each HCA; packet path only, as `lanes`.
    AdaptiveRecord* adaptive = nullptr;  ///< One for each switch; packet path only.
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

    /// Returns what is at an offset.
    template <typename T>
    T* at(std::uint64_t off) const {
        return reinterpret_cast<T*>(base + off);
    }
    /// Returns a switch's output port for a LID.
    std::atomic<std::uint8_t>& lft(std::uint32_t sw, Lid dlid) const {
        return lfts[std::size_t{sw} * kLftEntries + dlid.value];
    }
    /// Returns a word of the multicast forwarding tables. They are sorted by MLID first, so that a
    /// group takes memory only for itself: pages that no process wrote do not exist, and
    /// mft_ports() does not create them by reading.
    std::atomic<std::uint64_t>& mft(std::uint32_t sw, std::uint32_t entry,
                                    std::uint32_t word) const {
        return mfts[(std::size_t{entry} * header->switches + sw) * header->mft_words + word];
    }
    /// Returns the ports, of the 64 from 64 * word on, to which a switch forwards this MLID, a bit
    /// each.
    std::uint64_t mft_ports(std::uint32_t sw, Lid mlid, std::uint32_t word) const {
        const std::uint32_t entry = std::uint32_t{mlid.value} - kLidMulticastMin.value;
        return entry < header->mft_top.load(std::memory_order_relaxed)
                   ? mft(sw, entry, word).load(std::memory_order_relaxed)
                   : 0;
    }
    PortLanes& hca_lanes(std::uint32_t hca) const { return lanes[hca]; }
    /// Returns the lanes of the port at this index of the switch port table.
    PortLanes& switch_lanes(std::uint32_t port) const { return lanes[header->hcas + port]; }
    SlRow& hca_sl_row(std::uint32_t hca) const { return sl_rows[hca]; }
    /// Returns the SLtoVL row for packets that came in by port number `in` of the switch and go out
    /// by `port`, an index into the switch port table.
    SlRow& switch_sl_row(std::uint32_t port, std::uint32_t in) const {
        return sl_rows[header->hcas + std::size_t{port} * header->ports_per_switch_max + in];
    }
    ProcSlot& proc(Owner owner) const { return procs[owner - 1]; }
};

/// Returns how many process slots were ever in use. A loop over processes stops there, since
/// reading a slot creates its pages. At most kProcsMax, since any process can write to the arena.
inline std::uint32_t procs_used(const Arena& arena) {
    return std::min(arena.header->procs_top.load(std::memory_order_acquire), kProcsMax);
}

/// Returns the default size of an arena: room for all memory of the machine, a power of two, at
/// least 32 GiB. That is more than valgrind can map.
std::uint64_t arena_bytes_default();

/// Sizes of the tables that depend on the fabric; the others are in arena_constants.h.
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

/// Makes the memfd, maps it and lays out the tables, in which everything is zero. On failure
/// returns an arena with base == nullptr, and sets errno.
Arena arena_create(const char* fabric_name, const ArenaSizes& sizes);

/// Maps an existing arena. Checks magic, version and size. On failure returns an arena whose base
/// is nullptr, and sets errno (EPROTO: another version of softib made the arena; ENOMEM: no room in
/// the address space).
Arena arena_map(int fd, bool writable);

void arena_unmap(Arena& arena);

}  // namespace softib::shm
