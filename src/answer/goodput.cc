// SPDX-License-Identifier: BSD-2-Clause
#include "answer/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/topo/report.h"
#include "parallel/for_each.h"
#include "plan/cluster/fabric.h"
#include "plan/train/communication.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/cluster/failures_file.h"

namespace softib::answer {

namespace {

using plan::GoodputJob;

/// Bytes of a parameter in a checkpoint: bf16, and Adam's parameter and two moments in 32 bits.
constexpr double kCheckpointBytes = 14;
/// Rate at which storage of a DGX SuperPOD of H100 ("enhanced") is written by a unit of 32 nodes.
constexpr double kStoragePerUnit = 62e9;
constexpr double kUnitNodes = 32;

struct Unit {
    std::string_view name;
    double seconds;
};
constexpr std::array kUnits{Unit{"ms", 1e-3}, Unit{"s", 1}, Unit{"min", 60}, Unit{"h", 3600},
                            Unit{"d", 86'400}};

template <typename Value>
using Parsed = std::expected<Value, Refusal>;

/// Sets a time of the job from an option's text.
std::expected<void, Refusal> put_time(double& field, std::string_view option,
                                      const std::string& text) {
    const auto seconds = parse_duration(text);
    if (!seconds) {
        return std::unexpected(misuse(fmt::format("--{} {}", option, seconds.error())));
    }
    field = *seconds;
    return {};
}

bool was_given(const GoodputQuestion& question, std::string_view option) {
    return std::ranges::find(question.given, option) != question.given.end();
}

/// Returns an error if an option was given that changes nothing.
std::expected<void, Refusal> check_idle(const GoodputQuestion& question, const GoodputJob& job) {
    const auto any = [&](auto holds) {
        return std::ranges::any_of(job.failures.kinds, [&](const plan::FailureKind& kind) {
            return kind.per_million_hours > 0 && holds(kind);
        });
    };
    const bool hangs = any([](const auto& kind) { return kind.hangs && !kind.planned; });
    const bool seen = any([](const auto& kind) { return !kind.hangs && !kind.planned; });
    const bool links = any([](const auto& kind) {
        return kind.loses == plan::Loses::kLink || kind.loses == plan::Loses::kNic;
    });
    const struct {
        const char* option;
        bool acts;
        const char* needs;
    } rules[] = {
        {"--timeout", hangs, "a failure that hangs, in --failures"},
        {"--detect", seen, "a failure that does not hang, in --failures"},
        {"--stall", job.asynchronous, "--checkpoint async"},
        {"--failover", links, "a failure that loses a link or a NIC, in --failures"},
    };
    for (const auto& [option, acts, needs] : rules) {
        if (!acts && was_given(question, option)) {
            return std::unexpected(
                misuse(fmt::format("{} changes nothing here: it needs {}", option, needs)));
        }
    }
    return {};
}

std::expected<void, Refusal> put_failover(GoodputJob& job, const GoodputQuestion& question,
                                          const plan::Cluster& cluster) {
    job.planes = cluster.fabric.planes;
    if (question.failover == "plane") {
        job.failover = plan::Failover::kPlane;
        if (job.planes < 2) {
            return std::unexpected(misuse(
                "--failover plane needs several planes: say how many each NIC has by --planes"));
        }
    } else if (question.failover == "rail") {
        job.failover = plan::Failover::kRail;
        if (job.nics_per_node < 2) {
            return std::unexpected(
                misuse("--failover rail needs nodes of several NICs; take another --cluster"));
        }
    }
    return {};
}

std::expected<void, Refusal> put_checkpoints(GoodputJob& job, const GoodputQuestion& question,
                                             const StepReport& step) {
    job.asynchronous = question.checkpoint == "async";
    job.checkpoint_bytes = kCheckpointBytes * plan::total_parameters(step.model);
    if (!question.checkpoint_size.empty()) {
        const auto size = plan::parse_size(question.checkpoint_size);
        if (!size) {
            return std::unexpected(misuse("--checkpoint-size " + size.error()));
        }
        job.checkpoint_bytes = static_cast<double>(*size);
    }
    job.storage_bytes_per_s = kStoragePerUnit / kUnitNodes * job.nodes;
    if (!question.storage.empty()) {
        const auto rate = plan::parse_rate(question.storage);
        if (!rate || !(*rate > 0)) {
            return std::unexpected(misuse(
                fmt::format("--storage must be a rate as 2TB/s, not '{}'", question.storage)));
        }
        job.storage_bytes_per_s = *rate / 8;
    }
    job.copy_s =
        job.checkpoint_bytes / step.mapping.gpus / std::max(step.cluster.pcie.bytes_per_s, 1.0);
    if (!question.stall.empty()) {
        if (auto put = put_time(job.copy_s, "stall", question.stall); !put) {
            return put;
        }
    }
    if (!question.checkpoint_every.empty()) {
        if (auto put = put_time(job.interval_s, "checkpoint-every", question.checkpoint_every);
            !put) {
            return put;
        }
        const double least = std::max(job.step_s, job.asynchronous ? job.write_s() : 0);
        if (job.interval_s < least || job.interval_s > job.horizon_s) {
            return std::unexpected(misuse(fmt::format(
                "--checkpoint-every {}: the least here is {} ({}), and the most --weeks",
                question.checkpoint_every, show_duration(least),
                least > job.step_s ? "writing a checkpoint" : "a step")));
        }
    }
    return {};
}

/// Returns the parts by which steps are longer while 1, 2, ... paths of a link are down: all links
/// get the rate of that one, since groups of GPUs go at the pace of their slowest.
std::vector<double> slower_steps(const GoodputJob& job, const StepReport& step) {
    const auto time = [&](double rate) {
        plan::Cluster cluster = step.cluster;
        cluster.pcie.bytes_per_s = rate * cluster.nic_bytes_per_s();
        return plan::time_step(step.model, cluster, step.mapping, plan::LinkCommunication(cluster))
            .seconds;
    };
    std::vector<double> slower;
    const double whole = time(1);
    for (std::uint32_t down = 1; down < job.paths(); ++down) {
        const double left = job.paths() - down;
        const bool nics = job.failover == plan::Failover::kRail;
        // Another NIC carries the traffic of a whole one beside its own.
        const double rate = nics ? 1 / std::ceil(job.paths() / left) : left / job.paths();
        slower.push_back(std::max(0.0, time(rate) / whole - 1));
    }
    return slower;
}

Parsed<GoodputJob> job_of(const GoodputQuestion& question, const StepReport& step) {
    const plan::Cluster& cluster = step.cluster;
    GoodputJob job{.nodes = (step.mapping.gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node,
                   .gpus_per_node = cluster.gpus_per_node,
                   .nics_per_node = cluster.nics_per_node(),
                   .step_s = step.step.seconds,
                   .horizon_s = question.weeks * 7.0 * 86'400};
    job.spares = cluster.nodes() - job.nodes;
    if (!question.spares.empty()) {
        const auto spares = plan::parse_count(question.spares);
        if (!spares || *spares > kNodesMost) {
            return std::unexpected(
                misuse(fmt::format("--spares must be a whole number from 0 to {}, not '{}'",
                                   kNodesMost, question.spares)));
        }
        job.spares = static_cast<std::uint32_t>(*spares);
    }
    if (question.failures.empty()) {
        job.failures = plan::default_failures();
    } else {
        auto failures = spec::load_failures(question.failures);
        if (!failures) {
            return std::unexpected(Refusal{failures.error()});
        }
        job.failures = *std::move(failures);
    }
    for (auto& [field, option, text] : std::to_array<std::tuple<double*, const char*, std::string>>(
             {{&job.detect_s, "detect", question.detect},
              {&job.timeout_s, "timeout", question.timeout},
              {&job.restart_s, "restart", question.restart}})) {
        if (auto put = put_time(*field, option, text); !put) {
            return std::unexpected(put.error());
        }
    }
    for (const auto& put : {put_failover(job, question, cluster),
                            put_checkpoints(job, question, step), check_idle(question, job)}) {
        if (!put) {
            return std::unexpected(put.error());
        }
    }
    job.slower = slower_steps(job, step);
    return job;
}

/// Simulates all runs of several jobs, on several threads.
std::vector<plan::Goodput> play_all(const std::vector<GoodputJob>& jobs,
                                    const GoodputQuestion& question, const Watch& watch) {
    const std::size_t runs = question.runs;
    std::vector<std::vector<plan::RunResult>> results(jobs.size());
    for (auto& each : results) {
        each.resize(runs);
    }
    parallel::for_each(
        jobs.size() * runs, question.threads,
        [&](std::size_t i) {
            results[i / runs][i % runs] =
                plan::simulate(jobs[i / runs], question.failure_seed + i % runs);
        },
        [&](std::size_t done) {
            if (watch) {
                watch(done, jobs.size() * runs, "runs");
            }
        });
    std::vector<plan::Goodput> all;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        all.push_back(plan::summarize(jobs[i], results[i]));
    }
    return all;
}

/// Returns what a remedy costs, by the bill of the job's nodes.
std::optional<plan::Range> cost_of(const plan::Remedy& remedy, const plan::Bill& bill,
                                   std::uint32_t nodes) {
    if (remedy.more_spares > 0) {
        return (bill.nodes_usd * (1.0 / nodes)) * remedy.more_spares;
    }
    if (remedy.more_nics) {
        return bill.network_usd;
    }
    return std::nullopt;
}

void sort_remedies(std::vector<RemedyReport>& remedies, const std::string& order) {
    std::ranges::stable_sort(remedies, [&](const RemedyReport& a, const RemedyReport& b) {
        if (order == "cost") {
            const auto key = [](const RemedyReport& each) {
                // Dollars for a gain; what gains nothing costs too much, and what prices do not
                // know comes last.
                return each.usd ? std::pair(0, each.gain > 0 ? each.usd->low / each.gain : INFINITY)
                                : std::pair(1, -each.gain);
            };
            return key(a) < key(b);
        }
        return a.gain > b.gain;
    });
}

Parsed<plan::Bill> bill_of(const GoodputQuestion& question, const plan::Cluster& cluster,
                           std::uint32_t nodes) {
    plan::Prices prices = plan::default_prices();
    if (!question.prices.empty()) {
        auto read = spec::load_prices(question.prices);
        if (!read) {
            return std::unexpected(Refusal{read.error()});
        }
        prices = *std::move(read);
    }
    const plan::Cluster used = plan::with_nodes(cluster, nodes);
    const auto fabric = plan::counted_plane(used);
    if (!fabric) {
        return std::unexpected(Refusal{fabric.error().message});
    }
    return plan::make_bill(used, topo::make_report(*fabric), prices);
}

std::vector<std::string> notes_of(const GoodputQuestion& question, const GoodputReport& report) {
    const GoodputJob& job = report.job;
    std::vector<std::string> notes{
        fmt::format("failures come at random with the rates of {}; spare nodes do not fail",
                    question.failures.empty()
                        ? "share/softib/failures/failures.toml, which are those of Llama 3 405B on "
                          "16,384 H100; rates of other clusters were half and twice as high"
                        : question.failures),
        fmt::format("repairs: {:g} h after a reset, {:g} h if hardware is replaced, on average; {} "
                    "take the place of failed ones",
                    job.failures.reset_hours, job.failures.replace_hours,
                    plan::counted(job.spares, "spare node")),
        fmt::format("closed forms, which know no waits for nodes: {:.1f} % (Daly, 2006), {:.1f} % "
                    "(first order, arXiv 2410.21680)",
                    100 * report.daly, 100 * report.first_order)};
    if (job.failover != plan::Failover::kNone) {
        std::string text;
        for (const double part : job.slower) {
            text += fmt::format("{}{:.1f} %", text.empty() ? "" : ", ", 100 * part);
        }
        notes.push_back(fmt::format(
            "while 1, 2, ... {} are down, all steps are longer by {}, until the repair or until a "
            "spare node takes over, for which the job saves its work and stops where that costs "
            "less",
            job.failover == plan::Failover::kPlane ? "planes of a NIC" : "NICs of a node", text));
    }
    if (report.step.cluster.domain_nodes() > 1) {
        notes.emplace_back(
            "a spare node takes the place of any other; in an NVLink domain of several nodes it "
            "must be in the same domain, which needs more of them");
    }
    const StepReport& step = report.step;
    notes.push_back(fmt::format("a step takes {}, {} to {}, as 'softib plan train' tells",
                                show_duration(step.step.seconds), show_duration(step.interval.low),
                                show_duration(step.interval.high)));
    if (!step.chosen.best.empty()) {
        notes.push_back(step.notes.front());
    }
    return notes;
}

}  // namespace

std::expected<double, std::string> parse_duration(const std::string& text) {
    double number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    const std::string_view rest(end, last);
    const auto* const unit = std::ranges::find(kUnits, rest, &Unit::name);
    if (error != std::errc{} || unit == kUnits.end() || !(number >= 0) ||
        number * unit->seconds > 1e9) {
        return std::unexpected(
            fmt::format("must be a time as 90s, 10min, 2h or 3d, not '{}'", text));
    }
    return number * unit->seconds;
}

std::string show_duration(double seconds) {
    for (std::size_t i = kUnits.size(); i-- > 0;) {
        if (seconds >= kUnits[i].seconds || i == 0) {
            return fmt::format("{:.3g} {}", seconds / kUnits[i].seconds, kUnits[i].name);
        }
    }
    return {};
}

std::expected<GoodputReport, Refusal> goodput(const GoodputQuestion& question, const Watch& watch) {
    auto timed = time_step(question.train);
    if (!timed) {
        return std::unexpected(Refusal{timed.error()});
    }
    auto job = job_of(question, timed->report);
    if (!job) {
        return std::unexpected(job.error());
    }
    GoodputReport report{.step = std::move(timed->report),
                         .job = *std::move(job),
                         .runs = question.runs,
                         .seed = question.failure_seed};
    const auto bill = bill_of(question, report.step.cluster, report.job.nodes);
    if (!bill) {
        return std::unexpected(bill.error());
    }
    std::vector<plan::Remedy> remedies = plan::remedies_for(report.job);
    std::vector<GoodputJob> jobs{report.job};
    for (plan::Remedy& remedy : remedies) {
        remedy.job.slower = slower_steps(remedy.job, report.step);
        jobs.push_back(remedy.job);
    }
    std::vector<plan::Goodput> played = play_all(jobs, question, watch);
    report.goodput = std::move(played.front());
    report.times = plan::failure_times(report.job);
    report.daly = plan::daly_ettr(report.job.interval(), report.job.stall_s(), report.times);
    report.first_order = plan::first_order_ettr(report.job.interval(), report.times);
    plan::Range all = bill->nodes_usd;
    all += bill->network_usd;
    const double before = report.goodput.ettr.mean();
    for (std::size_t i = 0; i < remedies.size(); ++i) {
        const double after = played[i + 1].ettr.mean();
        report.remedies.push_back(
            {.name = remedies[i].name,
             .ettr = after,
             .gain = after - before,
             .usd = cost_of(remedies[i], *bill, report.job.nodes),
             .worth_usd = all * (before > 0 ? std::max(0.0, after / before - 1) : 0)});
    }
    sort_remedies(report.remedies, question.sort);
    report.notes = notes_of(question, report);
    return report;
}

}  // namespace softib::answer
