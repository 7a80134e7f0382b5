// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/stage.h"

#include <fmt/format.h>

#include <utility>

#include "core/topo/spec.h"
#include "net/plant/latency.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/cluster_network.h"
#include "plan/collective/flow_stage.h"
#include "plan/collective/message_stage.h"

namespace softib::plan {

namespace {

std::expected<std::unique_ptr<Stage>, std::string> stage_of(const topo::Fabric& fabric,
                                                            const net::SimulationOptions& options,
                                                            net::ModelKind kind,
                                                            double speed_factor) {
    if (kind == net::ModelKind::kFlow) {
        return FlowStage::make(fabric, options, speed_factor);
    }
    auto made = net::Simulation::make(fabric, options);
    if (!made) {
        return std::unexpected(made.error().message);
    }
    return std::make_unique<MessageStage>(std::make_unique<net::Simulation>(*std::move(made)),
                                          MessageStageConfig{.speed_factor = speed_factor});
}

}  // namespace

std::expected<std::unique_ptr<Stage>, std::string> make_stage(const Cluster& cluster,
                                                              const StageOptions& options) {
    const auto fabric = modelled_plane(cluster);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    net::SimulationOptions model = network_options(cluster, options.model, options.failures);
    const double speed = cluster.fabric.speed_factor();
    auto stage = stage_of(*fabric, model, options.model, speed);
    if (!stage && model.hosts.adaptive) {
        // Routes without a choice of ports are refused as adaptive; they are taken as fixed.
        model.hosts.adaptive = false;
        stage = stage_of(*fabric, model, options.model, speed);
    }
    return stage;
}

net::SimulationOptions packet_options(const Cluster& cluster) {
    return network_options(cluster, net::ModelKind::kPacket, {});
}

double leaf_latency_us(const Cluster& cluster) {
    const net::TimePs silicon =
        2 * net::kAdapterLatency + net::switch_latency(cluster.fabric.spec.generation);
    constexpr double kMetreUs = 0.005;
    return static_cast<double>(silicon) / 1e6 + 2 * cluster.fabric.cable_m * kMetreUs;
}

std::string no_way(const NicFlow& flow) {
    return fmt::format(
        "no message goes from end port {} to end port {}: the fabric's routes do not join them",
        flow.from, flow.to);
}

}  // namespace softib::plan
