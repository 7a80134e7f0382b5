// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A stage plays sets of flows on a cluster's fabric with its routes. FlowStage (flow_stage.h)
// computes rates; MessageStage (message_stage.h) sends messages on a model of packets.
// make_stage() makes the stage for a kind of model.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/model.h"
#include "net/sim/failures.h"
#include "net/sim/simulation.h"
#include "plan/cluster/cluster.h"
#include "plan/collective/flows.h"
#include "plan/fabric_load.h"

namespace softib::plan {

struct Played {
    double us = 0;          ///< Time until the last flow is done, without its latency.
    double latency_us = 0;  ///< Time that a bit takes from NIC to NIC, for the slowest flow.
    bool scaled = false;    ///< Whether only a part of the bytes was played, the same of each flow.
    bool by_rates = false;  ///< Whether the time of long flows is proportional to their bytes.
};

/// What flows put on the cables of a fabric.
struct Carried {
    const topo::Fabric* fabric = nullptr;  ///< That of the stage.
    std::vector<PortUse> ports = {};       ///< All ports that have a cable.
};

class Stage {
  public:
    virtual ~Stage() = default;
    /// Plays the flows, all beginning at once. `flow_bytes_per_s` is the highest rate of a flow; 0:
    /// no limit. The error names the end ports of a flow that has no route.
    virtual std::expected<Played, std::string> play(const Flows& flows,
                                                    double flow_bytes_per_s = 0) = 0;
    /// Returns the bytes that the flows put on each direction of each cable; std::nullopt if the
    /// stage does not know, or a flow has no route.
    virtual std::optional<Carried> carried(const Flows&) const { return std::nullopt; }
};

struct StageOptions {
    net::ModelKind model = net::ModelKind::kFlow;
    std::vector<net::Failure> failures = {};  ///< What has failed from the beginning on.
};

/// Makes a stage. The error says what does not fit and what to do.
std::expected<std::unique_ptr<Stage>, std::string> make_stage(const Cluster& cluster,
                                                              const StageOptions& options);

/// Returns the options of a model of packets for a cluster's fabric.
net::SimulationOptions packet_options(const Cluster& cluster);

/// Returns the time that a bit takes between two HCAs of one leaf switch.
double leaf_latency_us(const Cluster& cluster);

/// Returns the error that the routes do not connect the ends of a flow, in the same words for every
/// stage.
std::string no_way(const NicFlow& flow);

}  // namespace softib::plan
