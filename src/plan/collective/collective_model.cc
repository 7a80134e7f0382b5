// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/collective_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "net/flow/flow_simulation.h"
#include "net/latency.h"
#include "net/simulation.h"

namespace softib::plan {

namespace {

constexpr double kPsPerUs = 1e6;

net::SimulationOptions simulation_options(const Cluster& cluster,
                                          const CollectiveOptions& options) {
    const ClusterFabric& fabric = cluster.fabric;
    net::SimulationOptions result;
    result.engine = fabric.engine;
    result.plant.cable_ps =
        static_cast<net::TimePs>(fabric.cable_m * static_cast<double>(link::kPsPerMetre));
    result.plant.hca_ps = 2 * net::kAdapterLatency;
    result.hosts.mtu = fabric.mtu;
    if (fabric.link_layer == LinkLayer::kRoce) {
        // What wire_efficiency() counts: Ethernet, IPv4, UDP and the gap between frames.
        result.hosts.header_bytes = static_cast<std::uint16_t>(
            std::lround(fabric.mtu / wire_efficiency(fabric.link_layer, fabric.mtu) - fabric.mtu));
    }
    // PCIe of the same speed as the model's links.
    const double pcie = cluster.pcie.bytes_per_s / fabric.speed_factor;
    const std::uint32_t link_ps = link::ps_per_block(fabric.spec.generation, topo::Width::k4x);
    if (pcie < 64e12 / link_ps) {
        result.hosts.pcie_block_ps = static_cast<std::uint32_t>(std::lround(64e12 / pcie));
    }
    result.hosts.adaptive = fabric.adaptive;
    result.failures = options.failures;
    return result;
}

std::expected<std::unique_ptr<net::Model>, std::string> make_network(const topo::Fabric& fabric,
                                                                     net::SimulationOptions options,
                                                                     net::ModelKind kind) {
    for (;;) {
        std::string refused;
        if (kind == net::ModelKind::kFlow) {
            auto made = net::flow::FlowSimulation::make(fabric, options);
            if (made) {
                return *std::move(made);
            }
            refused = made.error().message;
        } else {
            auto made = net::Simulation::make(fabric, options);
            if (made) {
                return std::make_unique<net::Simulation>(*std::move(made));
            }
            refused = made.error().message;
        }
        // Routes that leave no choice are taken as they are.
        if (!options.hosts.adaptive) {
            return std::unexpected(refused);
        }
        options.hosts.adaptive = false;
    }
}

}  // namespace

double nvlink_rate(const Cluster& cluster) {
    // NCCL's figure for a link of each generation; rates of others are taken as given.
    const std::uint32_t cc = cluster.gpu.compute_capability;
    const double link = (cc >= 100 ? 40.1 : cc >= 90 ? 20.6 : 20.0) * 1e9;
    const double known = link * cluster.nvlink.links;
    return known > 0 ? std::min(known, cluster.nvlink.bytes_per_s) : cluster.nvlink.bytes_per_s;
}

CollectiveModel::CollectiveModel(const Cluster& cluster, const CollectiveOptions& options)
    : cluster_(cluster),
      layout_(cluster_, options.domains, options.order, options.rails_aligned, options.seed),
      stack_(options.stack),
      channels_(options.channels != 0 ? options.channels : 2 * layout_.nics_per_domain()),
      comm_(nccl::communicator_of(cluster_, options.domains)),
      failures_(options.failures) {
    const double hop =
        static_cast<double>(net::switch_latency(cluster_.fabric.spec.generation)) / kPsPerUs;
    const double cable = cluster_.fabric.cable_m * 0.005;
    leaf_us_ = 2 * static_cast<double>(net::kAdapterLatency) / kPsPerUs + hop + 2 * cable;
}

std::expected<std::unique_ptr<CollectiveModel>, std::string> CollectiveModel::make(
    const Cluster& cluster, const CollectiveOptions& asked) {
    if (const auto fault = find_fault(cluster)) {
        return std::unexpected(*fault);
    }
    CollectiveOptions options = asked;
    Cluster used = cluster;
    if (options.stack == Stack::kHost) {
        used.gpus_per_node = 1;
        used.nvlink = {.domain_gpus = 1};
        used.fabric.spec.hcas_per_host = 1;
        if (used.fabric.spec.shape == topo::Shape::kSuperPod ||
            used.fabric.spec.shape == topo::Shape::kRailOptimized ||
            used.fabric.spec.shape == topo::Shape::kRailOnly) {
            used.fabric.spec.shape = topo::Shape::kFatTree;
        }
    }
    const std::uint32_t domains = used.gpus() / used.domain_gpus();
    if (options.domains == 0) {
        options.domains = domains;
    }
    if (options.domains > domains) {
        return std::unexpected(
            fmt::format("the cluster has {} NVLink domains, not {}: take {} or "
                        "fewer",
                        domains, options.domains, domains));
    }
    std::unique_ptr<CollectiveModel> model(new CollectiveModel(used, options));
    if (auto routed = model->route(options); !routed) {
        return std::unexpected(routed.error());
    }
    return model;
}

std::expected<void, std::string> CollectiveModel::route(const CollectiveOptions& options) {
    auto fabric = topo::generate(cluster_.fabric.spec);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    auto network = make_network(*fabric, simulation_options(cluster_, options), options.model);
    if (!network) {
        return std::unexpected(network.error());
    }
    network_ = *std::move(network);
    StageConfig config;
    config.speed_factor = cluster_.fabric.speed_factor;
    if (options.model == net::ModelKind::kFlow) {
        config.bytes_max = UINT64_MAX;
        config.flow_slices_max = 8;
    }
    stage_ = std::make_unique<Stage>(*network_, config);
    return {};
}

nccl::Choice CollectiveModel::choose(Op op, std::uint64_t bytes) const {
    const auto chosen = nccl::choose(comm_, op, bytes);
    return chosen.value_or(
        nccl::Choice{computes(Algorithm::kDirect, op) ? Algorithm::kDirect : Algorithm::kRing,
                     Protocol::kSimple, 0});
}

std::expected<CollectiveModel::Parts, std::string> CollectiveModel::parts_of(Op op,
                                                                             Algorithm algorithm,
                                                                             Protocol protocol,
                                                                             std::uint64_t bytes) {
    if (stack_ == Stack::kHost) {
        return on_hosts(op, algorithm, bytes);
    }
    const bool across = layout_.domains() > 1;
    if (algorithm == Algorithm::kSharp || algorithm == Algorithm::kSharpChain) {
        return sharp(op, algorithm, bytes);
    }
    if (!across) {
        return inside(op, algorithm, protocol, static_cast<double>(bytes));
    }
    switch (algorithm) {
        case Algorithm::kRing:
            return ring(op, protocol, bytes);
        case Algorithm::kTree:
        case Algorithm::kNvlsTree:
            return tree(op, algorithm, protocol, bytes);
        case Algorithm::kNvls:
        case Algorithm::kHierarchical:
            return levels(op, algorithm, protocol, bytes);
        case Algorithm::kRecursive:
            return recursive(op, protocol, bytes);
        case Algorithm::kPat:
            return pat(op, bytes);
        default:
            return direct(op, bytes);
    }
}

std::expected<Played, std::string> CollectiveModel::play(const Parts& parts, std::size_t round,
                                                         Op op, Algorithm algorithm,
                                                         Protocol protocol) {
    const Flows& flows = parts.rounds[round];
    const std::uint64_t longest =
        flows.empty() ? 0 : std::ranges::max(flows, {}, &NicFlow::bytes).bytes;
    const auto key = std::tuple(op, algorithm, protocol, round);
    if (const auto known = known_.find(key);
        known != known_.end() && known->second.bytes <= longest) {
        Played played = known->second.played;
        played.us *= static_cast<double>(longest) / static_cast<double>(known->second.bytes);
        return played;
    }
    auto played = stage_->play(flows, parts.flow_bytes_per_s);
    if (played && played->scaled) {
        known_[key] = {longest, *played};
    }
    return played;
}

std::expected<Timing, std::string> CollectiveModel::time(Op op, Algorithm algorithm,
                                                         std::uint64_t bytes,
                                                         std::optional<Protocol> wanted) {
    if (!computes(algorithm, op)) {
        return std::unexpected(
            fmt::format("{} is no algorithm for {}", to_string(algorithm), to_string(op)));
    }
    bytes = std::max<std::uint64_t>(bytes, 1);
    Timing timing;
    timing.protocol = wanted.value_or(nccl::choose_protocol(comm_, op, algorithm, bytes));
    const auto parts = parts_of(op, algorithm, timing.protocol, bytes);
    if (!parts) {
        return std::unexpected(parts.error());
    }
    double latency_us = 0;
    for (std::size_t round = 0; round < parts->rounds.size(); ++round) {
        const auto played = play(*parts, round, op, algorithm, timing.protocol);
        if (!played) {
            return std::unexpected(played.error());
        }
        timing.fabric_us += played->us * parts->repeats;
        if (stack_ == Stack::kHost) {
            timing.fabric_us += played->latency_us * parts->repeats;
        }
        latency_us = std::max(latency_us, played->latency_us);
        timing.scaled = timing.scaled || played->scaled;
    }
    timing.fabric_us = std::max(timing.fabric_us, parts->fabric_us_min) + parts->streamed_us;
    timing.nvlink_us = parts->nvlink_us;
    timing.software_us = parts->software_us + parts->round_us * parts->repeats *
                                                  static_cast<double>(parts->rounds.size());
    if (stack_ == Stack::kNccl) {
        // NCCL's constants have a short way through the fabric in them.
        timing.software_us += std::max(latency_us - leaf_us_, 0.0);
    }
    timing.us = timing.software_us + std::max(timing.fabric_us, timing.nvlink_us);
    timing.algbw = static_cast<double>(bytes) / timing.us / 1e3;
    timing.busbw = timing.algbw * bus_factor(op, ranks());
    return timing;
}

std::expected<double, std::string> CollectiveModel::send_between_nodes(std::uint64_t bytes,
                                                                       std::uint32_t rails) {
    Flows flows;
    const std::uint32_t nics = cluster_.nics_per_node();
    for (std::uint32_t rail = 0; rail < std::min(rails, nics); ++rail) {
        flows.push_back({rail, nics + rail, std::max<std::uint64_t>(bytes / rails, 1), 0});
    }
    const auto played = stage_->play(flows);
    if (!played) {
        return std::unexpected(played.error());
    }
    return played->us + played->latency_us;
}

}  // namespace softib::plan
