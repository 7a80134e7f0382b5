// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A node as its managers see it: what it is, what was written into it, and what it answers to
// subnet management packets. One class for host adapters and switches, as one set of attributes
// describes both (IBA vol. 1, chapter 14). It carries no packets: a mesh or a simulated link
// does, and calls receive_smp() where one has arrived for this node.
//
// The tables here are the ones the subnet manager wrote. Whoever moves data by them learns of
// every write from poll_update().

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
#include "core/wire/adaptive_routing.h"
#include "core/wire/node_info.h"
#include "core/wire/notice.h"
#include "core/wire/p_key_table.h"
#include "core/wire/port_info.h"
#include "core/wire/smp.h"
#include "core/wire/switch_info.h"

namespace softib::agent {

inline constexpr std::size_t kLftBlock = 64;
inline constexpr std::size_t kMftBlock = 32;
inline constexpr std::size_t kMftPortsPerPosition = 16;
using wire::kPKeyBlock;
inline constexpr std::size_t kGuidBlock = 8;
inline constexpr std::size_t kVlArbBlock = 32;

/// What a port can do, by its cable and its silicon.
struct PortSpec {
    Guid guid;
    std::uint8_t width = 2;            ///< PortInfo's code: 1 is 1X, 2 is 4X.
    std::uint8_t width_supported = 3;  ///< A sum of such codes.
    std::uint8_t speed = 4;            ///< Of the old kind: 1 SDR, 2 DDR, 4 QDR.
    std::uint8_t speed_ext = 0;        ///< Extended: 1 FDR, 2 EDR, 4 HDR, 8 NDR; 0: none.
    std::uint8_t speed_ext2 = 0;       ///< 1: XDR.
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
    std::uint8_t data_vls = 8;           ///< 1, 2, 4, 8 or 15.
    std::uint16_t pkeys = 32;            ///< Entries of a port's table.
    std::uint8_t guids = 8;              ///< Entries of a port's GUIDInfo.
    std::uint16_t mft_entries = 0x3FFF;  ///< Switch.
    bool enhanced_port0 = false;         ///< Switch.
    /// Switch: has two sub-groups and private forwarding tables. Only virtual time follows them.
    bool private_tables = false;
    /// By port number. Entry 0 is a switch's management port and unused for an adapter.
    std::vector<PortSpec> ports;
};

/// Tables of ARLinearForwardingTable: the common one, and private ones.
inline constexpr std::uint8_t kArTables = 3;

class Node {
  public:
    explicit Node(NodeSpec spec);

    const NodeSpec& spec() const { return spec_; }
    bool is_switch() const { return spec_.type == wire::NodeType::kSwitch; }
    std::uint8_t port_count() const { return static_cast<std::uint8_t>(spec_.ports.size() - 1); }

    const wire::PortInfo& port(std::uint8_t port) const { return ports_[port].info; }
    /// The port whose LID, M_Key and subnet prefix count for a packet that came by `port`.
    std::uint8_t base_port(std::uint8_t port) const { return is_switch() ? 0 : port; }
    bool owns_lid(std::uint8_t port, Lid lid) const;
    const wire::SwitchInfo& switch_info() const { return switch_; }
    std::uint8_t forward(Lid dlid) const;  ///< Out port, sw::kNoPath where there is none.
    bool forwards_multicast(Lid mlid, std::uint8_t port) const;
    PKey pkey(std::uint8_t port, std::uint16_t index) const;
    Guid guid(std::uint8_t port, std::uint16_t index) const;  ///< The first is the port's own.
    std::uint8_t vl(std::uint8_t in, std::uint8_t out, std::uint8_t sl) const;
    /// SLtoVL tables of an out port by in port; empty: as at power-up.
    std::span<const std::array<std::uint8_t, 16>> lanes(std::uint8_t out) const {
        return ports_[out].sl2vl;
    }
    /// The four blocks of VLArbitrationTable as written; empty: as at power-up.
    std::span<const std::uint8_t> arbitration(std::uint8_t port) const {
        return ports_[port].vlarb;
    }
    /// How long packets wait at a switch's port; for ever where no manager has said anything.
    sw::WaitingLimits waiting_limits(std::uint8_t port) const;
    /// Port masks by MLID from 0xC000 on; what is beyond the end goes nowhere.
    std::span<const std::array<std::uint16_t, 16>> mft() const { return mft_; }
    /// Among which ports a switch may choose; empty: adaptive routing is off.
    sw::AdaptiveTable adaptive_table() const;
    /// LinkDownedCounter.
    std::uint32_t link_downed(std::uint8_t port) const { return ports_[port].state.downed(); }
    /// The congestion control agent that a packet to this port is for.
    const CongestionAgent& congestion(std::uint8_t port) const {
        return congestion_[is_switch() ? 0 : port - 1U];
    }
    /// Its answer to a MAD; nothing: as CongestionAgent::answer.
    std::optional<wire::MadBytes> receive_congestion(const wire::MadBytes& request,
                                                     std::uint8_t port, std::uint64_t now_ns);

    /// The tables of a switch's aggregation node; nullptr: the node is no switch.
    const sharp::AggregationTables* aggregation() const {
        return aggregation_ ? &*aggregation_ : nullptr;
    }
    /// See AggregationTables::set_counted_elsewhere.
    void set_aggregation_counts(const wire::SharpPerformanceCounters& counted) {
        if (aggregation_) {
            aggregation_->set_counted_elsewhere(counted);
        }
    }
    /// Its answer to a MAD; std::nullopt if there is no such node, or the MAD is not for it.
    std::optional<wire::MadBytes> receive_aggregation(const wire::MadBytes& request) {
        return aggregation_ ? aggregation_->answer(request) : std::nullopt;
    }

