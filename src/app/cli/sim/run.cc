// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "app/cli/sim/parallel.h"
#include "app/cli/sim/progress.h"
#include "app/fabric/term.h"
#include "core/topo/subnets.h"
#include "plan/results.h"
#include "spec/scenario/model.h"

namespace softib::app::sim {

namespace {

/// Returns the features of a network, in words.
std::string describe_network(net::ModelKind model, const net::SimulationOptions& options,
                             std::uint8_t data_vls) {
    using Ecmp = net::RoceOptions::Ecmp;
    if (!options.roce) {
        return fmt::format(
            "{}{}{}{}", model == net::ModelKind::kFlow ? "flow model" : counted(data_vls, "data VL"),
            options.qos.on ? ", QoS" : "",
            options.hosts.adaptive ? ", adaptive routing" : "",
            options.congestion ? ", congestion control" : "");
    }
    const net::RoceOptions& roce = *options.roce;
    const char* const ways[] = {"no ECMP", "ECMP by 5-tuple", "ECMP by queue pair",
                                "packets sprayed", "packets by load"};
    static_assert(static_cast<int>(Ecmp::kLoad) == 4);
    return fmt::format("RoCE, {}, {}, {}, {}, {}{}", counted(data_vls, "lane"),
                       ways[static_cast<int>(roce.ecmp)], roce.links.lossless ? "PFC" : "no PFC",
                       roce.links.ecn.high_blocks == 0 ? "no ECN" : "ECN",
                       roce.hosts.reacts ? "DCQCN, " : "",
                       roce.hosts.selective ? "selective repeat" : "go-back-N");
}

Report report_of(const spec::Scenario& scenario, const spec::Experiment& experiment,
                 const plan::Player& player, const Ran& ran) {
    const net::Model& model = player.model();
    Report report{
        .title = title_of(scenario, experiment.fabric),
        .model = scenario.model,
        .engine = model.engine(),
        .data_vls = model.data_vls(),
        .adaptive = spec::ways_unknown(experiment.options),
        .congestion_control = experiment.options.congestion.has_value() && !experiment.options.roce,
        .qos = experiment.options.qos.on,
        .roce = experiment.options.roce.has_value(),
        .network = describe_network(scenario.model, experiment.options, model.data_vls()),
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
    const std::size_t routers = topo::find_routers(fabric).size();
    const std::string joined =
        routers == 0 ? std::string()
                     : fmt::format(", {} and {}", counted(topo::subnet_count(fabric), "subnet"),
                                   counted(routers, "router"));
    return fmt::format("{}, {}, {}{}", kind, counted(fabric.hosts.size(), "host"),
                       counted(fabric.count(topo::NodeKind::kSwitch), "switch"), joined);
}

std::expected<void, std::string> simulate(const spec::Scenario& scenario,
                                          const spec::Experiment& experiment, std::uint32_t threads,
                                          const UseReport& use, const RecordOptions& record) {
    const auto report = [&](const plan::Player& player, const Ran& ran) {
        use(report_of(scenario, experiment, player, ran), player);
    };
    const bool in_job = threads == 0;
    if ((in_job || threads > 1) && scenario.model == net::ModelKind::kFlow) {
        return std::unexpected(
            "the flow model runs on one thread; leave --threads and mpirun out, or take the model "
            "packet");
    }
    if (threads != 1 && !record.path.empty()) {
        return std::unexpected(
            "--record and --serve are for one thread; leave --threads and mpirun out");
    }
    if (in_job) {
        return run_in_job(scenario, experiment, report);
    }
    if (threads > 1) {
        return run_on_threads(scenario, experiment, threads, report);
    }
    const auto model = spec::make_model(scenario, experiment);
    if (!model) {
        return std::unexpected(model.error());
    }
    std::optional<Recorder> recorder;
    if (!record.path.empty()) {
        auto created = Recorder::create(experiment.fabric, record);
        if (!created) {
            return std::unexpected(created.error());
        }
        recorder.emplace(*std::move(created));
        recorder->look(**model, 0);
        if (auto begun = record.begun ? record.begun() : std::expected<void, std::string>();
            !begun) {
            return std::unexpected(begun.error());
        }
    }
    plan::Player player(**model, experiment.schedules);
    report(player, run_with_progress(player, scenario.until, experiment.options.hosts.mtu, true,
                                     recorder ? &*recorder : nullptr));
    if (recorder && !recorder->error().empty()) {
        return std::unexpected(recorder->error());
    }
    return {};
}

}  // namespace softib::app::sim
