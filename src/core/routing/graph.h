// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet as routing engines see it: switches, the cables between them, and the end ports that
// have LIDs. Nothing in it says what shape the subnet has; engines find that out. It is a value:
// a GraphBuilder makes it, then it is only read.
//
// Switches are numbered 0 to switch_count() - 1 in the order of add_switch. A cable between two
// switches is two links, one per direction; a link's index is also the name of the channel that its
// buffers form, so that channel dependencies need no other numbering.
//
// Parallel cables, islands, switches without hosts and hosts on any switch are all legal.

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
    std::uint8_t port;       ///< Out port here.
    std::uint8_t peer_port;  ///< In port there.
};

/// An end port: an HCA's (or router's) port, or port 0 of a switch.
struct Target {
    Guid guid;
    Lid lid;  ///< First of 2^lmc LIDs.
    std::uint8_t lmc = 0;
    std::uint8_t port = 0;    ///< Port of `at` that leads to it; 0: the switch itself.
    std::uint32_t at = 0;     ///< Switch.
    std::uint32_t order = 0;  ///< Position among the hosts, as programs number them.

    bool is_switch() const { return port == 0; }
    std::uint32_t lid_count() const { return 1U << lmc; }
};

class Graph {
  public:
    std::uint32_t switch_count() const { return static_cast<std::uint32_t>(guids_.size()); }
    Guid guid(std::uint32_t sw) const { return guids_[sw]; }

    /// All links, those of one switch together and by port number.
    std::span<const Link> links() const { return links_; }
    std::span<const Link> links(std::uint32_t sw) const {
        return std::span(links_).subspan(first_link_[sw], first_link_[sw + 1] - first_link_[sw]);
    }
    std::uint32_t first_link(std::uint32_t sw) const { return first_link_[sw]; }
    std::uint32_t degree(std::uint32_t sw) const { return first_link_[sw + 1] - first_link_[sw]; }
    /// The same cable in the other direction.
    std::uint32_t reverse(std::uint32_t link) const { return reverse_[link]; }
    std::uint32_t source(std::uint32_t link) const { return links_[reverse_[link]].peer; }
    /// The link behind a port; kNone where no other switch is behind it.
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
    /// Index of the target that has this LID, or kNone.
    std::uint32_t target_of(Lid lid) const {
        return lid.value < target_of_lid_.size() ? target_of_lid_[lid.value] : kNone;
    }
    /// All LIDs of a switch: those of its hosts by `order`, then its own.
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
    std::vector<std::uint32_t> first_link_;  ///< By switch, one more at the end.
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

/// Takes the pieces in any order; `build` checks that they fit together.
class GraphBuilder {
  public:
    std::uint32_t add_switch(Guid guid);
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
    std::vector<Cable> cables_;  ///< Both directions of each.
    std::vector<Target> targets_;
};

/// Switch-to-switch neighbours with parallel cables put together: most searches need no more.
class Neighbours {
  public:
    explicit Neighbours(const Graph& graph);

    struct Neighbour {
        std::uint32_t peer;
        std::uint32_t first;  ///< Into `links()`: the cables to this peer, by port number.
        std::uint32_t count;
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

/// By switch: the lowest switch of its island.
std::vector<std::uint32_t> find_islands(const Graph& graph);

/// By switch: hops from the nearest of some switches; kNone where none is near.
std::vector<std::uint32_t> hops_from(const Graph& graph, std::span<const std::uint32_t> starts);
std::vector<std::uint32_t> hops_from(const Graph& graph, std::uint32_t start);

/// A fabric with LIDs by node index; what has no cable has no target. Hosts are ordered as the
/// fabric lists its nodes.
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::span<const Lid> lids,
                                     std::uint8_t lmc = 0);
/// One of its subnets.
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::span<const Lid> lids,
                                     SubnetId subnet);

/// The same with LIDs by the rule of bring-up: HCAs first, in node order from 1 on, then switches,
/// then the rest; each HCA takes 2^lmc of them, at a multiple of 2^lmc.
std::expected<Graph, Error> graph_of(const topo::Fabric& fabric, std::uint8_t lmc = 0);

}  // namespace softib::routing
