// SPDX-License-Identifier: BSD-2-Clause
// The reports of `softib trace run`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

#include "app/cli/json_text.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/chrome_trace.h"
#include "plan/units.h"

namespace softib::app::trace {

namespace {

using Json = nlohmann::ordered_json;
using plan::trace::Operation;
using plan::trace::Player;
using plan::trace::RankTimes;

/// Times and bytes of a job: when the last rank ended, means of the times over the ranks, and sums
/// of the bytes.
struct JobTimes {
    plan::TimePs ended_at = 0;
    plan::TimePs compute_ps = 0;
    plan::TimePs exposed_ps = 0;
    plan::TimePs idle_ps = 0;
    std::uint64_t nvlink_bytes = 0;
    std::uint64_t fabric_bytes = 0;
};

JobTimes times_of(const Player& player, std::uint32_t job) {
    JobTimes sum;
    const std::uint32_t ranks = player.jobs()[job].job.ranks();
    double compute = 0;
    double exposed = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const RankTimes& times = player.times(job, rank);
        sum.ended_at = std::max(sum.ended_at, times.ended_at);
        compute += static_cast<double>(times.compute_ps) / ranks;
        exposed += static_cast<double>(times.exposed_ps) / ranks;
        sum.nvlink_bytes += times.nvlink_bytes;
        sum.fabric_bytes += times.fabric_bytes;
    }
    sum.compute_ps = static_cast<plan::TimePs>(compute);
    sum.exposed_ps = static_cast<plan::TimePs>(exposed);
    const plan::TimePs busy = sum.compute_ps + sum.exposed_ps;
    sum.idle_ps = sum.ended_at - std::min(sum.ended_at, busy);
    return sum;
}

double micros_in(plan::TimePs time) {
    return static_cast<double>(time) / 1e6;
}

std::string operation_name(const plan::trace::Job& job, std::uint32_t rank,
                           std::uint32_t operation) {
    const Operation& op = job.program(rank).operations()[operation];
    if (op.name != 0) {
        return job.names[op.name];
    }
    return op.kind == plan::trace::Kind::kCollective ? to_string(op.collective)
                                                     : to_string(op.kind);
}

/// Returns a cell of CSV, in quotes if it needs them.
std::string cell_of(std::string text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

}  // namespace

std::string to_text(const Report& report, bool ranks) {
    const Player& player = *report.player;
    std::string text =
        fmt::format("{} on {}, {} model: {}\n\n", counted(player.jobs().size(), "job"),
                    report.cluster, report.model, plan::show_time(report.makespan));
    Table jobs({"JOB", "RANKS", "TIME", "COMPUTE", "EXPOSED", "IDLE", "FABRIC", "NVLINK"});
    Table each({"JOB", "RANK", "GPU", "TIME", "COMPUTE", "EXPOSED", "FABRIC", "NVLINK"});
    for (std::uint32_t j = 0; j < player.jobs().size(); ++j) {
        const plan::trace::PlacedJob& job = player.jobs()[j];
        const JobTimes times = times_of(player, j);
        jobs.row({job.job.name, std::to_string(job.job.ranks()), plan::show_time(times.ended_at),
                  plan::show_time(times.compute_ps), plan::show_time(times.exposed_ps),
                  plan::show_time(times.idle_ps), plan::show_size(times.fabric_bytes),
                  plan::show_size(times.nvlink_bytes)});
        for (std::uint32_t rank = 0; ranks && rank < job.job.ranks(); ++rank) {
            const RankTimes& one = player.times(j, rank);
            each.row({job.job.name, std::to_string(rank), std::to_string(job.gpus[rank]),
                      plan::show_time(one.ended_at), plan::show_time(one.compute_ps),
                      plan::show_time(one.exposed_ps), plan::show_size(one.fabric_bytes),
                      plan::show_size(one.nvlink_bytes)});
        }
    }
    text += jobs.text();
    if (ranks) {
        text += "\n" + each.text();
    }
    Table links({"LINKS", "BYTES"});
    links.row({"NVLink", plan::show_size(report.nvlink_bytes)});
    links.row({"HCA and switch", plan::show_size(report.host_link_bytes)});
    links.row({"switch and switch", plan::show_size(report.switch_link_bytes)});
    text += "\n" + links.text() + "\n";
    for (const std::string& note : report.notes) {
        text += "- " + note + "\n";
    }
    return text;
}

std::string to_json(const Report& report) {
    const Player& player = *report.player;
    Json jobs = Json::array();
    for (std::uint32_t j = 0; j < player.jobs().size(); ++j) {
        const plan::trace::PlacedJob& job = player.jobs()[j];
        const JobTimes times = times_of(player, j);
        Json ranks = Json::array();
        for (std::uint32_t rank = 0; rank < job.job.ranks(); ++rank) {
            const RankTimes& one = player.times(j, rank);
            ranks.push_back({{"rank", rank},
                             {"gpu", job.gpus[rank]},
                             {"time_us", micros_in(one.ended_at)},
                             {"compute_us", micros_in(one.compute_ps)},
                             {"exposed_us", micros_in(one.exposed_ps)},
                             {"fabric_bytes", one.fabric_bytes},
                             {"nvlink_bytes", one.nvlink_bytes}});
        }
        jobs.push_back({{"name", job.job.name},
                        {"time_us", micros_in(times.ended_at)},
                        {"compute_us", micros_in(times.compute_ps)},
                        {"exposed_us", micros_in(times.exposed_ps)},
                        {"idle_us", micros_in(times.idle_ps)},
                        {"fabric_bytes", times.fabric_bytes},
                        {"nvlink_bytes", times.nvlink_bytes},
                        {"ranks", std::move(ranks)}});
    }
    return json_text({{"notes", report.notes},
                      {"cluster", report.cluster},
                      {"model", report.model},
                      {"makespan_us", micros_in(report.makespan)},
                      {"operations", player.operations()},
                      {"jobs", std::move(jobs)},
                      {"links",
                       {{"nvlink_bytes", report.nvlink_bytes},
                        {"hca_switch_bytes", report.host_link_bytes},
                        {"switch_switch_bytes", report.switch_link_bytes}}}});
}

std::string to_timeline(const Player& player) {
    plan::ChromeTrace writer;
    std::vector<std::uint32_t> first;
    std::uint32_t process = 0;
    for (const plan::trace::PlacedJob& placed : player.jobs()) {
        first.push_back(process);
        for (std::uint32_t rank = 0; rank < placed.job.ranks(); ++rank, ++process) {
            writer.name_process(process, fmt::format("{} rank {}", placed.job.name, rank));
        }
    }
    // The rows of a rank: one for each lane of computation, then one for each kind of
    // communication.
    constexpr std::uint32_t kMessages = 1000;
    constexpr std::uint32_t kGroups = 2000;
    for (const plan::trace::SpanRecord& span : player.spans()) {
        const plan::trace::Job& job = player.jobs()[span.job].job;
        const Operation& op = job.program(span.rank).operations()[span.operation];
        const std::uint32_t row = op.kind == plan::trace::Kind::kCompute ? op.lane
                                  : op.kind == plan::trace::Kind::kCollective
                                      ? kGroups + op.communicator
                                      : kMessages + (op.kind == plan::trace::Kind::kSend ? 0 : 1);
        if (span.ended_at != span.started_at) {
            writer.span(first[span.job] + span.rank, row,
                        operation_name(job, span.rank, span.operation), to_string(op.kind),
                        span.started_at, span.ended_at);
        }
    }
    return writer.text();
}

std::string flows_csv(const Player& player) {
    std::string text = "job,operation,from_rank,to_rank,bytes,link,start_ns,end_ns\n";
    auto out = std::back_inserter(text);
    for (const plan::trace::FlowRecord& flow : player.flows()) {
        const plan::trace::Job& job = player.jobs()[flow.job].job;
        fmt::format_to(out, "{},{},{},{},{},{},{:.3f},{:.3f}\n", cell_of(job.name),
                       cell_of(operation_name(job, flow.from, flow.operation)), flow.from, flow.to,
                       flow.bytes, flow.nvlink ? "nvlink" : "fabric",
                       static_cast<double>(flow.started_at) / 1e3,
                       static_cast<double>(flow.delivered_at) / 1e3);
    }
    return text;
}

}  // namespace softib::app::trace
