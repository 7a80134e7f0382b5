// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SHARP's aggregation trees on a routed fabric, within the limits of the switches: a subnet has a
// number of trees, and a streaming tree (SAT) has a switch or a port for itself. Trees are those
// that the aggregation manager would plan (core/sharp/manager). The time of an operation on a tree
// is here too.

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/sharp/manager/tree_planner.h"
#include "core/topo/graph.h"
#include "net/sim/routed.h"

namespace softib::plan {

/// Low-latency trees take datagrams of a few hundred bytes, streaming trees any length.
enum class SharpTree : std::uint8_t { kLlt, kSat };

struct SharpLimits {
    std::uint32_t llt_trees = 0;  ///< Low-latency trees of a subnet; 0: switches do not aggregate.
    std::uint32_t sat_trees = 0;  ///< Streaming trees of a subnet.
    bool sat_per_switch = false;  ///< Whether a whole switch has one SAT, else each port has one.
};
/// Returns the limits of a generation's switches: Switch-IB 2 (EDR) has 63 low-latency trees,
/// Quantum (HDR) 63 of each kind, Quantum-2 and later 511 of each kind.
SharpLimits sharp_limits(topo::Generation generation);

/// The link from one switch of a tree to its parent.
struct TreeEdge {
    std::uint32_t child = 0;       ///< Switch, as numbered by routing::Graph.
    std::uint32_t parent = 0;      ///< Switch, as numbered by routing::Graph.
    std::uint8_t port = 0;         ///< Port of the child.
    std::uint8_t parent_port = 0;  ///< Port of the parent.
    friend bool operator==(const TreeEdge&, const TreeEdge&) = default;
};

struct AggregationTree {
    SharpTree kind = SharpTree::kLlt;
    std::uint32_t root = 0;                    ///< The switch at the root.
    std::uint32_t levels = 0;                  ///< Most switches from a member to the root.
    std::vector<TreeEdge> edges = {};          ///< Links in ascending order of the child.
    std::vector<std::uint32_t> switches = {};  ///< Switches of the tree in ascending order.
};

/// The trees of jobs, within the limits of the switches.
class TreeBook {
  public:
    /// `routed` must outlive the book.
    TreeBook(const net::Routed& routed, const SharpLimits& limits);

    /// Finds a tree for the HCAs at these end ports, with as few levels as possible, and reserves
    /// it. Returns its number for tree() and remove(). The error says which limit forbids it.
    std::expected<std::uint32_t, std::string> add(std::span<const std::uint32_t> ends,
                                                  SharpTree kind);
    void remove(std::uint32_t tree);
    const AggregationTree& tree(std::uint32_t id) const { return trees_.at(id); }

  private:
    std::uint32_t switch_of(Lid lid) const;
    AggregationTree tree_of(const sharp::TreePlan& plan, SharpTree kind) const;
    bool has_taken_port(const AggregationTree& tree) const;
    void count(const AggregationTree& tree, int by);

    const net::Routed& routed_;
    SharpLimits limits_;
    std::vector<Lid> lid_of_end_ = {};
    std::map<Guid, std::uint32_t> sats_of_switch_ = {};
    std::map<std::pair<Guid, std::uint8_t>, std::uint32_t> sats_of_port_ = {};
    std::map<std::uint32_t, AggregationTree> trees_ = {};
    std::uint32_t next_ = 0;
};

/// Delays and rates of an operation on a tree. Delays of silicon come from net/plant/latency.h.
struct SharpTimes {
    double hop_us = 0;         ///< Delay of a switch.
    double cable_us = 0.025;   ///< Delay of a cable.
    double hca_us = 0.3;       ///< Delay of an HCA, one way.
    double software_us = 0.1;  ///< Software of the host, for both ways together.
    /// Time in which a switch reduces one datagram. Fitted on row C5 (128 hosts, EDR: 2.83 us).
    double reduce_us = 0.4175;
    /// Payload of a datagram: SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST.
    double payload_bytes = 256;
    double outstanding = 32;       ///< Datagrams under way at once: SHARP_COLL_JOB_QUOTA_OSTS.
    double link_bytes_per_s = 0;   ///< Data rate of the slowest link, without headers.
    double sat_efficiency = 0.95;  ///< Part of that rate that a streaming tree reaches (ISC'20).
};
SharpTimes sharp_times(topo::Generation generation, double link_bytes_per_s);

/// Returns the microseconds on a low-latency tree until all members have the result.
double llt_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);
/// Returns the same for a streaming tree, including its lock, which is an operation on an LLT.
double sat_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);
/// Returns the time on the faster of both kinds of trees.
double sharp_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);

}  // namespace softib::plan
