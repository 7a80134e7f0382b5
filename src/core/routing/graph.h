// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet as routing engines see it: switches, the cables between them, and the end ports that
// have LIDs. A graph does not say what shape the subnet has; engines find that out. A GraphBuilder
// makes a graph, which is then only read.
//
// Switches are numbered 0 to switch_count() - 1 in the order of add_switch. A cable between two
// switches is two links, one per direction. Channel dependencies use the index of a link too.
//
// Parallel cables, islands (parts that no cable joins), switches without hosts and hosts on any
// switch are all legal.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace softib::topo {
struct Fabric;
}

namespace softib::routing {

struct Error {
    std::string message;  ///< One sentence that says what is wrong and what to do.
};

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// The way out of a switch through one port to another switch.
struct Link {
    std::uint32_t peer;      ///< Switch at the other end.
    std::uint8_t port;       ///< Out port of this switch.
    std::uint8_t peer_port;  ///< In port of the peer.
};

/// An end port: an HCA's (or router's) port, or port 0 of a switch.
struct Target {
    Guid guid;
    Lid lid;  ///< First of 2^lmc LIDs.
    std::uint8_t lmc = 0;
    std::uint8_t port = 0;    ///< Port of switch `at` that leads to it; 0 if it is the switch.
    std::uint32_t at = 0;     ///< Switch that it is cabled to, or that it is.
    std::uint32_t order = 0;  ///< Position among the hosts, as programs number them.

    bool is_switch() const { return port == 0; }
    std::uint32_t lid_count() const { return 1U << lmc; }
};

class Graph {
  public:
    std::uint32_t switch_count() const { return static_cast<std::uint32_t>(guids_.size()); }
    Guid guid(std::uint32_t sw) const { return guids_[sw]; }

    /// All links, by switch and then by port number.
    std::span<const Link> links() const { return links_; }
    std::span<const Link> links(std::uint32_t sw) const {
        return std::span(links_).subspan(first_link_[sw], first_link_[sw + 1] - first_link_[sw]);
    }
    std::uint32_t first_link(std::uint32_t sw) const { return first_link_[sw]; }
    std::uint32_t degree(std::uint32_t sw) const { return first_link_[sw + 1] - first_link_[sw]; }
    /// The link that is the same cable in the other direction.
    std::uint32_t reverse(std::uint32_t link) const { return reverse_[link]; }
    std::uint32_t source(std::uint32_t link) const { return links_[reverse_[link]].peer; }
    /// Returns the link that leaves a switch by a port; kNone if no other switch is behind it.
    std::uint32_t link_at(std::uint32_t sw, std::uint8_t port) const {
        const std::uint8_t place = place_of_port_[std::size_t{sw} * 256 + port];
        return place == 0xFF ? kNone : first_link_[sw] + place;
    }

    std::span<const Target> targets() const { return targets_; }
    /// Indices of the targets of one switch: hosts by `order`, then the switch itself.
    std::span<const std::uint32_t> targets(std::uint32_t sw) const {
        return std::span(by_switch_)
            .subspan(first_target_[sw], first_target_[sw + 1] - first_target_[sw]);
    }
    std::uint32_t host_count() const { return host_count_; }
    std::uint32_t host_count(std::uint32_t sw) const { return hosts_of_[sw]; }
    Lid lid_max() const { return lid_max_; }
    /// Returns the index of the target that has this LID; kNone if none has.
    std::uint32_t target_of(Lid lid) const {
        return lid.value < target_of_lid_.size() ? target_of_lid_[lid.value] : kNone;
    }
    /// Returns all LIDs at a switch: those of its hosts by `order`, then its own.
    std::vector<Lid> lids(std::uint32_t sw) const;
    /// Calls visit(target, lid) for every LID of the subnet in ascending order.
    void for_each_lid(auto visit) const {
        for (std::uint32_t lid = 1; lid < target_of_lid_.size(); ++lid) {
            if (target_of_lid_[lid] != kNone) {
                visit(targets_[target_of_lid_[lid]], Lid{static_cast<std::uint16_t>(lid)});
            }
        }
    }

