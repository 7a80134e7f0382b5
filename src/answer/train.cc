// SPDX-License-Identifier: BSD-2-Clause
#include "answer/train.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "parallel/for_each.h"
#include "plan/train/basis.h"
#include "plan/train/fabric_communication.h"

namespace softib::answer {

namespace {

using spec::TrainAsk;
using spec::TrainQuestion;

plan::PlacementOptions placement_of(const TrainQuestion& question) {
    return {
        .model = question.network == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow,
        .order = question.placed_randomly ? plan::RankOrder::kRandom : plan::RankOrder::kTopology,
        .seed = question.seed,
        .rails_aligned = !question.rails_crossed};
}

/// Returns the model that times the exchanges of a job.
plan::SearchRun::Network network_of(const TrainQuestion& question, const plan::Job& job) {
    if (question.network == "analytic") {
        return std::make_unique<plan::LinkCommunication>(job.cluster);
    }
    return plan::FabricCommunication::make(job.cluster, job.mapping.gpus, placement_of(question));
}

std::string note_of(const plan::StepInterval& interval) {
    return fmt::format(
        "the interval: 4 of 5 measured steps of its kind ({}; {} steps) lie in it when the "
        "planner's constants are fitted on the others ('softib plan validate')",
        interval.kind, interval.steps);
}

plan::SearchRun run_of(const TrainQuestion& question, std::uint32_t top) {
    plan::SearchRun run{.top = top};
    run.each = [threads = question.threads](std::size_t count, const auto& work, const auto& tell) {
        parallel::for_each(count, threads, work, tell);
    };
    return run;
}

/// Gives a job the quickest mapping that fits, by rates and latencies. Returns the quickest three.
std::expected<plan::SearchResult, std::string> choose_mapping(const TrainQuestion& question,
                                                              plan::Job& job) {
    constexpr std::uint32_t kNamed = 3;
    const plan::JobWish wish = plan::with_defaults(question.wish);
    job = plan::job_to_search(std::move(job.model), std::move(job.cluster), wish);
    auto found =
        plan::search(job.model, job.cluster, space_of(job, wish), run_of(question, kNamed));
    if (!found) {
        return found;
    }
    if (found->best.empty()) {
        return std::unexpected(plan::why_nothing(job, found->mappings));
    }
    job.mapping = found->best.front().mapping;
    return found;
}

std::string note_of(const plan::SearchResult& chosen) {
    std::string text = fmt::format(
        "no mapping was said: this is the quickest of {} that fit, by rates and latencies",
        chosen.fitting);
    for (std::size_t i = 1; i < chosen.best.size(); ++i) {
        text += fmt::format("{} {} ({:+.1f} %)",
                            i == 1 ? "; next:" : "; then:", plan::describe(chosen.best[i].mapping),
                            100 * (chosen.best[i].seconds / chosen.best[0].seconds - 1));
    }
    return text;
}

using JobOf = std::expected<plan::Job, std::string>;

std::expected<TimedStep, std::string> time_job(const TrainQuestion& question, JobOf job,
                                               bool chooses, Networks& networks) {
    if (!job) {
        return std::unexpected(job.error());
    }
    plan::SearchResult chosen;
    if (chooses) {
        auto found = choose_mapping(question, *job);
        if (!found) {
            return std::unexpected(found.error());
        }
        chosen = *std::move(found);
    }
    // A mapping that cannot work is refused before the fabric is routed, which takes long.
    if (auto rough = plan::estimate_step(job->model, job->cluster, job->mapping,
                                         plan::LinkCommunication(job->cluster));
        !rough) {
        return std::unexpected(rough.error());
    }
    std::expected<std::shared_ptr<plan::Communication>, std::string> network =
        std::make_shared<plan::LinkCommunication>(job->cluster);
    if (question.network != "analytic") {
        network = networks.take(job->cluster, job->mapping.gpus, placement_of(question));
    }
    if (!network) {
        return std::unexpected(network.error());
    }
    auto step = plan::estimate_step(job->model, job->cluster, job->mapping, **network);
    if (!step) {
        return std::unexpected(step.error());
    }
    std::vector<std::string> notes = basis_of(job->model, job->cluster, question.network);
    const plan::StepInterval interval =
        plan::interval_of(step->seconds, plan::class_of(job->model, job->mapping, step->seconds));
    notes.push_back(note_of(interval));
    if (!chosen.best.empty()) {
        notes.insert(notes.begin(), note_of(chosen));
    }
    return TimedStep{
        .report = {.model = std::move(job->model),
                   .cluster = std::move(job->cluster),
                   .mapping = job->mapping,
                   .step = *std::move(step),
                   .chosen = std::move(chosen),
                   .interval = interval,
                   .framework = question.wish.preset,
                   .choices = plan::choices_of(job->mapping, question.wish.preset, question.given),
                   .tokens = question.tokens,
                   .network = question.network,
                   .notes = std::move(notes)},
        .network = *std::move(network)};
}

}  // namespace

std::optional<plan::FabricLoad> load_of(const TimedStep& timed) {
    using plan::Dimension;
    const StepReport& report = timed.report;
    const plan::Step& step = report.step;
    const plan::Groups groups = plan::groups_of(report.mapping);
    const auto bytes = [&](Dimension dimension) {
        return step.bytes[static_cast<std::size_t>(dimension)].fabric;
    };
    // Gradients of experts have a group of their own; both have their parts by parameters.
    const double experts = plan::expert_layer_parameters(report.model, report.mapping);
    const bool moe = report.model.expert_layers() > 0;
    const double shared = plan::shared_layer_parameters(report.model, report.mapping, moe);
    const double part = moe ? experts / (experts + shared) : 0;
    const double data = bytes(Dimension::kData);
    return timed.network->load(
        {{plan::Exchange::kAllReduce, groups.tensor, bytes(Dimension::kTensor)},
         {plan::Exchange::kAllGather, groups.context, bytes(Dimension::kContext)},
         {plan::Exchange::kAllToAll, groups.expert, bytes(Dimension::kExpert)},
         {plan::Exchange::kSend, groups.pipeline, bytes(Dimension::kPipeline)},
         {plan::Exchange::kAllReduce, groups.data, data * (1 - part)},
         {plan::Exchange::kAllReduce, groups.expert_data, data * part}},
        step.seconds);
}

std::expected<TimedStep, std::string> time_step(const TrainQuestion& question) {
    Networks networks;
    return time_step(question, networks);
}

std::expected<TimedStep, std::string> time_step(const TrainQuestion& question, Networks& networks) {
    return time_job(question, spec::job_of(question, TrainAsk::kTrain),
                    !question.wish.says_mapping(), networks);
}

std::expected<TimedStep, std::string> time_step(const TrainQuestion& question,
                                                plan::Cluster cluster, bool chooses) {
    Networks networks;
    return time_job(question, spec::job_of(question, TrainAsk::kTrain, std::move(cluster)), chooses,
                    networks);
}

std::expected<SearchReport, std::string> search(const TrainQuestion& question,
                                                const SearchWatch& watch) {
    auto job = spec::job_of(question, TrainAsk::kSearch);
    if (!job) {
        return std::unexpected(job.error());
    }
    plan::SearchRun run = run_of(question, question.top);
    run.stop = watch.stop;
    run.tell = watch.tell;
    if (question.network != "analytic") {
        run.network = [&] { return network_of(question, *job); };
    }
    const auto begun = std::chrono::steady_clock::now();
    auto result = plan::search(job->model, job->cluster,
                               space_of(*job, plan::with_defaults(question.wish)), run);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    if (!result) {
        return std::unexpected(result.error());
    }
    if (result->best.empty() && !result->stopped) {
        return std::unexpected(plan::why_nothing(*job, result->mappings));
    }
    std::vector<std::string> notes = basis_of(job->model, job->cluster, question.network);
    return SearchReport{.model = std::move(job->model),
                        .cluster = std::move(job->cluster),
                        .gpus = job->mapping.gpus,
                        .network = question.network,
                        .seconds = took.count(),
                        .result = *std::move(result),
                        .notes = std::move(notes)};
}

}  // namespace softib::answer
