// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SHARP's aggregation trees on a routed fabric, with the limits of the switches: how many trees a
// subnet has, and that a streaming tree (SAT) has a switch or a port for itself. Trees are those
// that the aggregation manager would plan (core/sharp/manager). And the time of an operation on a
// tree.

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/sharp/manager/tree_planner.h"
#include "core/topo/fabric.h"
#include "net/fabric.h"

namespace softib::plan {

/// Low-latency trees take datagrams of a few hundred bytes, streaming trees any length.
enum class SharpTree : std::uint8_t { kLlt, kSat };

struct SharpLimits {
    std::uint32_t llt_trees = 0;  ///< Of a subnet; 0: the switches do not aggregate.
    std::uint32_t sat_trees = 0;
    bool sat_per_switch = false;  ///< A switch has one SAT; else each port has one.
};
/// Switch-IB 2 (EDR) has LLT alone, Quantum (HDR) 63 trees, Quantum-2 and later 511 of each kind.
SharpLimits sharp_limits(topo::Generation generation);

/// The way from one switch of a tree to its parent.
struct TreeEdge {
    std::uint32_t child = 0;  ///< Switch, as routing::Graph counts.
    std::uint32_t parent = 0;
    std::uint8_t port = 0;  ///< Of the child.
    std::uint8_t parent_port = 0;
    friend bool operator==(const TreeEdge&, const TreeEdge&) = default;
};

struct AggregationTree {
    SharpTree kind = SharpTree::kLlt;
    std::uint32_t root = 0;                    ///< Switch.
    std::uint32_t levels = 0;                  ///< Switches from a member to the root, at most.
    std::vector<TreeEdge> edges = {};          ///< By child.
    std::vector<std::uint32_t> switches = {};  ///< In ascending order.
};

/// The trees of jobs, within the limits of the switches.
class TreeBook {
  public:
    /// `routed` stays the caller's and outlives this.
    TreeBook(const net::Routed& routed, const SharpLimits& limits);

    /// Finds a tree for the HCAs at these end ports, as low as possible, and keeps it. The error
    /// says which limit stands against it.
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

/// Delays of an operation on a tree. Those of silicon come from net/latency.h.
struct SharpTimes {
    double hop_us = 0;         ///< Through a switch.
    double cable_us = 0.025;   ///< Through a cable.
    double hca_us = 0.3;       ///< Through an HCA, one way.
    double software_us = 0.1;  ///< Of the host, both ways.
    /// A switch adds up one datagram. Fitted on row C5 (128 hosts, EDR: 2.83 us).
    double reduce_us = 0.4175;
    double payload_bytes = 256;    ///< Of a datagram: SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST.
    double outstanding = 32;       ///< Datagrams under way: SHARP_COLL_JOB_QUOTA_OSTS.
    double link_bytes_per_s = 0;   ///< Of the slowest link, headers taken off.
    double sat_efficiency = 0.95;  ///< Of that: ISC'20.
};
SharpTimes sharp_times(topo::Generation generation, double link_bytes_per_s);

/// Until all members have the result.
double llt_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);
/// The same, with the lock of the tree, which is an operation on an LLT.
double sat_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);
/// The faster of both.
double sharp_us(const SharpTimes& times, std::uint32_t levels, std::uint64_t bytes);

}  // namespace softib::plan
