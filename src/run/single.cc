// SPDX-License-Identifier: BSD-2-Clause
#include "run/single.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <tuple>

#include "core/topo/subnets.h"
#include "plan/results.h"
#include "plan/units.h"
#include "run/basis.h"
#include "run/parts.h"
#include "spec/scenario/model.h"

namespace softib::run {

namespace {

using plan::counted;

constexpr std::uint32_t kStep = 200'000;  ///< Events between looks: some hundredths of a second.

/// Returns the features of a network, in words.
std::string describe_network(net::ModelKind model, const net::SimulationOptions& options,
                             std::uint8_t data_vls) {
    using Ecmp = net::RoceOptions::Ecmp;
    if (!options.roce) {
        return fmt::format(
            "{}{}{}{}",
            model == net::ModelKind::kFlow ? "flow model" : counted(data_vls, "data VL"),
            options.qos.on ? ", QoS" : "", options.hosts.adaptive ? ", adaptive routing" : "",
            options.congestion ? ", congestion control" : "");
    }
    const net::RoceOptions& roce = *options.roce;
    const char* const ways[] = {"no ECMP", "ECMP by 5-tuple", "ECMP by queue pair",
                                "packets sprayed", "packets by load"};
    static_assert(static_cast<int>(Ecmp::kLoad) == 4);
    return fmt::format("RoCE, {}, {}, {}, {}, {}, {}", counted(data_vls, "lane"),
                       ways[static_cast<int>(roce.ecmp)], roce.links.lossless ? "PFC" : "no PFC",
                       roce.links.ecn.high_blocks == 0 ? "no ECN" : "ECN",
                       roce.hosts.algorithm == nullptr ? std::string_view("no congestion control")
                                                       : roce.hosts.algorithm->title,
                       roce.hosts.selective ? "selective repeat" : "go-back-N");
}

/// Returns how many messages failed, why, and one of them; empty if none did.
std::string failures_of(const spec::Experiment& experiment, const plan::Player& player) {
    const plan::MessageRecord* first = nullptr;
    std::uint64_t count = 0;
    for (const plan::MessageRecord& each : player.messages()) {
        const auto place = [](const plan::MessageRecord& of) {
            return std::tuple(of.traffic, of.from, of.to);
        };
        if (each.failed) {
            ++count;
            first = first == nullptr || place(each) < place(*first) ? &each : first;
        }
    }
    if (first == nullptr) {
        return {};
    }
    const net::MessageConfig& hosts = experiment.options.hosts;
    const plan::Ends ends(experiment.fabric);
    return fmt::format("{} failed, as that from {} to {}: {}", counted(count, "message"),
                       ends.name(first->from), ends.name(first->to),
                       first->ended_at <= first->started_at
                           ? std::string("no route leads there")
                           : fmt::format("its sender gave up after {} in a row without progress, "
                                         "{} each (retries, timeout)",
                                         counted(hosts.retries + 1U, "timeout"),
                                         plan::show_time(hosts.timeout_ps)));
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
        .basis = basis_of(scenario, experiment),
        .results = {}};
    report.results = plan::summarise(player, experiment.fabric, plan::Ends(experiment.fabric),
                                     {.adaptive = report.adaptive});
    report.notes.insert(report.notes.begin(), experiment.fabric.warnings.begin(),
                        experiment.fabric.warnings.end());
    for (const net::Failure& failure : experiment.options.failures) {
        if (!ran.stopped && failure.at > model.now()) {
            report.notes.push_back(fmt::format("the failure at {} comes after the end of the run",
                                               plan::show_time(failure.at)));
        }
    }
    if (std::string failed = failures_of(experiment, player); !failed.empty()) {
        report.notes.push_back(std::move(failed));
    }
    if (!ran.stopped && model.idle() && model.unfinished() != 0) {
        report.notes.push_back(
            fmt::format("{} will never be delivered", counted(model.unfinished(), "message")));
        std::ranges::copy(model.check(), std::back_inserter(report.notes));
    }
    return report;
}

double cpu_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Does the same as Player::run_some, and lets the watch look when it is due.
bool run_some(plan::Player& player, plan::TimePs until, Watch* watch) {
    if (watch == nullptr || watch->next_look() >= until) {
        return player.run_some(until, kStep);
    }
    const plan::TimePs at = watch->next_look();
    if (player.run_some(at, kStep)) {
        watch->look(player.model(), at);
    }
    return player.model().idle();
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

Ran play(plan::Player& player, plan::TimePs until, std::uint32_t mtu, Watch& watch, bool records) {
    const double begun = cpu_seconds();
    const double packets =
        std::max<double>(static_cast<double>(player.bytes_planned()) / mtu +
                             2.0 * static_cast<double>(player.messages_planned()),
                         1);
    bool done = false;
    while (!done && !watch.stopped()) {
        done = run_some(player, until, records ? &watch : nullptr);
        const net::Model& model = player.model();
        double part = std::max(
            static_cast<double>(model.packets_delivered()) / packets,
            static_cast<double>(player.ended()) /
                static_cast<double>(std::max<std::uint64_t>(player.messages_planned(), 1)));
        if (until != plan::kNever && until != 0) {
            part = std::max(part, static_cast<double>(model.now()) / static_cast<double>(until));
        }
        watch.show(std::min(part, 1.0), model.now(), model.events());
    }
    return {.stopped = !done, .cpu_seconds = cpu_seconds() - begun};
}

std::expected<std::optional<Report>, std::string> simulate(const spec::Scenario& scenario,
                                                           const spec::Experiment& experiment,
                                                           const Place& place, Watch& watch,
                                                           bool keeps_messages) {
    std::optional<Report> report;
    const auto use = [&](plan::Player& player, const Ran& ran) {
        report = report_of(scenario, experiment, player, ran);
        if (keeps_messages) {
            report->messages = player.take_messages();
            const plan::Ends ends(experiment.fabric);
            for (std::uint32_t end = 0; end < ends.count(); ++end) {
                report->ends.push_back(ends.name(end));
            }
        }
    };
    if (place.job || place.threads > 1) {
        const auto ran = place.job
                             ? run_in_job(scenario, experiment, place.libraries, watch, use)
                             : run_on_threads(scenario, experiment, place.threads, watch, use);
        return ran ? std::expected<std::optional<Report>, std::string>(std::move(report))
                   : std::unexpected(ran.error());
    }
    const auto model = spec::make_model(scenario, experiment);
    if (!model) {
        return std::unexpected(model.error());
    }
    if (auto begun = watch.begin(experiment.fabric, **model); !begun) {
        return std::unexpected(begun.error());
    }
    plan::Player player(**model, experiment.schedules);
    const Ran ran = play(player, scenario.until, experiment.options.hosts.mtu, watch, true);
    const auto finished = watch.finish(**model);
    player.note_partial();
    use(player, ran);
    if (!finished) {
        return std::unexpected(finished.error());
    }
    return report;
}

}  // namespace softib::run
