// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A node as its managers see it: what it is, what was written into it, and what it answers to SMPs.
// One class serves for HCAs and switches, since one set of attributes describes both (IBA vol. 1,
// chapter 14). A node moves no packets: a mesh (mesh.h) or a simulated link does, and calls
// receive_smp() when an SMP has arrived for this node.
//
// The tables here are the ones that the subnet manager wrote. The code that moves data by them
// learns of every write from poll_update().

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/agent/cc_agent.h"
#include "core/agent/plane_update.h"
#include "core/base/ids.h"
#include "core/link/port_state.h"
#include "core/mad/packet.h"
#include "core/sharp/aggregation_tables.h"
#include "core/switch/adaptive_table.h"
#include "core/switch/forward.h"
#include "core/switch/lifetime.h"
#include "core/wire/mad/notice.h"
#include "core/wire/sm/adaptive_routing.h"
#include "core/wire/sm/node_info.h"
#include "core/wire/sm/p_key_table.h"
#include "core/wire/sm/port_info.h"
#include "core/wire/sm/smp.h"
#include "core/wire/sm/switch_info.h"

namespace softib::agent {

inline constexpr std::size_t kLftBlock = 64;
inline constexpr std::size_t kMftBlock = 32;
inline constexpr std::size_t kMftPortsPerPosition = 16;
using wire::kPKeyBlock;
inline constexpr std::size_t kGuidBlock = 8;

/// The width and speeds of a port, by its cable and its hardware.
struct PortSpec {
    Guid guid;
    std::uint8_t width = 2;            ///< PortInfo's code: 1 is 1X, 2 is 4X.
    std::uint8_t width_supported = 3;  ///< LinkWidthSupported: a sum of codes of widths.
    std::uint8_t speed = 4;            ///< LinkSpeed: 1 SDR, 2 DDR, 4 QDR.
    std::uint8_t speed_ext = 0;        ///< LinkSpeedExt: 1 FDR, 2 EDR, 4 HDR, 8 NDR; 0: none.
    std::uint8_t speed_ext2 = 0;       ///< LinkSpeedExt2: 1 XDR, 2 GDR; 0: none.
    std::uint8_t speed_ext_supported = 0;
};

struct NodeSpec {
    wire::NodeType type = wire::NodeType::kChannelAdapter;
    Guid node_guid;
    Guid system_image_guid;
    std::string description;
    std::uint32_t vendor_id = 0;
    std::uint16_t device_id = 0;
    std::uint32_t revision = 0;
    std::uint8_t data_vls = 8;           ///< Data VLs of a port: 1, 2, 4, 8 or 15.
    std::uint16_t pkeys = 32;            ///< Entries of a port's P_Key table.
    std::uint8_t guids = 8;              ///< Entries of a port's GUIDInfo.
    std::uint16_t mft_entries = 0x3FFF;  ///< MulticastFDBCap of a switch.
    bool enhanced_port0 = false;         ///< EnhancedPort0 of a switch.
    /// Whether a switch has two sub-groups and private forwarding tables for adaptive routing
    /// (sma_adaptive.cc). Only the network of virtual time follows them.
    bool private_tables = false;
    /// The ports by number. Entry 0 is a switch's management port; an HCA does not use it.
    std::vector<PortSpec> ports;
};

/// The number of tables of ARLinearForwardingTable: the common one and two private ones.
inline constexpr std::uint8_t kArTables = 3;

class Node {
  public:
    explicit Node(NodeSpec spec);

    const NodeSpec& spec() const { return spec_; }
    bool is_switch() const { return spec_.type == wire::NodeType::kSwitch; }
    std::uint8_t port_count() const { return static_cast<std::uint8_t>(spec_.ports.size() - 1); }

