// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where sets of flows are played: a cluster's fabric with its routes. FlowStage (flow_stage.h) has
// rates, MessageStage messages on any model of a fabric; make_stage() makes the one that is asked
// for.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "net/failures.h"
#include "net/model.h"
#include "net/simulation.h"
#include "plan/cluster/cluster.h"
#include "plan/collective/flows.h"

namespace softib::plan {

struct Played {
    double us = 0;          ///< Until the last flow is done, without what a bit needs to arrive.
    double latency_us = 0;  ///< What a bit needs, of the flow that needs longest.
    bool scaled = false;    ///< A part of the bytes was played, the same part of each flow.
    bool by_rates = false;  ///< Long flows that are longer by a factor take longer by that factor.
};

class Stage {
  public:
    virtual ~Stage() = default;
    /// `flow_bytes_per_s`: what a flow sends at most; 0: as much as it can. The error names the
    /// ends of a flow that the routes do not carry.
    virtual std::expected<Played, std::string> play(const Flows& flows,
                                                    double flow_bytes_per_s = 0) = 0;
};

struct StageOptions {
    net::ModelKind model = net::ModelKind::kFlow;
    std::vector<net::Failure> failures = {};  ///< From the beginning on.
};

/// The message says what does not fit and what to do.
std::expected<std::unique_ptr<Stage>, std::string> make_stage(const Cluster& cluster,
                                                              const StageOptions& options);

/// What a model of packets takes for a cluster's fabric.
net::SimulationOptions packet_options(const Cluster& cluster);

/// What a bit needs between two HCAs of one leaf switch.
double leaf_latency_us(const Cluster& cluster);

/// The same words for every stage.
std::string no_way(const NicFlow& flow);

}  // namespace softib::plan
