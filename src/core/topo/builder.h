// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The parts that all generators share: the placement of HCAs on leaf switches, and a builder that
// assigns names, GUIDs and port numbers. Internal to this folder.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

/// The most external ports of a switch. Port numbers have 8 bits; 0 is the management port, and 255
/// stands for "no path" in a forwarding table (IBA vol. 1, 14.2.5.10).
inline constexpr std::uint32_t kSwitchPortsMax = 254;
/// The most ports of a switch in a fabric that is only counted, as Ethernet's largest have.
inline constexpr std::uint32_t kPaperPortsMax = 512;

/// Returns the most ports of a switch of this fabric.
inline std::uint32_t ports_max(const Spec& spec) {
    return spec.on_paper ? kPaperPortsMax : kSwitchPortsMax;
}

template <typename Integer>
constexpr Integer ceil_div(Integer numerator, Integer denominator) {
    return (numerator + denominator - 1) / denominator;
}

/// Returns the number of HCAs of the whole fabric; `generate` has checked that it fits 32 bits.
inline std::uint32_t hca_count(const Spec& spec) {
    return spec.hosts * spec.hcas_per_host;
}

/// Returns the pattern with its first "{}" replaced by the number.
std::string fill_pattern(const std::string& pattern, std::uint32_t index);

/// The assignment of HCAs to leaf switches. It is computed without a fabric, so that a generator
/// can use it to size the fabric before building anything.
class Placement {
  public:
    /// Spreads all HCAs over `leaves` leaf switches. Hosts with several HCAs get rails if these
    /// need no more than `per_leaf_max` ports of a leaf: HCA j of each host goes to leaf j of a set
    /// of hcas_per_host leaves. The hosts are spread evenly over these sets or, with
    /// `hosts_per_unit`, fill one set after the other with that many hosts. There are no rails in a
    /// fat tree with Spec::hosts_per_switch: the HCAs of a host then stay together.
    Placement(const Spec& spec, std::uint32_t leaves, std::uint32_t per_leaf_max,
              std::uint32_t hosts_per_unit = 0);

    std::uint32_t leaf_of(std::uint32_t host, std::uint32_t hca) const;
    std::uint32_t per_leaf() const;  ///< Returns the number of HCAs on the fullest leaf.

  private:
    enum class Mode : std::uint8_t { kInOrder, kRoundRobin, kRails };

    std::uint64_t hosts_;
    std::uint64_t hcas_per_host_;
    std::uint64_t leaves_;
    std::uint64_t hosts_per_unit_;
    Mode mode_ = Mode::kInOrder;
};

/// Builds a fabric: first the hosts with their HCAs, which thus get the low node indices and the
/// low LIDs, then the switches in the order of the calls of `add_switch`.
class FabricBuilder {
  public:
    explicit FabricBuilder(const Spec& spec);

    NodeIndex add_switch(std::string name, std::uint32_t ports, std::uint32_t level,
                         std::vector<std::uint32_t> coordinates = {});
    /// Adds a cable between the lowest free ports of two nodes.
    void cable(NodeIndex a, NodeIndex b);
    /// Cables all HCAs to their leaves.
    void cable_hcas(std::span<const NodeIndex> leaves, const Placement& placement);
    /// Cables HCA number `rail` of each host to its leaf. `placement` is for hosts with one HCA.
    void cable_rail(std::uint32_t rail, std::span<const NodeIndex> leaves,
                    const Placement& placement);
    Fabric take();

  private:
    NodeIndex add_node(Node node);

    Generation generation_;
    bool on_paper_;
    Fabric fabric_;
    std::vector<std::uint16_t> port_next_;  ///< The lowest free port, by node index.
    std::uint32_t switches_ = 0;
};

}  // namespace softib::topo