    const wire::PortInfo& port(std::uint8_t port) const { return ports_[port].info; }
    /// The port whose LID, M_Key and subnet prefix count for a packet that came in by `port`: port
    /// 0 of a switch, else the port itself.
    std::uint8_t base_port(std::uint8_t port) const { return is_switch() ? 0 : port; }
    bool owns_lid(std::uint8_t port, Lid lid) const;
    const wire::SwitchInfo& switch_info() const { return switch_; }
    /// Returns the out port of a switch for this DLID; sw::kNoPath if there is none.
    std::uint8_t forward(Lid dlid) const;
    bool forwards_multicast(Lid mlid, std::uint8_t port) const;
    /// Returns an entry of the P_Key table; 0 beyond its end.
    PKey pkey(std::uint8_t port, std::uint16_t index) const;
    /// Returns an entry of GUIDInfo, of which the first is the port's own; 0 beyond its end.
    Guid guid(std::uint8_t port, std::uint16_t index) const;
    /// Returns the VL on which a packet of a service level leaves by port `out`.
    std::uint8_t vl(std::uint8_t in, std::uint8_t out, std::uint8_t sl) const;
    /// SLtoVLMappingTables of an out port by in port; empty if they are as at power-up.
    std::span<const std::array<std::uint8_t, 16>> lanes(std::uint8_t out) const {
        return ports_[out].sl2vl;
    }
    /// The four blocks of VLArbitrationTable as written; empty if they are as at power-up.
    std::span<const std::uint8_t> arbitration(std::uint8_t port) const {
        return ports_[port].vlarb;
    }
    /// Returns how long packets may wait at a switch port: without limit until a manager sets one.
    sw::WaitingLimits waiting_limits(std::uint8_t port) const;
    /// The port mask of each MLID from 0xC000 on; MLIDs beyond the end are not forwarded.
    std::span<const std::array<std::uint16_t, 16>> mft() const { return mft_; }
    /// Returns the sets of ports among which a switch may choose; empty if adaptive routing is off.
    sw::AdaptiveTable adaptive_table() const;
    /// LinkDownedCounter of a port.
    std::uint32_t link_downed(std::uint8_t port) const { return ports_[port].state.downed(); }
    /// The congestion control agent that answers for this port.
    const CongestionAgent& congestion(std::uint8_t port) const {
        return congestion_[is_switch() ? 0 : port - 1U];
    }
    /// Returns the answer of that agent to a MAD, or std::nullopt: see CongestionAgent::answer.
    std::optional<wire::MadBytes> receive_congestion(const wire::MadBytes& request,
                                                     std::uint8_t port, std::uint64_t now_ns);

    /// The tables of a switch's aggregation node (SHARP); nullptr if the node is no switch.
    const sharp::AggregationTables* aggregation() const {
        return aggregation_ ? &*aggregation_ : nullptr;
    }
    /// See AggregationTables::set_counted_elsewhere.
    void set_aggregation_counts(const wire::SharpPerformanceCounters& counted) {
        if (aggregation_) {
            aggregation_->set_counted_elsewhere(counted);
        }
    }
    /// Returns the answer of the aggregation node to a MAD; std::nullopt if the node is no switch,
    /// or if the MAD is not for its aggregation node.
    std::optional<wire::MadBytes> receive_aggregation(const wire::MadBytes& request) {
        return aggregation_ ? aggregation_->answer(request) : std::nullopt;
    }

    /// Returns the answer to an SMP that has arrived for this node by `in_port`. Returns
    /// std::nullopt if the SMP is for a manager (see is_for_manager), is a TrapRepress, or has a
    /// wrong M_Key. `now_ns` runs the M_Key lease; `slid` is the sender that a trap names.
    std::optional<wire::MadBytes> receive_smp(const wire::MadBytes& request, std::uint8_t in_port,
                                              std::uint64_t now_ns, Lid slid = kLidPermissive);
    /// Returns whether an SMP is for a manager on the node, not for its agent: SMInfo, traps,
    /// reports.
    static bool is_for_manager(const wire::MadBytes& smp);

