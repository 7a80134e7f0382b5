// SPDX-License-Identifier: BSD-2-Clause
#include "run/sharp.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer/json_text.h"
#include "net/sim/simulation.h"
#include "plan/units.h"
#include "run/basis.h"
#include "run/single.h"

namespace softib::run {

namespace {

/// Returns the all-reduce as the result of a traffic: each member gives one vector and gets one.
plan::TrafficResult traffic_of(const SharpReport& of) {
    const std::uint64_t members = of.outcome.members;
    return {.pattern = plan::to_string(plan::Pattern::kSharpAllReduce),
            .senders = members,
            .message_bytes = of.bytes,
            .messages = members,
            .delivered = members,
            .bytes = members * of.bytes,
            .finished_at = of.outcome.took_ps,
            .ended_at = of.outcome.took_ps,
            .gbps = static_cast<double>(members) * of.gbps(),
            .completion_us = plan::Distribution(std::vector<double>(members, of.us())),
            .message_gbps = plan::Distribution(std::vector<double>(members, of.gbps()))};
}

}  // namespace

std::expected<SharpReport, std::string> simulate_sharp(const Run& run,
                                                       const spec::Experiment& experiment) {
    if (auto checked = net::check_options(experiment.options); !checked) {
        return std::unexpected(checked.error().message);
    }
    auto routes = net::route_at_start(experiment.fabric, experiment.options);
    if (!routes) {
        return std::unexpected(routes.error().message);
    }
    const net::SharpTask& task = std::get<Sharp>(run.kind).task;
    SharpReport report{.bytes = task.bytes};
    report.report = {.title = title_of(run.scenario, experiment.fabric),
                     .engine = routes->routed.engine_names(),
                     .data_vls = routes->data_vls,
                     .network = fmt::format("{}, reduction in switches",
                                            plan::counted(routes->data_vls, "data VL")),
                     .seed = run.scenario.seed,
                     .hosts = experiment.fabric.hosts.size(),
                     .switches = experiment.fabric.count(topo::NodeKind::kSwitch),
                     .notes = routes->notes,
                     .basis = basis_of(experiment, task)};
    net::PlantConfig plant = experiment.options.plant;
    plant.data_vls = routes->data_vls;
    const auto outcome = net::simulate_sharp(std::move(routes->routed), plant, task);
    if (!outcome) {
        return std::unexpected(outcome.error());
    }
    report.outcome = *outcome;
    report.report.results.duration = outcome->took_ps;
    report.report.results.link_gbps = report.link_gbps();
    report.report.results.traffics.push_back(traffic_of(report));
    report.report.results.stats.events = outcome->events;
    report.report.results.stats.log_hash = outcome->log_hash;
    return report;
}

std::string to_json(const SharpReport& report) {
    using Json = nlohmann::ordered_json;
    const net::SharpOutcome& out = report.outcome;
    Json json = Json::parse(to_json(report.report));
    json["kind"] = spec::to_string(spec::RunKind::kSharp);
    json["packets"] = nullptr;
    json["sharp"] = {{"members", out.members},
                     {"bytes", report.bytes},
                     {"levels", out.depth},
                     {"switches", out.switches},
                     {"streaming", out.streamed},
                     {"time_us", report.us()},
                     {"gbps", report.gbps()},
                     {"link_gbps", report.link_gbps()},
                     {"host_sent_bytes", out.host_sent_bytes},
                     {"host_received_bytes", out.host_received_bytes},
                     {"ring_sent_bytes", report.ring_bytes()},
                     {"ring_us_min", report.ring_us()},
                     {"wrong_elements", out.wrong_elements}};
    return answer::json_text(json);
}

}  // namespace softib::run
