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

namespace softib::shm {

struct HostRecord {
    char name[56];
    std::uint32_t hca_first;
    std::uint32_t hca_count;
};

/// What a cable or a LID leads to.
struct NodeRef {
    enum Kind : std::uint32_t { kNone = 0, kHca = 1, kSwitch = 2 };
    std::uint32_t kind;
    std::uint32_t index;  ///< Index into the HCA or the switch table.
};

/// The settled counters of a port (counters.h). What queue pairs have counted since is in the queue
/// pairs themselves, so that the data path never writes a shared counter.
using PortTotals = counters::PortCounterSet<std::atomic<std::uint64_t>>;

/// The faults of a cable, for the packets that a port sends into it. Packet path only.
struct LinkFaults {
    std::atomic<std::uint32_t> lost_ppm;
    std::atomic<std::uint32_t> broken_ppm;
    std::atomic<std::uint32_t> delay_ns;   ///< In addition to the delay of the cable itself.
    std::atomic<std::uint32_t> rate_mbps;  ///< 0: the rate of the port's generation.
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
    std::uint8_t mtu_code;  ///< MTU of the port, as in ibv_mtu.
    std::atomic<std::uint16_t> pkeys[kPKeysPerPort];
    std::uint64_t gid_prefix;
    std::atomic<std::uint64_t> alias_guids[kGidsPerPort];  ///< 0: none. Entry 0 is not used.
    std::uint32_t capability_mask;                         ///< PortInfo.CapabilityMask
    Gid ip_gid;  ///< Ethernet: the port's IP address and only GID. All zero: InfiniBand.
    std::uint32_t net_interface;  ///< Ethernet: index of the network interface with that address.
    char net_name[16];            ///< Ethernet: name of that network interface.
    std::atomic<std::uint32_t> taps;  ///< A bit for each capture that sees arriving packets.
    LinkFaults faults;
    PortTotals totals;
    /// How many objects of each ObjectKind all processes together have.
    alignas(64) std::atomic<std::int64_t> objects[kObjectKinds];
};

/// Returns the GID at an index of the port's table; all zero if there is none.
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

/// The directions in which a switch port checks packets against its P_Keys.
enum EnforcementBits : std::uint8_t { kEnforceInbound = 1, kEnforceOutbound = 2 };

struct SwitchPortRecord {
    NodeRef peer;
    std::uint8_t peer_port;
    std::uint8_t generation;
    std::atomic<PortState> state;
    std::atomic<std::uint8_t> enforcement;  ///< EnforcementBits.
    std::atomic<std::uint16_t> pkeys[kPKeysPerPort];
    std::atomic<std::uint32_t> taps;  ///< A bit for each capture that sees arriving packets.
    LinkFaults faults;
    PortTotals totals;
};

struct SwitchRecord {
    char name[48];
    std::uint64_t node_guid;
    std::uint32_t port_first;  ///< Index of port 0 in the switch port table.
    std::uint16_t port_count;  ///< Number of ports, port 0 included.
    std::atomic<std::uint16_t> lid;
    /// Counters of its aggregation node, in the order of wire::SharpPerformanceCounters.
    std::atomic<std::uint64_t> aggregation[kAggregationCounters];
};

/// The queue pairs that are attached to one multicast group.
struct McastGroup {
    std::atomic<std::uint32_t> seq;  ///< Odd while the daemon writes the group.
    std::uint16_t mlid;
    std::uint16_t members;
    std::uint8_t mgid[16];
    std::uint32_t qpns[kMcastMembersMax];
};

}  // namespace softib::shm
