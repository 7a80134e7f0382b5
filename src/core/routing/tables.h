// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The result of a routing engine: forwarding tables, the service level of every path, SL2VL tables
// if the engine needs its own, and, if the engine allows it, the sets of ports among which a switch
// may choose by load.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/routing/graph.h"

namespace softib::routing {

inline constexpr std::uint8_t kNoPath = 0xFF;
inline constexpr std::uint32_t kLftBlock = 64;  ///< LIDs in one LinearForwardingTable MAD.
inline constexpr std::uint8_t kSlCount = 16;
/// The entry of an SLtoVLMappingTable with which a switch discards packets.
inline constexpr std::uint8_t kVlDiscard = 15;

/// The linear forwarding tables of all switches. Rows are padded with kNoPath to whole blocks.
class Lfts {
  public:
    Lfts() = default;
    Lfts(std::uint32_t switches, Lid lid_max);

    std::uint8_t at(std::uint32_t sw, Lid lid) const { return row(sw)[lid.value]; }
    std::uint8_t& at(std::uint32_t sw, Lid lid) { return row(sw)[lid.value]; }
    std::span<const std::uint8_t> row(std::uint32_t sw) const {
        return std::span(ports_).subspan(sw * stride_, stride_);
    }
    std::span<std::uint8_t> row(std::uint32_t sw) {
        return std::span(ports_).subspan(sw * stride_, stride_);
    }
    std::span<const std::uint8_t> block(std::uint32_t sw, std::uint32_t number) const {
        return row(sw).subspan(std::size_t{number} * kLftBlock, kLftBlock);
    }
    std::uint32_t block_count() const { return static_cast<std::uint32_t>(stride_ / kLftBlock); }
    friend bool operator==(const Lfts&, const Lfts&) = default;

  private:
    std::size_t stride_ = 0;
    std::vector<std::uint8_t> ports_;
};

/// Fills the entries of a switch for its own end ports.
void fill_local(const Graph& graph, std::uint32_t sw, Lfts& lfts);

/// The service levels of paths between switches: 0 for all, or by destination, or by source and
/// destination.
class SlMap {
  public:
    SlMap() = default;
    static SlMap by_destination(std::vector<std::uint8_t> sls);
    static SlMap by_pair(std::uint32_t switches);

    std::uint8_t at(std::uint32_t from, std::uint32_t to) const {
        return sls_.empty() ? 0 : sls_[from * stride_ + to];
    }
    /// Sets the service level of one path. Turns the map into one by pair if it is not.
    void set(std::uint32_t from, std::uint32_t to, std::uint8_t sl, std::uint32_t switches);
    bool uniform() const { return sls_.empty(); }
    bool pairwise() const { return stride_ != 0; }
    friend bool operator==(const SlMap&, const SlMap&) = default;

  private:
    std::size_t stride_ = 0;  ///< Number of switches in a map by pair, else 0.
    std::vector<std::uint8_t> sls_;
};

/// SLtoVLMappingTables of all switches; empty if VL = SL everywhere. Ports fall into classes, and a
/// table belongs to a pair of classes, so that the few distinct tables are stored once.
class SlToVl {
  public:
    using Row = std::array<std::uint8_t, kSlCount>;

    /// The tables that a switch holds, as any manager may have written them, by number of a row.
    struct PortTables {
        std::uint32_t ports = 0;            ///< Number of ports, port 0 included.
        std::vector<std::uint16_t> row_of;  ///< Numbers of rows, by in port and then by out port.
        friend bool operator==(const PortTables&, const PortTables&) = default;
    };

    SlToVl() = default;
    SlToVl(std::uint32_t switches, std::uint8_t in_classes, std::uint8_t out_classes);
    /// Makes tables without classes. `tables_of` says which of `tables` each switch has.
    SlToVl(std::vector<Row> rows, std::vector<PortTables> tables,
           std::vector<std::uint32_t> tables_of);

    /// Sets the class of an in port. All ports are of class 0 at first, as port 0 and the ports of
    /// hosts mostly stay.
    void set_in_class(std::uint32_t sw, std::uint8_t port, std::uint8_t in_class);
    void set_out_class(std::uint32_t sw, std::uint8_t port, std::uint8_t out_class);
    void set_row(std::uint8_t in_class, std::uint8_t out_class, const Row& row);

    bool empty() const { return rows_.empty(); }
    const Row& row(std::uint32_t sw, std::uint8_t in_port, std::uint8_t out_port) const;
    /// Returns whether packets that came in by port `a` get the same VLs as those by port `b`.
    bool same_in(std::uint32_t sw, std::uint8_t a, std::uint8_t b) const;
    /// Returns the highest VL to which a service level is mapped anywhere.
    std::uint8_t highest(std::uint8_t sl) const;
    /// The table of the HCA ports themselves.
    const Row& host_row() const { return rows_[0]; }
    friend bool operator==(const SlToVl&, const SlToVl&) = default;

