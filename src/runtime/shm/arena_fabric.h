// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric in the arena: hosts, HCAs, switches, their ports and counters, multicast groups. Part
// of arena.h.

#include <atomic>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/port_state.h"
#include "core/counters/port_counters.h"
#include "runtime/shm/arena_constants.h"

namespace softib::live {

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
    std::uint8_t mtu_code;  ///< Of the port, as in ibv_mtu.
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
    /// Of each ObjectKind, what all processes have together.
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
    /// What its aggregation node counted, in the order of wire::SharpPerformanceCounters.
    std::atomic<std::uint64_t> aggregation[kAggregationCounters];
};

struct McastGroup {
    std::atomic<std::uint32_t> seq;  ///< Odd while the daemon writes.
    std::uint16_t mlid;
    std::uint16_t members;
    std::uint8_t mgid[16];
    std::uint32_t qpns[kMcastMembersMax];
};

}  // namespace softib::live
