// SPDX-License-Identifier: BSD-2-Clause
// `softib trace run`.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/plan/page.h"
#include "app/cli/sim/interrupt.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/cluster_network.h"
#include "plan/trace/expand.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/trace/trace_file.h"

namespace softib::app {

namespace {

using plan::trace::Job;
using plan::trace::Kind;
using plan::trace::PlacedJob;

struct Wish {
    std::vector<std::string> files = {};
    std::string placement = {};
};

/// Returns the job of the operands, and those of --job.
std::vector<Wish> wishes_of(const TraceRunOptions& options) {
    std::vector<Wish> wishes;
    if (!options.files.empty()) {
        wishes.push_back({options.files, options.placement});
    }
    for (const std::string& job : options.jobs) {
        const std::size_t at = job.rfind('@');
        wishes.push_back(at == std::string::npos ? Wish{{job}, options.placement}
                                                 : Wish{{job.substr(0, at)}, job.substr(at + 1)});
    }
    return wishes;
}

/// Returns an error if an option was given that changes nothing; std::nullopt if all act.
std::optional<std::string> find_idle(const TraceRunOptions& options) {
    const bool random = std::ranges::any_of(
        wishes_of(options), [](const Wish& wish) { return wish.placement == "random"; });
    if (options.seed && !random) {
        return "--seed changes nothing here: no placement is random; leave it out, or say "
               "--placement random";
    }
    if (options.ranks && options.json) {
        return "--ranks changes nothing here: --json has every rank; leave it out";
    }
    return std::nullopt;
}

std::expected<std::vector<PlacedJob>, std::string> place_jobs(const TraceRunOptions& options,
                                                              const plan::Cluster& cluster) {
    std::vector<PlacedJob> jobs;
    std::vector<bool> taken;
    bool collectives = false;
    bool named = options.groups.empty();
    for (const Wish& wish : wishes_of(options)) {
        auto placement = plan::trace::parse_placement(wish.placement);
        if (!placement) {
            return std::unexpected("--placement: " + placement.error());
        }
        placement->per_node = options.per_node;
        placement->seed = options.seed.value_or(1) + jobs.size();
        auto job = trace::load(wish.files, options.groups, &cluster, named);
        if (!job) {
            return std::unexpected(job.error());
        }
        auto gpus = plan::trace::place(cluster, job->ranks(), *placement, taken);
        if (!gpus) {
            return std::unexpected(fmt::format("{}: {}", job->name, gpus.error()));
        }
        collectives = collectives || trace::has_collectives(*job);
        if (options.steps) {
            auto expanded = plan::trace::expand(*job, cluster, *gpus);
            if (!expanded) {
                return std::unexpected(fmt::format("{}: {}", job->name, expanded.error()));
            }
            expanded->notes = std::move(job->notes);
            job = *std::move(expanded);
        }
        jobs.push_back({*std::move(job), *std::move(gpus)});
    }
    if (options.steps && !collectives) {
        return std::unexpected(
            "--steps changes nothing here: no job has a collective operation; leave it out");
    }
    if (!named) {
        return std::unexpected(trace::idle_groups(options.groups));
    }
    return jobs;
}

/// Returns how many hours the packets of all jobs take, if each crosses four cables, and a core
/// moves eight million packets over a cable in a second (docs/performance-sim.md).
double packet_hours(const std::vector<PlacedJob>& jobs, const plan::Cluster& cluster) {
    constexpr double kHops = 4;
    constexpr double kHopsPerSecond = 8e6;
    double bytes = 0;
    for (const PlacedJob& placed : jobs) {
        const plan::trace::Summary all = plan::trace::summarise(placed.job);
        bytes += static_cast<double>(all.bytes[static_cast<std::size_t>(Kind::kSend)]);
        for (const std::uint64_t each : all.collective_bytes) {
            bytes += static_cast<double>(each);
        }
    }
    return bytes / cluster.fabric.mtu * kHops / kHopsPerSecond / 3600;
}

/// Refuses a run of hours, and a --yes to one that is not.
std::expected<void, std::string> check_cost(const TraceRunOptions& options,
                                            const std::vector<PlacedJob>& jobs,
                                            const plan::Cluster& cluster) {
    const double hours = options.model == "packet" ? packet_hours(jobs, cluster) : 0;
    if (hours > 1 && !options.any_cost) {
        return std::unexpected(
            fmt::format("this would take about {:.0f} hours; take --model flow, or go on with "
                        "--yes",
                        hours));
    }
    if (hours <= 1 && options.any_cost) {
        return std::unexpected(
            "--yes changes nothing here: it is for runs of hours by --model packet; leave it out");
    }
    return {};
}

/// Writes the messages of all jobs as one job, with collective operations turned into messages.
/// Returns the exit status.
int write_flows(const std::vector<trace::Export>& exports, const plan::trace::Player& player,
                const plan::Cluster& cluster) {
    std::vector<Job> parts;
    const bool csv_alone =
        std::ranges::all_of(exports, [](const auto& each) { return each.format == "csv"; });
    for (const PlacedJob& placed : player.jobs()) {
        if (csv_alone) {
            break;
        }
        auto expanded = plan::trace::expand(placed.job, cluster, placed.gpus);
        if (!expanded) {
            return fail(expanded.error());
        }
        parts.push_back(*std::move(expanded));
    }
    return trace::write_exports(exports, plan::trace::merge(parts), trace::flows_csv(player));
}

void count_links(const net::Model& network, const plan::Cluster& cluster, trace::Report& report) {
    const auto fabric = plan::modelled_plane(cluster);
    if (!fabric) {
        return;
    }
    const auto is_switch = [&fabric](const net::Hop& hop) {
        return hop.node < fabric->nodes.size() &&
               fabric->nodes[hop.node].kind == topo::NodeKind::kSwitch;
    };
    for (const net::LinkLoad& link : network.links()) {
        const auto bytes = static_cast<std::uint64_t>(static_cast<double>(link.bytes) *
                                                      cluster.fabric.speed_factor());
        const bool inside = is_switch(link.at) && is_switch(link.peer);
        (inside ? report.switch_link_bytes : report.host_link_bytes) += bytes;
    }
}

/// Returns what the times of a played job stand on.
std::vector<std::string> notes_of_report(const TraceRunOptions& options,
                                         const plan::Cluster& cluster) {
    std::vector<std::string> notes{
        fmt::format("assumed: {} of software a message, {}, computations as long as the trace says",
                    options.message_time,
                    options.nic == "order" ? "a NIC that sends one message after the other"
                                           : "a NIC whose queue pairs take turns")};
    std::ranges::copy(plan::notes_of(cluster), std::back_inserter(notes));
    notes.emplace_back(
        "not validated: no published run of a whole trace is among the rows of 'softib plan "
        "validate'; the nearest are its collective operations (C, B)");
    return notes;
}

trace::Report report_of(const TraceRunOptions& options, const plan::trace::Player& player) {
    trace::Report report{.cluster = options.cluster, .model = options.model, .player = &player};
    for (std::uint32_t j = 0; j < player.jobs().size(); ++j) {
        for (std::uint32_t rank = 0; rank < player.jobs()[j].job.ranks(); ++rank) {
            report.makespan = std::max(report.makespan, player.times(j, rank).ended_at);
            report.nvlink_bytes += player.times(j, rank).nvlink_bytes;
        }
    }
    return report;
}

/// Looks at all files that will be written. Returns the exit status, 0 if nothing is wrong.
int check_files(const TraceRunOptions& options, const std::vector<trace::Export>& exports) {
    std::vector<OutputFile> written = trace::files_of(exports);
    written.insert(written.begin(), {"--json", options.json ? "-" : ""});
    written.push_back({"--timeline", options.timeline});
    std::vector<std::string> read{options.groups, options.cluster};
    for (const Wish& wish : wishes_of(options)) {
        read.insert(read.end(), wish.files.begin(), wish.files.end());
    }
    return check_outputs(written, read);
}

/// Returns whether a file that will be written is standard output, so that the table is not.
bool takes_output(const TraceRunOptions& options, const std::vector<trace::Export>& exports) {
    return options.timeline == "-" || std::ranges::any_of(exports, [](const trace::Export& each) {
               return each.format == "csv" && each.file == "-";
           });
}

/// Plays until all jobs have ended, or the user presses Ctrl-C.
std::expected<void, std::string> play(plan::trace::Player& player) {
    const sim::InterruptWatch watch;
    Progress progress("playing");
    constexpr std::uint32_t kStep = 1U << 14;
    while (!player.run_some(kStep)) {
        constexpr std::size_t kBar = 24;
        const std::size_t filled =
            player.ended() * kBar / std::max<std::uint64_t>(player.operations(), 1);
        progress.set(fmt::format("[{}{}] {} of {} operations", std::string(filled, '#'),
                                 std::string(kBar - filled, '.'), player.ended(),
                                 player.operations()));
        progress.tick();
        if (watch.interrupted()) {
            return std::unexpected("interrupted");
        }
    }
    return player.outcome();
}

}  // namespace

int cmd_trace_run(const TraceRunOptions& options) {
    if (options.files.empty() && options.jobs.empty()) {
        return misuse("say which trace to play: softib trace run FILE... --cluster NAME");
    }
    if (options.cluster.empty()) {
        return misuse("say which cluster: --cluster NAME (see: softib plan presets)");
    }
    if (const auto idle = find_idle(options)) {
        return misuse(*idle);
    }
    const auto eager = plan::parse_size(options.eager);
    const auto message = plan::parse_time(options.message_time);
    const auto exports = trace::read_exports(options.exports);
    if (!eager || !message || !exports) {
        return misuse(!eager     ? "--eager: " + eager.error()
                      : !message ? "--message-time: " + message.error()
                                 : exports.error());
    }
    if (const int wrong = check_files(options, *exports); wrong != 0) {
        return wrong;
    }
    const auto cluster = trace::find_nodes(options.cluster, options.nodes);
    if (!cluster) {
        return fail_describing(cluster.error());
    }
    auto jobs = place_jobs(options, *cluster);
    if (!jobs) {
        return fail_describing(jobs.error());
    }
    if (const auto accepted = check_cost(options, *jobs, *cluster); !accepted) {
        return fail_describing(accepted.error());
    }
    const auto kind = options.model == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    const auto network = plan::make_network(*cluster, kind, {});
    if (!network) {
        return fail(network.error());
    }
    plan::trace::Player player(*cluster, **network, *std::move(jobs),
                               {.eager_bytes = *eager,
                                .rendezvous = options.rendezvous,
                                .message_ps = *message,
                                .nic_in_order = options.nic == "order",
                                .keep_flows = trace::wants_csv(*exports),
                                .keep_spans = !options.timeline.empty()});
    if (const auto played = play(player); !played) {
        return fail(played.error());
    }
    for (const PlacedJob& placed : player.jobs()) {
        for (const std::string& each : placed.job.notes) {
            note(fmt::format("{}: {}", placed.job.name, each));
        }
    }
    trace::Report report = report_of(options, player);
    report.notes = notes_of_report(options, *cluster);
    count_links(**network, *cluster, report);
    int status = exports->empty() ? 0 : write_flows(*exports, player, *cluster);
    if (!options.timeline.empty()) {
        status |= write_text(options.timeline, trace::to_timeline(player));
    }
    if (!takes_output(options, *exports)) {
        fmt::print("{}",
                   options.json ? trace::to_json(report) : trace::to_text(report, options.ranks));
    }
    return status;
}

}  // namespace softib::app