  private:
    friend class GraphBuilder;

    std::vector<Guid> guids_;
    std::vector<std::uint32_t> first_link_;  ///< Index of each switch's first link; one more entry.
    std::vector<Link> links_;
    std::vector<std::uint32_t> reverse_;
    std::vector<std::uint8_t> place_of_port_;  ///< By switch and port: place among its links.
    std::vector<Target> targets_;
    std::vector<std::uint32_t> first_target_;
    std::vector<std::uint32_t> by_switch_;
    std::vector<std::uint32_t> hosts_of_;
    std::vector<std::uint32_t> target_of_lid_;
    std::uint32_t host_count_ = 0;
    Lid lid_max_;
};

/// Makes a graph. Its parts may be added in any order; build() checks that they fit together.
class GraphBuilder {
  public:
    std::uint32_t add_switch(Guid guid);
    /// Adds a cable between two switches. A cable from a switch to itself is left out, since no
    /// route uses it.
    void add_cable(std::uint32_t a, std::uint8_t port_a, std::uint32_t b, std::uint8_t port_b);
    void add_target(const Target& target) { targets_.push_back(target); }
    std::expected<Graph, Error> build();

  private:
    struct Cable {
        std::uint32_t from, to;
        std::uint8_t port, peer_port;
    };

    std::expected<void, Error> check_cables() const;
    std::expected<void, Error> place_targets(Graph& graph) const;
    void place_links(Graph& graph);

    std::vector<Guid> guids_;
    std::vector<Cable> cables_;  ///< Each cable twice, once in each direction.
    std::vector<Target> targets_;
};

/// The neighbours of each switch, with parallel cables taken together, as most searches need them.
class Neighbours {
  public:
    explicit Neighbours(const Graph& graph);

    struct Neighbour {
        std::uint32_t peer;
        std::uint32_t first;  ///< Index of the first cable to this peer; they are in port order.
        std::uint32_t count;  ///< Number of cables to this peer.
    };

    /// Returns the neighbours of one switch, in the order of their lowest port.
    std::span<const Neighbour> of(std::uint32_t sw) const {
        return std::span(neighbours_).subspan(first_[sw], first_[sw + 1] - first_[sw]);
    }
    std::uint32_t first(std::uint32_t sw) const { return first_[sw]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(neighbours_.size()); }
    /// Link indices of all cables to one neighbour.
    std::span<const std::uint32_t> links(const Neighbour& neighbour) const {
        return std::span(links_).subspan(neighbour.first, neighbour.count);
    }

  private:
    std::vector<std::uint32_t> first_;
    std::vector<Neighbour> neighbours_;
    std::vector<std::uint32_t> links_;
};

/// Returns, by switch, the lowest switch of its island.
std::vector<std::uint32_t> find_islands(const Graph& graph);

/// Returns, by switch, the hops from the nearest of `starts`; kNone if no path leads to one.
std::vector<std::uint32_t> hops_from(const Graph& graph, std::span<const std::uint32_t> starts);
std::vector<std::uint32_t> hops_from(const Graph& graph, std::uint32_t start);

/// Returns the graph of a fabric with LIDs by node index. Nodes without a cable have no target.
/// Hosts are ordered as programs number them (topo::hcas_in_order).
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::span<const Lid> lids,
                                     std::uint8_t lmc = 0);
/// Returns the graph of one subnet of a fabric.
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::span<const Lid> lids,
                                     SubnetId subnet);

/// Returns the graph of a fabric with the LIDs that bring-up gives: HCAs first, in node order from
/// 1 on, then switches, then the rest. Each HCA takes 2^lmc LIDs, at a multiple of 2^lmc.
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::uint8_t lmc = 0);

}  // namespace softib::routing
