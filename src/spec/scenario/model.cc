// SPDX-License-Identifier: BSD-2-Clause
#include "spec/scenario/model.h"

#include <utility>

#include "net/flow/flow_simulation.h"
#include "net/sim/simulation.h"

namespace softib::spec {

std::expected<std::unique_ptr<net::Model>, std::string> make_model(const Scenario& scenario,
                                                                   const Experiment& experiment) {
    if (scenario.model == net::ModelKind::kFlow) {
        auto flows = net::flow::FlowSimulation::make(experiment.fabric, experiment.options);
        if (!flows) {
            return std::unexpected(flows.error().message);
        }
        return *std::move(flows);
    }
    auto packets = net::Simulation::make(experiment.fabric, experiment.options);
    if (!packets) {
        return std::unexpected(packets.error().message);
    }
    return std::make_unique<net::Simulation>(*std::move(packets));
}

bool ways_unknown(const net::SimulationOptions& options) {
    using Ecmp = net::RoceOptions::Ecmp;
    return options.roce
               ? options.roce->ecmp != Ecmp::kTables && options.roce->ecmp != Ecmp::kFiveTuple
               : options.hosts.adaptive;
}

}  // namespace softib::spec
