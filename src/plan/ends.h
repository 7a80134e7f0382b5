// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Names of end ports (HCA ports), switches and routers: "h3", "h3/mlx5_1", lists and ranges
// ("h0-h15, h31"), "all".

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/graph.h"
#include "net/model.h"

namespace softib::plan {

/// The end ports of a fabric, numbered host by host.
class Ends {
  public:
    explicit Ends(const topo::Fabric& fabric);

    std::uint32_t count() const { return static_cast<std::uint32_t>(names_.size()); }
    /// Returns the host's name if the host has one HCA, else "HOST/DEVICE".
    const std::string& name(std::uint32_t end) const { return names_[end]; }
    /// Returns the end port of this name; a host's name stands for its first HCA.
    std::expected<std::uint32_t, std::string> find(std::string_view name) const;
    /// Returns the end ports of a list such as "h0-h15,h31" or "all".
    std::expected<std::vector<std::uint32_t>, std::string> find_list(std::string_view list) const;

  private:
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> number_;
};

/// Returns the name of a port: "leaf3:17", "h0", "h0/mlx5_1".
std::string name_of(const topo::Fabric& fabric, const net::Hop& hop);
/// Returns the port of "leaf3:17", "h0" or "h0/mlx5_1", which must have a cable.
std::expected<net::Hop, std::string> find_port(const topo::Fabric& fabric, std::string_view name);
/// Returns port 0 of the switch of this name.
std::expected<net::Hop, std::string> find_switch(const topo::Fabric& fabric, std::string_view name);
/// Returns port 0 of each node of the router of this name: a router is one node in each subnet.
std::expected<std::vector<net::Hop>, std::string> find_router(const topo::Fabric& fabric,
                                                              std::string_view name);
/// Returns the name of a node: "leaf3". All nodes of a router have one name: "router3".
std::string name_of_node(const topo::Fabric& fabric, std::uint32_t node);

}  // namespace softib::plan
