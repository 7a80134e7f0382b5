// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// End ports by name: "h3", "h3/mlx5_1", lists and ranges ("h0-h15, h31"), "all".

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/topo/fabric.h"
#include "net/model.h"

namespace softib::plan {

class Ends {
  public:
    explicit Ends(const topo::Fabric& fabric);

    std::uint32_t count() const { return static_cast<std::uint32_t>(names_.size()); }
    /// The host's, if it has one HCA; else with the device.
    const std::string& name(std::uint32_t end) const { return names_[end]; }
    /// A host with several HCAs is its first.
    std::expected<std::uint32_t, std::string> find(std::string_view name) const;
    std::expected<std::vector<std::uint32_t>, std::string> find_list(std::string_view list) const;

  private:
    std::vector<std::string> names_;
    std::map<std::string, std::uint32_t, std::less<>> number_;
};

/// "leaf3:17", "h0", "h0/mlx5_1".
std::string name_of(const topo::Fabric& fabric, const net::Hop& hop);
/// The port of "leaf3:17", "h0" or "h0/mlx5_1", which must have a cable.
std::expected<net::Hop, std::string> find_port(const topo::Fabric& fabric, std::string_view name);
/// Port 0 of the switch of this name.
std::expected<net::Hop, std::string> find_switch(const topo::Fabric& fabric, std::string_view name);
/// Port 0 of each of the nodes that the router of this name is.
std::expected<std::vector<net::Hop>, std::string> find_router(const topo::Fabric& fabric,
                                                              std::string_view name);
/// "leaf3"; "router3" for each port of that router.
std::string name_of_node(const topo::Fabric& fabric, std::uint32_t node);

}  // namespace softib::plan