    /// The answer to a subnet management packet that has arrived for this node by `in_port`, or
    /// nothing: it is not for the agent (a manager's business, see is_for_manager), or refused in
    /// silence. `now_ns` runs the M_Key lease; `slid` is who a trap accuses.
    std::optional<wire::MadBytes> receive_smp(const wire::MadBytes& request, std::uint8_t in_port,
                                              std::uint64_t now_ns, Lid slid = kLidPermissive);
    /// SMInfo, traps and reports are between managers; agents do not answer them.
    static bool is_for_manager(const wire::MadBytes& smp);

    /// The cable and the other end: true when both are there and want to talk.
    void set_link(std::uint8_t port, bool up);
    /// Wants to talk: not disabled by its manager.
    bool link_enabled(std::uint8_t port) const;
    /// What is active on this cable, agreed with the other end.
    void set_active_speed(std::uint8_t port, const PortSpec& agreed);
    /// A manager's claim (umad's IsSM) or another capability bit.
    void set_capability(std::uint8_t port, std::uint32_t bit, bool on);
    void set_description(const std::string& description);
    /// Writes behind the manager's back; what does not exist is left alone.
    void set_route(Lid lid, std::uint8_t port);
    void set_pkey(std::uint8_t port, std::uint16_t index, PKey pkey);
    /// Every table counts as changed: for a node that has come back empty.
    void announce_all();
    /// What a port does about packets with a key that is not its own: they are counted, and the
    /// manager is told. 0 packets: add_violations() counts them.
    void bad_key(std::uint8_t port, const wire::BadKeyTrap& seen, bool is_qkey,
                 std::uint16_t packets);
    void add_violations(std::uint8_t port, std::uint64_t pkeys, std::uint64_t qkeys);
    /// A link that makes too many errors: trap 129 (link integrity), 130 (buffer overrun) or 131
    /// (no flow control packets).
    void link_fault(std::uint8_t port, std::uint16_t trap);
    void set_system_image_guid(Guid guid);
    /// Of a switch: whether a packet of this partition may pass its external port (IBA vol. 1,
    /// 18.2.4.2.1), and what it does about one that may not.
    bool lets_pass(std::uint8_t port, bool inbound, PKey pkey) const;
    void refuse_passage(std::uint8_t port, bool inbound, wire::BadSwitchPKeyTrap seen,
                        std::uint64_t packets);
    /// By port: packets that were refused coming in and going out.
    struct ConstraintErrors {
        std::uint64_t rcv = 0;
        std::uint64_t xmit = 0;
    };
    const ConstraintErrors& constraint_errors(std::uint8_t port) const {
        return ports_[port].constraint_errors;
    }

    std::optional<PlaneUpdate> poll_update();
    /// A trap that is due, to be sent from the base port; repeated until it is repressed.
    std::optional<mad::Packet> poll_trap(std::uint64_t now_ns);
    /// When poll_trap() next has something; UINT64_MAX: never, as things are.
    std::uint64_t next_trap_ns() const;

  private:
    struct Port {
        wire::PortInfo info;
        link::PortStateMachine state;  ///< Not of a switch's port 0, which is always active.
        std::vector<PKey> pkeys;
        std::vector<Guid> guids;
        std::vector<std::array<std::uint8_t, 16>> sl2vl;  ///< By in port; empty: as at power-up.
        std::vector<std::uint8_t> vlarb;                  ///< 4 blocks; empty: as at power-up.
        std::uint64_t lease_ends_ns = 0;                  ///< 0: the M_Key lease does not run.
        ConstraintErrors constraint_errors;
        bool cable = false;
        bool written = false;  ///< By a manager: PortInfo.
    };
    struct Trap {
        wire::Notice notice;
        std::uint64_t due_ns;
        std::uint64_t transaction;
        std::uint32_t sent;
    };
    /// As written.
    struct Adaptive {
        bool enabled = false;
        std::uint16_t group_top = 0;
        std::uint8_t sub_groups = 0;  ///< Besides the first.
        std::vector<wire::ArGroupTable> groups;
        /// By table, the common one first.
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
    /// Of a set of ports of ARGroupTable, by number.
    std::vector<std::uint8_t> adaptive_ports(std::size_t set) const;
    void add_private_tables(sw::AdaptiveTable& table) const;
    void announce_adaptive();
    /// A manager that writes plain routes does not know of it: it is off until one turns it on.
    void fall_back();
    // sma_port.cc
    std::uint16_t port_info(bool set, std::uint32_t modifier, std::uint8_t in_port, Data data);
    std::uint16_t check_port_info(const wire::PortInfo& wanted, std::uint8_t port) const;
    void write_port_info(const wire::PortInfo& wanted, std::uint8_t port);
    /// Shows in PortInfo what the port's state machine did, and tells of it.
    void show_state(std::uint8_t port);
    void link_down(std::uint8_t port, wire::PortPhysicalState physical);

    NodeSpec spec_;
    std::vector<Port> ports_;
    wire::SwitchInfo switch_;
    std::vector<std::uint8_t> lft_;
    std::vector<std::array<std::uint16_t, 16>> mft_;  ///< By MLID from 0xC000 on; port mask.
    std::vector<CongestionAgent> congestion_;  ///< A switch's, or one per port of an adapter.
    std::optional<sharp::AggregationTables> aggregation_;
    Adaptive adaptive_;
    bool led_ = false;
    bool switch_written_ = false;  ///< By a manager: SwitchInfo.
    std::deque<PlaneUpdate> updates_;
    std::vector<Trap> traps_;
    std::uint64_t traps_raised_ = 0;
};

}  // namespace softib::agent
