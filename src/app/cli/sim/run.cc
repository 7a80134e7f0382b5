// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "app/cli/sim/parallel.h"
#include "app/cli/sim/progress.h"
#include "app/fabric/term.h"
#include "net/flow/flow_simulation.h"
#include "net/simulation.h"
#include "plan/results.h"

namespace softib::app::sim {

namespace {

std::expected<std::unique_ptr<net::Model>, std::string> make_model(
    const spec::Scenario& scenario, const spec::Experiment& experiment) {
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

Report report_of(const spec::Scenario& scenario, const spec::Experiment& experiment,
                 const plan::Player& player, const Ran& ran) {
    const net::Model& model = player.model();
    Report report{.title = title_of(scenario, experiment.fabric),
                  .model = scenario.model,
                  .engine = model.engine(),
                  .data_vls = model.data_vls(),
                  .adaptive = experiment.options.hosts.adaptive,
                  .congestion_control = experiment.options.congestion.has_value(),
                  .seed = scenario.seed,
                  .hosts = experiment.fabric.hosts.size(),
                  .switches = experiment.fabric.count(topo::NodeKind::kSwitch),
                  .stopped = ran.stopped,
                  .cpu_seconds = ran.cpu_seconds,
                  .notes = model.notes(),
                  .results = {}};
    report.results = plan::summarise(player, experiment.fabric, plan::Ends(experiment.fabric),
                                     {.adaptive = report.adaptive});
    if (!ran.stopped && model.idle() && model.unfinished() != 0) {
        report.notes.push_back(
            fmt::format("{} will never be delivered", counted(model.unfinished(), "message")));
        std::ranges::copy(model.check(), std::back_inserter(report.notes));
    }
    return report;
}

}  // namespace

std::string title_of(const spec::Scenario& scenario, const topo::Fabric& fabric) {
    const std::string kind = !scenario.fabric.from.empty()
                                 ? scenario.fabric.from
                                 : std::string(topo::to_string(scenario.fabric.spec.shape));
    return fmt::format("{}, {}, {}", kind, counted(fabric.hosts.size(), "host"),
                       counted(fabric.count(topo::NodeKind::kSwitch), "switch"));
}

std::expected<void, std::string> simulate(const spec::Scenario& scenario,
                                          const spec::Experiment& experiment, std::uint32_t threads,
                                          const UseReport& use) {
    const auto report = [&](const plan::Player& player, const Ran& ran) {
        use(report_of(scenario, experiment, player, ran), player);
    };
    const bool in_job = threads == 0;
    if ((in_job || threads > 1) && scenario.model == net::ModelKind::kFlow) {
        return std::unexpected(
            "the flow model runs on one thread; leave --threads and mpirun out, or take the model "
            "packet");
    }
    if (in_job) {
        return run_in_job(scenario, experiment, report);
    }
    if (threads > 1) {
        return run_on_threads(scenario, experiment, threads, report);
    }
    const auto model = make_model(scenario, experiment);
    if (!model) {
        return std::unexpected(model.error());
    }
    plan::Player player(**model, experiment.schedules);
    report(player, run_with_progress(player, scenario.until, experiment.options.hosts.mtu));
    return {};
}

}  // namespace softib::app::sim
