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
// Reader rule: whoever uses another process's objects publishes a hazard in its stripe first; who
// destroys an object waits until no hazard of an operation on its process is left (grace.h).

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

namespace softib::live {

inline constexpr std::uint64_t kArenaMagic = 0x736F667469623031;  // "softib01"
inline constexpr std::uint32_t kArenaVersion = 12;

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
    std::uint32_t mft_words;             ///< Of 64 ports each, for the switch with the most ports.
    std::uint32_t ports_per_switch_max;  ///< Port 0 included.
    DataPath data_path;
    LinkLayer link_layer;  ///< Of all ports.

    // Offsets of the tables below.
    std::uint64_t procs_off;
    std::uint64_t hosts_off;
    std::uint64_t hcas_off;
    std::uint64_t switches_off;
    std::uint64_t switch_ports_off;
    std::uint64_t lfts_off;  ///< kLftEntries bytes per switch.
    std::uint64_t mfts_off;  ///< kMftEntries x switches x mft_words.
    std::uint64_t lanes_off;
    std::uint64_t adaptive_off;    ///< One per switch.
    std::uint64_t injections_off;  ///< A PortLanes per HCA, and then per switch port.
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
    /// Of each ObjectKind, what one HCA has at most.
    std::atomic<std::uint32_t> object_limits[kObjectKinds];

    // The packet path (packet_queue.h).
    alignas(64) std::atomic<std::uint32_t> carrier;  ///< The carrier's name in locks; 0: none yet.
    std::atomic<std::uint32_t> carrier_sleeping;
    std::atomic<std::uint32_t> carrier_doorbell;  ///< Futex word.
    std::atomic<std::uint32_t> counts_asked;  ///< The carrier brings the port totals up to date,
    std::atomic<std::uint32_t> counts_given;  ///< and then makes these two equal.
    /// Bumped after every change of aggregation nodes and SHARP groups.
    std::atomic<std::uint64_t> sharp_generation;
    CaptureSlot captures[kCaptures];
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
