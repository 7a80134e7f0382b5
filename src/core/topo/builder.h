// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What all generators share: where the HCAs go, and a builder that hands out names, GUIDs and
// port numbers. Internal to this folder.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::topo {

/// Ports are 8 bit; 0 is the management port, and 255 stands for "no path" in a forwarding table
/// (IBA vol. 1, 14.2.5.10).
inline constexpr std::uint32_t kSwitchPortsMax = 254;

template <typename Integer>
constexpr Integer ceil_div(Integer numerator, Integer denominator) {
    return (numerator + denominator - 1) / denominator;
}

/// HCAs of the whole fabric; `generate` has checked that it fits.
inline std::uint32_t hca_count(const Spec& spec) {
    return spec.hosts * spec.hcas_per_host;
}

/// The pattern with its first "{}" replaced by the number.
std::string fill_pattern(const std::string& pattern, std::uint32_t index);

/// Which leaf switch an HCA is cabled to. Pure arithmetic, so that a generator can size the
/// fabric with it before it builds anything.
class Placement {
  public:
    /// Spreads all HCAs over `leaves`. Hosts with several HCAs get one rail per HCA (leaf j, then
    /// j + hcas_per_host, …) where that needs no more than `per_leaf_max` ports of a leaf, unless
    /// a fat tree says how many HCAs a leaf has: then those of a host stay together. Hosts
    /// are then spread evenly, or fill sets of leaves one after the other, `hosts_per_unit` each.
    Placement(const Spec& spec, std::uint32_t leaves, std::uint32_t per_leaf_max,
              std::uint32_t hosts_per_unit = 0);

    std::uint32_t leaf_of(std::uint32_t host, std::uint32_t hca) const;
    std::uint32_t per_leaf() const;  ///< HCAs on the fullest leaf.

  private:
    enum class Mode : std::uint8_t { kInOrder, kRoundRobin, kRails };

    std::uint64_t hosts_;
    std::uint64_t hcas_per_host_;
    std::uint64_t leaves_;
    std::uint64_t hosts_per_unit_;
    Mode mode_ = Mode::kInOrder;
};

/// Builds a fabric: hosts and HCAs first (so that they get the low node indices, and with them the
/// low LIDs), then the switches in the order of `add_switch`.
class FabricBuilder {
  public:
    explicit FabricBuilder(const Spec& spec);

    NodeIndex add_switch(std::string name, std::uint32_t ports, std::uint32_t level,
                         std::vector<std::uint32_t> coordinates = {});
    /// One cable between the lowest free port of each.
    void cable(NodeIndex a, NodeIndex b);
    void cable_hcas(std::span<const NodeIndex> leaves, const Placement& placement);
    /// The same for the HCAs that have this number on their hosts; leaves are those of hosts with
    /// one HCA.
    void cable_rail(std::uint32_t rail, std::span<const NodeIndex> leaves,
                    const Placement& placement);
    Fabric take();

  private:
    NodeIndex add_node(Node node);

    Generation generation_;
    Fabric fabric_;
    std::vector<std::uint16_t> port_next_;  ///< By node index.
    std::uint32_t switches_ = 0;
};

}  // namespace softib::topo
