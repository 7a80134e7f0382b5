// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/cluster_network.h"

#include <cmath>

#include "core/topo/spec.h"
#include "net/flow/flow_simulation.h"
#include "net/plant/latency.h"
#include "net/sim/simulation.h"
#include "plan/cluster/fabric.h"

namespace softib::plan {

net::SimulationOptions network_options(const Cluster& cluster, net::ModelKind kind,
                                       const std::vector<net::Failure>& failures) {
    const ClusterFabric& fabric = cluster.fabric;
    net::SimulationOptions result;
    result.engine = fabric.engine;
    result.plant.cable_ps =
        static_cast<net::TimePs>(fabric.cable_m * static_cast<double>(link::kPsPerMetre));
    // A packet takes `planes` times as long on the link of a plane as on the modelled one.
    const std::uint32_t link_ps = link::ps_per_block(fabric.spec.generation, topo::Width::k4x);
    result.plant.hca_ps =
        2 * net::kAdapterLatency + (fabric.planes - 1) * link::transmit_time(fabric.mtu, link_ps);
    result.hosts.mtu = fabric.mtu;
    if (fabric.link_layer == LinkLayer::kRoce && kind == net::ModelKind::kPacket) {
        // PFC, ECN with DCQCN, and ECMP by a hash of the connection, as in large RoCE clusters.
        result.roce = net::RoceOptions{.ecmp = net::RoceOptions::Ecmp::kConnection};
    } else if (fabric.link_layer == LinkLayer::kRoce) {
        // The headers that wire_efficiency() counts: Ethernet, IPv4, UDP and the gap between
        // frames.
        result.hosts.header_bytes = static_cast<std::uint16_t>(
            std::lround(fabric.mtu / wire_efficiency(fabric.link_layer, fabric.mtu) - fabric.mtu));
    }
    // The model's links have the rate of a NIC with all its planes, so PCIe is slowed by the same
    // factor.
    const double pcie = cluster.pcie.bytes_per_s / fabric.speed_factor();
    if (pcie < 64e12 / link_ps) {
        result.hosts.pcie_block_ps = static_cast<std::uint32_t>(std::lround(64e12 / pcie));
    }
    result.hosts.adaptive = fabric.adaptive;
    result.failures = failures;
    return result;
}

std::expected<std::unique_ptr<net::Model>, std::string> make_network(
    const Cluster& cluster, net::ModelKind kind, const std::vector<net::Failure>& failures) {
    auto fabric = modelled_plane(cluster);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    net::SimulationOptions options = network_options(cluster, kind, failures);
    for (;;) {
        std::string refused;
        if (kind == net::ModelKind::kFlow) {
            auto made = net::flow::FlowSimulation::make(*fabric, options);
            if (made) {
                return *std::move(made);
            }
            refused = made.error().message;
        } else {
            auto made = net::Simulation::make(*fabric, options);
            if (made) {
                return std::make_unique<net::Simulation>(*std::move(made));
            }
            refused = made.error().message;
        }
        // Routes without a choice of ports are refused as adaptive; they are taken as fixed.
        if (!options.hosts.adaptive) {
            return std::unexpected(refused);
        }
        options.hosts.adaptive = false;
    }
}

}  // namespace softib::plan
