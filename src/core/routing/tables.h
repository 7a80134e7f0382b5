// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a routing engine gives back: forwarding tables, the service level of every path, the
// mapping of service levels to virtual lanes where the engine needs its own, and, where the engine
// allows it, the sets of ports among which a switch may choose by load.

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
inline constexpr std::uint8_t kVlDiscard =
    15;  ///< In an SLtoVLMappingTable: such packets go nowhere.

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

/// The entries of a switch for its own end ports.
void fill_local(const Graph& graph, std::uint32_t sw, Lfts& lfts);

/// The service level of a path depends on nothing, on its end, or on both ends (as switches).
class SlMap {
  public:
    SlMap() = default;
    static SlMap by_destination(std::vector<std::uint8_t> sls);
    static SlMap by_pair(std::uint32_t switches);

    std::uint8_t at(std::uint32_t from, std::uint32_t to) const {
        return sls_.empty() ? 0 : sls_[from * stride_ + to];
    }
    /// Changes a map by destination, or none, into one by pair if need be.
    void set(std::uint32_t from, std::uint32_t to, std::uint8_t sl, std::uint32_t switches);
    bool uniform() const { return sls_.empty(); }
    bool pairwise() const { return stride_ != 0; }
    friend bool operator==(const SlMap&, const SlMap&) = default;

  private:
    std::size_t stride_ = 0;  ///< 0: by destination alone.
    std::vector<std::uint8_t> sls_;
};

/// SLtoVLMappingTables. Ports fall into classes; a table belongs to a pair of classes, so that the
/// few distinct ones are stored once. Empty: VL = SL everywhere.
class SlToVl {
  public:
    using Row = std::array<std::uint8_t, kSlCount>;

    /// The tables that one switch holds, whichever manager wrote them: numbers of rows.
    struct PortTables {
        std::uint32_t ports = 0;            ///< Port 0 included.
        std::vector<std::uint16_t> row_of;  ///< In port by out port.
        friend bool operator==(const PortTables&, const PortTables&) = default;
    };

    SlToVl() = default;
    SlToVl(std::uint32_t switches, std::uint8_t in_classes, std::uint8_t out_classes);
    /// Without classes: `tables_of` says which of `tables` a switch has.
    SlToVl(std::vector<Row> rows, std::vector<PortTables> tables,
           std::vector<std::uint32_t> tables_of);

    /// Port 0 and the ports of hosts are of class 0 unless said otherwise.
    void set_in_class(std::uint32_t sw, std::uint8_t port, std::uint8_t in_class);
    void set_out_class(std::uint32_t sw, std::uint8_t port, std::uint8_t out_class);
    void set_row(std::uint8_t in_class, std::uint8_t out_class, const Row& row);

    bool empty() const { return rows_.empty(); }
    const Row& row(std::uint32_t sw, std::uint8_t in_port, std::uint8_t out_port) const;
    /// Whether packets that came by one port go on as those that came by the other.
    bool same_in(std::uint32_t sw, std::uint8_t a, std::uint8_t b) const;
    std::uint8_t highest(std::uint8_t sl) const;  ///< VL to which it is mapped anywhere.
    /// For the ports of hosts themselves.
    const Row& host_row() const { return rows_[0]; }
    friend bool operator==(const SlToVl&, const SlToVl&) = default;

  private:
    std::uint8_t out_classes_ = 0;
    std::vector<std::uint8_t> in_class_;   ///< 256 per switch.
    std::vector<std::uint8_t> out_class_;  ///< 256 per switch.
    std::vector<Row> rows_;                ///< In class by out class.
    std::vector<PortTables> tables_;       ///< Not empty: instead of classes.
    std::vector<std::uint32_t> tables_of_;
};

/// Sets of equally good out ports, by switch and destination switch.
class PortGroups {
  public:
    PortGroups() = default;
    PortGroups(std::vector<std::uint32_t> first_group, std::vector<std::uint32_t> first_port,
               std::vector<std::uint8_t> ports, std::vector<std::uint16_t> group_of);