    /// Brings a port's link up or down. It is up while the cable and the port at its other end are
    /// there and both ports are enabled.
    void set_link(std::uint8_t port, bool up);
    /// Returns whether the manager has left the port enabled.
    bool link_enabled(std::uint8_t port) const;
    /// Sets the active width and speed, which the port has agreed on with the other end.
    void set_active_speed(std::uint8_t port, const PortSpec& agreed);
    /// Sets or clears a bit of CapabilityMask, such as IsSM, and raises trap 144.
    void set_capability(std::uint8_t port, std::uint32_t bit, bool on);
    void set_description(const std::string& description);
    /// Changes an entry of a switch's forwarding table without its manager's knowledge. Does
    /// nothing if there is no such entry.
    void set_route(Lid lid, std::uint8_t port);
    /// Changes an entry of a P_Key table without the manager's knowledge. Does nothing if there is
    /// no such entry.
    void set_pkey(std::uint8_t port, std::uint16_t index, PKey pkey);
    /// Announces every table as changed: for a node that was turned on again, with empty tables.
    void announce_all();
    /// Counts packets whose P_Key or Q_Key the port does not have, and raises the trap. `packets`
    /// is 0 if the caller counts them with add_violations().
    void bad_key(std::uint8_t port, const wire::BadKeyTrap& seen, bool is_qkey,
                 std::uint16_t packets);
    void add_violations(std::uint8_t port, std::uint64_t pkeys, std::uint64_t qkeys);
    /// Raises the trap of a link that makes too many errors: 129 (link integrity), 130 (buffer
    /// overrun) or 131 (no flow control packets).
    void link_fault(std::uint8_t port, std::uint16_t trap);
    void set_system_image_guid(Guid guid);
    /// Returns whether a packet with this P_Key may pass an external port of a switch (IBA vol. 1,
    /// 18.2.4.2.1).
    bool lets_pass(std::uint8_t port, bool inbound, PKey pkey) const;
    /// Counts packets that lets_pass() refused, and raises the trap.
    void refuse_passage(std::uint8_t port, bool inbound, wire::BadSwitchPKeyTrap seen,
                        std::uint64_t packets);
    /// Packets that a switch port has discarded by their P_Key: inbound and outbound.
    struct ConstraintErrors {
        std::uint64_t rcv = 0;
        std::uint64_t xmit = 0;
    };
    const ConstraintErrors& constraint_errors(std::uint8_t port) const {
        return ports_[port].constraint_errors;
    }

    /// Returns the next write that the node has accepted; std::nullopt if there is none.
    std::optional<PlaneUpdate> poll_update();
    /// Returns a trap that is due, which the caller must send from port 0 of a switch or port 1 of
    /// an HCA; std::nullopt if none is due. A trap is repeated a few times, until a TrapRepress.
    std::optional<mad::Packet> poll_trap(std::uint64_t now_ns);
    /// Returns when poll_trap() will next return a trap; UINT64_MAX if no trap is pending.
    std::uint64_t next_trap_ns() const;

  private:
    struct Port {
        wire::PortInfo info;
        link::PortStateMachine state;  ///< Unused at port 0 of a switch, which is always active.
        std::vector<PKey> pkeys;
        std::vector<Guid> guids;
        std::vector<std::array<std::uint8_t, 16>> sl2vl;  ///< By in port; empty as at power-up.
        std::vector<std::uint8_t> vlarb;                  ///< Four blocks; empty as at power-up.
        std::uint64_t lease_ends_ns = 0;                  ///< End of the M_Key lease, or 0.
        ConstraintErrors constraint_errors;
        bool cable = false;
        bool written = false;  ///< Whether a manager has written PortInfo.
    };
    struct Trap {
        wire::Notice notice;
        std::uint64_t due_ns;
        std::uint64_t transaction;
        std::uint32_t sent;
    };
    /// The adaptive routing of a switch, as a manager wrote it.
    struct Adaptive {
        bool enabled = false;
        std::uint16_t group_top = 0;
        std::uint8_t sub_groups = 0;  ///< Number of sub-groups besides the first.
        std::vector<wire::ArGroupTable> groups;
        /// ARLinearForwardingTable by table, the common one first.
        std::array<std::vector<wire::ArLinearForwardingTable>, kArTables> forwarding;
        std::vector<wire::PortSlToPrivateLftMap> table_of_port;
    };
    using Data = std::span<std::uint8_t, wire::kSmpDataBytes>;