  private:
    std::uint8_t out_classes_ = 0;
    std::vector<std::uint8_t> in_class_;   ///< Classes of in ports, 256 per switch.
    std::vector<std::uint8_t> out_class_;  ///< Classes of out ports, 256 per switch.
    std::vector<Row> rows_;                ///< Tables, by in class and then by out class.
    std::vector<PortTables> tables_;       ///< Used instead of classes if not empty.
    std::vector<std::uint32_t> tables_of_;
};

/// Sets of equally good out ports, by switch and destination switch.
class PortGroups {
  public:
    PortGroups() = default;
    PortGroups(std::vector<std::uint32_t> first_group, std::vector<std::uint32_t> first_port,
               std::vector<std::uint8_t> ports, std::vector<std::uint16_t> group_of);

    bool empty() const { return group_of_.empty(); }
    /// Number of distinct sets of one switch, the empty one included.
    std::uint32_t count(std::uint32_t sw) const { return first_group_[sw + 1] - first_group_[sw]; }
    std::uint32_t count() const { return first_group_.empty() ? 0 : first_group_.back(); }
    /// Returns the number of the set for a destination, 0 to count(sw) - 1. Set 0 is empty: there
    /// is no path, or the destination is the switch itself.
    std::uint16_t of(std::uint32_t sw, std::uint32_t destination) const {
        return group_of_[sw * (first_group_.size() - 1) + destination];
    }
    std::span<const std::uint8_t> ports(std::uint32_t sw, std::uint16_t group) const {
        const std::uint32_t i = first_group_[sw] + group;
        return std::span(ports_).subspan(first_port_[i], first_port_[i + 1] - first_port_[i]);
    }
    friend bool operator==(const PortGroups&, const PortGroups&) = default;

  private:
    std::vector<std::uint32_t> first_group_;  ///< First group of each switch; one more at the end.
    std::vector<std::uint32_t> first_port_;   ///< First port of each group; one more at the end.
    std::vector<std::uint8_t> ports_;
    std::vector<std::uint16_t> group_of_;  ///< Numbers of sets, by switch and destination switch.
};

/// Builds the sets of a fabric with few switches: ports_to(switch, destination switch) returns the
/// ports of one set, in ascending order.
PortGroups make_port_groups(
    std::uint32_t switches,
    const std::function<std::vector<std::uint8_t>(std::uint32_t, std::uint32_t)>& ports_to);

/// The kind of in port that a packet came by, on which the choice of its way depends.
enum class Origin : std::uint8_t {
    kAny,   ///< Any other port: the packet takes a shortest way, Tables::groups.
    kHost,  ///< A host's port: the packet may take a longer way too, LongWays::beside.
    kNear,  ///< A port to a switch near by, which has chosen: LongWays::instead if there is a set.
};

/// Ways that are longer than the shortest, for switches that choose by load. May be empty.
struct LongWays {
    std::vector<Origin> origins = {};  ///< Origin of each in port, 256 per switch.
    PortGroups beside = {};            ///< Further ports for packets that come from hosts.
    PortGroups instead = {};           ///< Ports for packets from near by, instead of groups.

    bool empty() const { return origins.empty(); }
    Origin origin(std::uint32_t sw, std::uint8_t in_port) const {
        return origins[std::size_t{sw} * 256 + in_port];
    }
    friend bool operator==(const LongWays&, const LongWays&) = default;
};

/// The ports among which a switch may choose.
struct Choice {
    std::span<const std::uint8_t> near;  ///< The ports that it prefers.
    std::span<const std::uint8_t> far;   ///< The ports of longer ways.
};

struct Tables {
    std::string engine;
    Lfts lfts;
    std::uint8_t vls = 1;  ///< Data VLs that paths use: 0 to vls - 1.
    SlMap sls = {};
    SlToVl sl_to_vl = {};
    /// Bits of the service level that may be anything on every path, with lanes of their own for
    /// each value; `sls` has them 0.
    std::uint8_t free_sl_bits = 0;
    /// Sets of equally good ports; empty if switches must follow their forwarding tables.
    PortGroups groups = {};
    LongWays long_ways = {};

    /// Returns the ports among which `sw` may choose for packets that came in by `in_port`, to end
    /// ports of switch `destination`.
    Choice choice(std::uint32_t sw, std::uint8_t in_port, std::uint32_t destination) const;

    /// Returns the service level that a packet from one LID to another must have.
    std::uint8_t sl(const Graph& graph, Lid source, Lid destination) const;
    /// Returns the VL on which a switch forwards a packet.
    std::uint8_t vl(std::uint32_t sw, std::uint8_t in_port, std::uint8_t out_port,
                    std::uint8_t sl) const {
        return sl_to_vl.empty() ? sl : sl_to_vl.row(sw, in_port, out_port)[sl];
    }
    friend bool operator==(const Tables&, const Tables&) = default;
};

}  // namespace softib::routing
