// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet as its manager has found it by SMPs: nodes, ports and cables, and the tables that the
// manager has written into them. Sweeps fill it; routing and the SA read it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/sm/adaptive_routing.h"
#include "core/wire/sm/node_info.h"
#include "core/wire/sm/port_info.h"
#include "core/wire/sm/sl_to_vl_mapping_table.h"
#include "core/wire/sm/switch_info.h"
#include "core/wire/sm/vl_arbitration_table.h"

namespace softib::sm {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;
inline constexpr std::uint8_t kLftNoPath = 0xFF;
inline constexpr std::size_t kHopsMax = 63;

/// A directed route: the out port of every node on the way from the manager's node.
struct DirectedPath {
    std::array<std::uint8_t, kHopsMax + 1> ports{};  ///< Out ports from element 1 on.
    std::uint8_t hops = 0;
};

struct SubnetPort {
    bool known = false;  ///< Whether PortInfo was read, in this or an earlier sweep.
    wire::PortInfo info;
    NodeIndex peer = kNoNode;
    std::uint8_t peer_port = 0;
    Guid guid;                ///< GUID of an end port; 0 for external ports of switches.
    std::uint32_t seen = 0;   ///< Number of the last sweep that found the port's cable.
    std::uint32_t asked = 0;  ///< Number of the last sweep whose doubt() read PortInfo again.
    std::vector<PKey> pkeys;  ///< P_Key table as read or written; empty until then.
    std::vector<Guid> guids;  ///< Alias GUIDs as written, entry 0 unused; empty until then.
    /// VLArbitrationTable as written, by block - 1; empty if it is as at power-up.
    std::vector<wire::VlArbitrationTable> vl_arbitration;
};

/// The number of tables of ARLinearForwardingTable: the common one, and one for each
/// routing::Origin besides kAny.
inline constexpr std::size_t kAdaptiveTables = 3;

/// The adaptive routing of a switch, as the manager writes it (adaptive_tables.h).
struct AdaptiveTables {
    wire::AdaptiveRoutingInfo info = {};
    std::vector<wire::ArGroupTable> groups = {};
    std::array<std::vector<wire::ArLinearForwardingTable>, kAdaptiveTables> forwarding = {};
    std::vector<wire::PortSlToPrivateLftMap> table_of_port = {};
};

struct SubnetNode {
    wire::NodeInfo info;
    std::string description;
    std::vector<SubnetPort> ports;  ///< By port number; entry 0 is used by switches only.
    DirectedPath path;              ///< The way from the manager; valid while `present`.
    std::uint8_t entry_port = 0;    ///< The port by which `path` arrives.
    std::uint32_t seen = 0;         ///< Number of the last sweep that read the node.
    bool present = false;           ///< Whether the manager can reach the node over known cables.

    // Switches only.
    wire::SwitchInfo switch_info;
    std::vector<std::uint8_t> lft;  ///< LFT as written; kLftNoPath beyond its end.
    bool tables_known = false;      ///< Whether the switch still holds the tables as written.
    std::vector<std::array<std::uint16_t, 16>> mft;  ///< Port masks by MLID - 0xC000, as written.
    /// SL2VL tables as written, by [out port][in port]; empty if they are as at power-up.
    std::vector<std::vector<wire::SlToVlMappingTable>> sl2vl;

    struct Adaptive {
        std::uint16_t groups_max = 0;  ///< Most groups; 0 without adaptive routing.
        bool private_tables = false;   ///< Whether in ports can have tables of their own.
        bool on = false;
        AdaptiveTables written;

        /// Forgets what the switch holds, but not what it is able to do.
        void forget() {
            on = false;
            written = {};
        }
    };
    Adaptive adaptive;

    bool is_switch() const { return info.node_type == wire::NodeType::kSwitch; }
    Guid guid() const { return info.node_guid; }
};

/// A port of a node, mostly an end port: one that has a LID.
struct EndPort {
    NodeIndex node = kNoNode;
    std::uint8_t port = 0;
};

class Subnet {
  public:
    NodeIndex find(Guid node_guid) const;
    NodeIndex add(const wire::NodeInfo& info);
    std::size_t size() const { return nodes_.size(); }
    SubnetNode& node(NodeIndex index) { return nodes_[index]; }
    const SubnetNode& node(NodeIndex index) const { return nodes_[index]; }
    SubnetPort& port(EndPort end) { return nodes_[end.node].ports[end.port]; }
    const SubnetPort& port(EndPort end) const { return nodes_[end.node].ports[end.port]; }

    void connect(EndPort a, EndPort b);
    void disconnect(EndPort end);
    /// Recomputes every path from the manager's node over the cables. Nodes that no path leads to
    /// are no longer present.
    void recompute_paths(NodeIndex root);

    /// Returns the port that has this LID, as its base LID or by its LMC; std::nullopt if none has.
    std::optional<EndPort> by_lid(Lid lid) const;
    std::optional<EndPort> by_port_guid(Guid guid) const;
    void set_lid_owner(Lid base, std::uint8_t lmc, EndPort end);
    void clear_lid_owner(Lid base, std::uint8_t lmc);
    Lid lid_max() const;  ///< The highest LID that a port has.

    /// Calls fn(EndPort) for every present port that has or needs a LID: known ports of HCAs, and
    /// port 0 of switches.
    template <typename Fn>
    void for_each_end_port(Fn&& fn) const {
        for (NodeIndex i = 0; i < nodes_.size(); ++i) {
            const SubnetNode& node = nodes_[i];
            if (!node.present) {
                continue;
            }
            if (node.is_switch()) {
                fn(EndPort{i, 0});
                continue;
            }
            for (std::size_t p = 1; p < node.ports.size(); ++p) {
                if (node.ports[p].known) {
                    fn(EndPort{i, static_cast<std::uint8_t>(p)});
                }
            }
        }
    }

    /// Returns the out port for this LID that was written into the switch; kLftNoPath if none was.
    std::uint8_t forward(NodeIndex sw, Lid dlid) const {
        const std::vector<std::uint8_t>& lft = nodes_[sw].lft;
        return dlid.value < lft.size() ? lft[dlid.value] : kLftNoPath;
    }
    /// Returns every hop from an end port to a LID by the tables as written: (node, out port)
    /// pairs, the source's own port first; empty if there is no path.
    std::vector<EndPort> trace(EndPort from, Lid dlid) const;

  private:
    std::vector<SubnetNode> nodes_;
    std::unordered_map<std::uint64_t, NodeIndex> by_guid_;
    std::unordered_map<std::uint64_t, EndPort> by_port_guid_;
    std::vector<EndPort> lid_owner_;  ///< The port that has a LID, by LID.
};

}  // namespace softib::sm