    // node.cc
    bool key_allows(const wire::MadBytes& request, Port& base, bool is_set, std::uint64_t now_ns,
                    Lid slid);
    void announce(const PlaneUpdate& update) { updates_.push_back(update); }
    void announce_difference(const wire::PortInfo& before, std::uint8_t port);
    void raise(std::uint16_t trap, const wire::Notice& notice);
    void repress(const wire::MadBytes& request);
    /// What the functions below take from the header of a Get or Set.
    struct SmpRequest {
        bool is_set;
        std::uint8_t in_port;
        std::uint32_t modifier;
    };
    /// Fills `data` with the answer to a Get or Set of an attribute, and returns a MAD status.
    std::uint16_t answer_attribute(wire::SmAttribute attribute, const SmpRequest& request,
                                   Data data);
    // sma.cc: each fills `data` with the answer and returns a MAD status.
    std::uint16_t node_description(bool set, Data data);
    std::uint16_t node_info(bool set, std::uint8_t in_port, Data data);
    std::uint16_t switch_info(bool set, Data data);
    std::uint16_t guid_info(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data);
    std::uint16_t pkey_table(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data);
    std::uint16_t sl_to_vl(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data);
    std::uint16_t vl_arbitration(bool set, std::uint8_t in_port, std::uint32_t modifier, Data data);
    std::uint16_t linear_table(bool set, std::uint32_t modifier, Data data);
    std::uint16_t multicast_table(bool set, std::uint32_t modifier, Data data);
    std::uint16_t led_info(bool set, std::uint32_t modifier, Data data);
    std::uint16_t port_info_extended(bool set, std::uint8_t in_port, std::uint32_t modifier,
                                     Data data);
    std::uint16_t mlnx_port_info(bool set, std::uint32_t modifier, Data data);
    // sma_adaptive.cc
    std::uint16_t adaptive_routing_info(bool set, Data data);
    std::uint16_t adaptive_group_table(bool set, std::uint32_t modifier, Data data);
    std::uint16_t adaptive_forwarding_table(bool set, std::uint32_t modifier, Data data);
    std::uint16_t private_table_map(bool set, std::uint32_t modifier, Data data);
    /// Returns the ports of one set of ARGroupTable, by the number of the set.
    std::vector<std::uint8_t> adaptive_ports(std::size_t set) const;
    void add_private_tables(sw::AdaptiveTable& table) const;
    void announce_adaptive();
    /// Turns adaptive routing off, because a manager has written LinearForwardingTable and so
    /// perhaps knows nothing of it. A manager that does turns it on again.
    void fall_back();
    // sma_port.cc
    std::uint16_t port_info(bool set, std::uint32_t modifier, std::uint8_t in_port, Data data);
    std::uint16_t check_port_info(const wire::PortInfo& wanted, std::uint8_t port) const;
    void write_port_info(const wire::PortInfo& wanted, std::uint8_t port);
    /// Writes what PortInfo says of an end port: addresses, the manager's LID, keys, violations.
    void write_end_port(const wire::PortInfo& wanted, std::uint8_t port);
    /// Writes what PortInfo says of a link: width, speed, MTU, lanes, limits.
    void write_link(const wire::PortInfo& wanted, std::uint8_t port);
    /// Does what a Set of PortState and PortPhysicalState asks for.
    void move_state(const wire::PortInfo& wanted, std::uint8_t port);
    /// Copies the state of the port's state machine to PortInfo, announces it, and raises trap 128
    /// if the link of a switch port came or went.
    void show_state(std::uint8_t port);
    void link_down(std::uint8_t port, wire::PortPhysicalState physical);

    NodeSpec spec_;
    std::vector<Port> ports_;
    wire::SwitchInfo switch_;
    std::vector<std::uint8_t> lft_;
    std::vector<std::array<std::uint16_t, 16>> mft_;  ///< Port masks by MLID from 0xC000 on.
    std::vector<CongestionAgent> congestion_;         ///< One of a switch, or one per HCA port.
    std::optional<sharp::AggregationTables> aggregation_;
    Adaptive adaptive_;
    bool led_ = false;
    bool switch_written_ = false;  ///< Whether a manager has written SwitchInfo.
    std::deque<PlaneUpdate> updates_;
    std::vector<Trap> traps_;
    std::uint64_t traps_raised_ = 0;
};

}  // namespace softib::agent
