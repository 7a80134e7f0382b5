// SPDX-License-Identifier: BSD-2-Clause
// `softib plan train`, `search` and `models`.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <expected>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/plan/page.h"
#include "app/cli/plan/train_options.h"
#include "app/cli/plan/train_report.h"
#include "app/cli/sim/interrupt.h"
#include "app/cli/text_file.h"
#include "app/cli/trace/trace_commands.h"
#include "app/fabric/term.h"
#include "plan/trace/training.h"
#include "plan/train/communication.h"
#include "plan/train/fabric_communication.h"
#include "plan/train/timeline.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/model/model_file.h"

namespace softib::app {

namespace {

constexpr std::uint64_t kTokensDefault = 4 << 20;  ///< Tokens of a step if no batch is given.

/// Reads a number of tokens: "300B" or "1.5T". K, M, B and T are powers of a thousand.
std::expected<double, std::string> parse_tokens(const std::string& text) {
    double factor = 1;
    std::string digits = text;
    constexpr std::string_view kUnits = "KMBT";
    const std::size_t unit = text.empty() ? std::string::npos : kUnits.find(text.back());
    if (unit != std::string::npos) {
        digits.pop_back();
        for (std::size_t i = 0; i <= unit; ++i) {
            factor *= 1000;
        }
    }
    char* end = nullptr;
    const double number = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end != '\0' || !(number > 0) || number * factor > 1e18) {
        return std::unexpected(
            fmt::format("--tokens '{}' must be a number of tokens, as 300B or 1.5T", text));
    }
    return number * factor;
}

struct TrainJob {
    plan::Model model = {};
    plan::Cluster cluster = {};
    plan::Mapping mapping = {};  ///< Its `gpus` and `batch` are 0 if they were not given.
};

/// Reads the options that `train` and `search` have in common. A degree of parallelism that was not
/// given is 1.
std::expected<TrainJob, std::string> read_job(const TrainOptions& options) {
    auto model = spec::named_model(options.model);
    if (!model) {
        return std::unexpected(model.error());
    }
    auto cluster = spec::find_cluster(options.cluster);
    if (!cluster) {
        return std::unexpected(cluster.error());
    }
    plan::Mapping mapping;
    mapping.gpus = options.gpus;
    mapping.tp = std::max(options.tp, 1U);
    mapping.pp = std::max(options.pp, 1U);
    mapping.interleave = std::max(options.interleave, 1U);
    mapping.cp = std::max(options.cp, 1U);
    mapping.ep = std::max(options.ep, 1U);
    mapping.zero = options.zero.value_or(1);
    mapping.batch = options.batch;
    mapping.micro_batch = std::max(options.micro_batch, 1U);
    mapping.sequence = options.sequence != 0 ? options.sequence : model->sequence;
    mapping.sequence_parallel = !options.no_sequence_parallel;
    mapping.recompute = plan::parse_recompute(options.recompute).value_or(plan::Recompute::kNone);
    mapping.attention = *plan::parse_attention_kernel(options.attention);
    mapping.precision = *plan::parse_precision(options.precision);
    mapping.tp_overlap = *plan::parse_tensor_overlap(options.tp_overlap);
    mapping.grad_bytes = options.grad_bytes;
    mapping.overlap_dp = !options.no_overlap_dp;
    mapping.overlap_pp = !options.no_overlap_pp;
    mapping.overlap_ep = options.overlap_ep;
    mapping.comm_sms = options.comm_sms;
    mapping.uneven = options.uneven;
    mapping.pp_inside = options.rank_order == "tp-cp-pp-dp";
    return TrainJob{*std::move(model), *std::move(cluster), mapping};
}

/// Returns a batch of about kTokensDefault tokens that is a multiple of `share`.
std::uint32_t usual_batch(const plan::Mapping& mapping, std::uint64_t share) {
    const std::uint64_t sequences = std::max<std::uint64_t>(kTokensDefault / mapping.sequence, 1);
    return static_cast<std::uint32_t>((sequences + share - 1) / share * share);
}

void choose_sizes(TrainJob& job) {
    plan::Mapping& mapping = job.mapping;
    const std::uint64_t one = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp * mapping.ep;
    if (mapping.gpus == 0) {
        mapping.gpus = static_cast<std::uint32_t>(job.cluster.gpus() / one * one);
    }
    const std::uint64_t replica = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp;
    if (mapping.batch == 0 && mapping.gpus >= replica) {
        mapping.batch = usual_batch(mapping, std::uint64_t{mapping.dp()} * mapping.micro_batch *
                                                 (mapping.interleave > 1 ? mapping.pp : 1));
    }
}

/// Returns the model that times the exchanges of a job.
std::expected<std::unique_ptr<plan::Communication>, std::string> network_of(
    const TrainOptions& options, const TrainJob& job) {
    if (options.network == "analytic") {
        return std::make_unique<plan::LinkCommunication>(job.cluster);
    }
    return plan::FabricCommunication::make(
        job.cluster, job.mapping.gpus,
        {.model = options.network == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow,
         .order =
             options.placement == "random" ? plan::RankOrder::kRandom : plan::RankOrder::kTopology,
         .seed = options.seed,
         .rails_aligned = !options.rails_crossed});
}

/// Times the best mappings again on a model of the fabric. There are more of them than the user
/// asked for, because their order may change.
std::expected<std::vector<plan::Candidate>, std::string> refine(const TrainOptions& options,
                                                                const TrainJob& job,
                                                                std::vector<plan::Candidate> best,
                                                                const sim::InterruptWatch& watch) {
    Progress progress("routing the fabric");
    progress.tick();
    const auto network = network_of(options, job);
    if (!network) {
        return std::unexpected(network.error());
    }
    std::vector<plan::Candidate> refined;
    for (const plan::Candidate& each : best) {
        if (watch.interrupted()) {
            break;
        }
        progress.bar(refined.size(), best.size(),
                     fmt::format("mappings on the {} model", options.network));
        if (auto again = plan::try_mapping(job.model, job.cluster, each.mapping, **network)) {
            refined.push_back(*again);
        }
        if (auto fault = (*network)->fault()) {
            return std::unexpected(*std::move(fault));
        }
    }
    return plan::best_of(std::move(refined), options.top);
}

/// Tries all mappings on several threads. Returns those that fit, in the order of `all`, no matter
/// which thread tried them.
std::vector<plan::Candidate> try_all(const TrainJob& job, const std::vector<plan::Mapping>& all,
                                     std::uint32_t threads, const sim::InterruptWatch& watch) {
    std::vector<std::optional<plan::Candidate>> tried(all.size());
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    const plan::LinkCommunication communication(job.cluster);
    const auto work = [&] {
        for (std::size_t i = next++; i < all.size() && !watch.interrupted(); i = next++) {
            tried[i] = plan::try_mapping(job.model, job.cluster, all[i], communication);
            ++done;
        }
    };
    std::vector<std::thread> team;
    for (std::uint32_t i = 0; i < threads; ++i) {
        team.emplace_back(work);
    }
    Progress progress("searching");
    while (done < all.size() && !watch.interrupted()) {
        progress.bar(done, all.size(), "mappings");
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (std::thread& each : team) {
        each.join();
    }
    std::vector<plan::Candidate> fitting;
    for (const auto& each : tried) {
        if (each) {
            fitting.push_back(*each);
        }
    }
    return fitting;
}

plan::SearchSpace space_of(const TrainOptions& options, const plan::Mapping& base) {
    return {.base = base,
            .tp = options.tp,
            .pp = options.pp,
            .interleave = options.interleave,
            .cp = options.cp,
            .ep = options.ep,
            .micro_batch = options.micro_batch,
            .zero = options.zero,
            .recompute = plan::parse_recompute(options.recompute)};
}

/// Returns why the search found nothing: no mapping fits in memory, the one that was asked for has
/// a fault, or none divides GPUs and batch.
std::string nothing_found(const TrainJob& job, std::size_t divided) {
    if (divided != 0) {
        return fmt::format(
            "none of {} mappings of {} fits in the {} GiB of {} {}; try more --gpus, or a shorter "
            "--sequence",
            divided, job.model.name, job.cluster.gpu.memory_bytes >> 30, job.mapping.gpus,
            job.cluster.gpu.name);
    }
    if (const auto fault = plan::find_fault(job.model, job.cluster, job.mapping)) {
        return *fault;
    }
    return fmt::format(
        "no mapping divides {} GPUs and a batch of {}; try --gpus {} or another --batch",
        job.mapping.gpus, job.mapping.batch, std::max(job.mapping.gpus / 64 * 64, 8U));
}

/// Writes the messages of a step. Ranks are on the cluster's GPUs in their order. Returns the exit
/// status.
int export_step(const TrainOptions& options, const std::vector<trace::Export>& exports,
                const train::Report& report, const plan::Communication& network) {
    if (options.placement == "random") {
        return fail("--export has ranks in the order of the cluster's GPUs: leave out --placement");
    }
    const auto job =
        plan::trace::job_of_step(report.model, report.cluster, report.mapping, report.step, network,
                                 {.layers_together = options.export_layers});
    if (!job) {
        return fail(fmt::format(
            "{}: put those of several layers together, as --export-layers {}, leave them in the "
            "time of passes by --export-layers 0, or take a smaller --batch or fewer --gpus",
            job.error(), std::max(2 * options.export_layers, 2U)));
    }
    std::vector<std::uint32_t> gpus(report.mapping.gpus);
    std::iota(gpus.begin(), gpus.end(), 0U);
    return trace::export_job(exports, report.cluster, *job, std::move(gpus));
}

}  // namespace

int cmd_plan_train(const TrainOptions& options) {
    auto job = read_job(options);
    if (!job) {
        return fail(job.error());
    }
    const auto exports = trace::read_exports(options.exports);
    if (!exports) {
        return misuse(exports.error());
    }
    choose_sizes(*job);
    train::Report report{.model = job->model, .cluster = job->cluster, .mapping = job->mapping};
    if (!options.tokens.empty()) {
        const auto tokens = parse_tokens(options.tokens);
        if (!tokens) {
            return misuse(tokens.error());
        }
        report.tokens = *tokens;
    }
    // A mapping that cannot work is refused before the fabric is routed, which takes long.
    if (auto rough = plan::estimate_step(job->model, job->cluster, job->mapping,
                                         plan::LinkCommunication(job->cluster));
        !rough) {
        return fail(rough.error());
    }
    Progress progress(fmt::format("timing exchanges on the {} model", options.network));
    progress.tick();
    const auto network = network_of(options, *job);
    if (!network) {
        return fail(network.error());
    }
    auto step = plan::estimate_step(job->model, job->cluster, job->mapping, **network);
    report.network = options.network;
    if (!step) {
        return fail(step.error());
    }
    report.step = *std::move(step);
    int status = 0;
    if (!options.trace.empty()) {
        status |= write_text(options.trace, plan::chrome_trace(report.step));
    }
    if (!exports->empty()) {
        if (const int failed = export_step(options, *exports, report, **network); failed != 0) {
            return failed;
        }
    }
    if (!options.html.empty()) {
        status |= write_text(options.html, train::to_html(report));
    }
    fmt::print("{}", options.json ? train::to_json(report) : train::to_text(report));
    return status;
}

int cmd_plan_search(const TrainOptions& options) {
    auto job = read_job(options);
    if (!job) {
        return fail(job.error());
    }
    if (job->mapping.gpus == 0) {
        job->mapping.gpus = job->cluster.gpus();
    }
    if (job->mapping.batch == 0) {
        job->mapping.batch = usual_batch(job->mapping, job->mapping.gpus);
    }
    const auto begun = std::chrono::steady_clock::now();
    const std::vector<plan::Mapping> all =
        plan::candidates(job->model, job->cluster, space_of(options, job->mapping));
    const sim::InterruptWatch watch;
    const std::uint32_t cores = std::max(std::thread::hardware_concurrency(), 1U);
    auto fitting = try_all(*job, all, options.threads != 0 ? options.threads : cores, watch);
    train::Search search{.model = job->model,
                         .cluster = job->cluster,
                         .gpus = job->mapping.gpus,
                         .mappings = all.size(),
                         .fitting = fitting.size(),
                         .stopped = watch.interrupted()};
    const bool refines = options.network != "analytic" && !search.stopped;
    search.best = plan::best_of(std::move(fitting), refines ? 2 * options.top : options.top);
    search.network = options.network;
    if (refines && !search.best.empty()) {
        search.refined = search.best.size();
        auto best = refine(options, *job, std::move(search.best), watch);
        if (!best) {
            return fail(best.error());
        }
        search.best = *std::move(best);
        search.stopped = watch.interrupted();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    search.seconds = took.count();
    if (search.best.empty() && !search.stopped) {
        return fail(nothing_found(*job, all.size()));
    }
    fmt::print("{}", options.json ? train::to_json(search) : train::to_text(search));
    return 0;
}

int cmd_plan_models(const TrainOptions& options) {
    fmt::print("{}", options.json ? train::models_json() : train::models_text());
    return 0;
}

}  // namespace softib::app