    bool empty() const { return group_of_.empty(); }
    /// Distinct sets of one switch.
    std::uint32_t count(std::uint32_t sw) const { return first_group_[sw + 1] - first_group_[sw]; }
    std::uint32_t count() const { return first_group_.empty() ? 0 : first_group_.back(); }
    /// Number of the set for a destination, 0 to count(sw) - 1. Set 0 is empty: no path, or self.
    std::uint16_t of(std::uint32_t sw, std::uint32_t destination) const {
        return group_of_[sw * (first_group_.size() - 1) + destination];
    }
    std::span<const std::uint8_t> ports(std::uint32_t sw, std::uint16_t group) const {
        const std::uint32_t i = first_group_[sw] + group;
        return std::span(ports_).subspan(first_port_[i], first_port_[i + 1] - first_port_[i]);
    }
    friend bool operator==(const PortGroups&, const PortGroups&) = default;

  private:
    std::vector<std::uint32_t> first_group_;  ///< By switch, one more at the end.
    std::vector<std::uint32_t> first_port_;   ///< By group, one more at the end.
    std::vector<std::uint8_t> ports_;
    std::vector<std::uint16_t> group_of_;  ///< Switch by destination switch.
};

/// Builds the sets of a fabric with few switches: ports_to(switch, destination switch) returns the
/// ports of one set, in ascending order.
PortGroups make_port_groups(
    std::uint32_t switches,
    const std::function<std::vector<std::uint8_t>(std::uint32_t, std::uint32_t)>& ports_to);

/// Where a packet has come from, as far as the choice of its way depends on it.
enum class Origin : std::uint8_t {
    kAny,   ///< It takes a shortest way: Tables::groups.
    kHost,  ///< It has just begun, and may take a longer way as well: LongWays::beside.
    kNear,  ///< It has chosen already: LongWays::instead, where there is such a set.
};

/// Ways that are longer than the shortest, for switches that choose by load. Empty: there are none.
struct LongWays {
    std::vector<Origin> origins = {};  ///< By switch, 256 in ports each.
    PortGroups beside = {};            ///< From hosts: ports besides those of the shortest ways.
    PortGroups instead = {};           ///< From near by: ports instead of those.

    bool empty() const { return origins.empty(); }
    Origin origin(std::uint32_t sw, std::uint8_t in_port) const {
        return origins[std::size_t{sw} * 256 + in_port];
    }
    friend bool operator==(const LongWays&, const LongWays&) = default;
};

/// Among which ports a switch may choose.
struct Choice {
    std::span<const std::uint8_t> near;  ///< On the way that it prefers,
    std::span<const std::uint8_t> far;   ///< and on longer ones.
};

struct Tables {
    std::string engine;
    Lfts lfts;
    std::uint8_t vls = 1;  ///< Data VLs that paths use: 0 to vls - 1.
    SlMap sls = {};
    SlToVl sl_to_vl = {};
    PortGroups groups = {};  ///< Empty: a switch must follow its forwarding table.
    LongWays long_ways = {};

    /// The ports for packets to an end port of a switch, by the port that they come in by.
    Choice choice(std::uint32_t sw, std::uint8_t in_port, std::uint32_t destination) const;

    /// The service level a packet must carry from one LID to another.
    std::uint8_t sl(const Graph& graph, Lid source, Lid destination) const;
    /// The virtual lane on which a switch sends it on.
    std::uint8_t vl(std::uint32_t sw, std::uint8_t in_port, std::uint8_t out_port,
                    std::uint8_t sl) const {
        return sl_to_vl.empty() ? sl : sl_to_vl.row(sw, in_port, out_port)[sl];
    }
    friend bool operator==(const Tables&, const Tables&) = default;
};

}  // namespace softib::routing
