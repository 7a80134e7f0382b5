// SPDX-License-Identifier: BSD-2-Clause
#include "answer/collective.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "answer/idle_options.h"
#include "answer/json_text.h"
#include "answer/sizes.h"
#include "plan/collective/evidence.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the algorithms that a text names; an empty list for "nccl", which means the one that
/// NCCL would choose for each size.
std::expected<std::vector<plan::Algorithm>, std::string> read_algorithms(const std::string& text,
                                                                         plan::Op op) {
    if (text == "nccl") {
        return std::vector<plan::Algorithm>{};
    }
    if (text == "all") {
        return plan::algorithms_of(op);
    }
    std::vector<plan::Algorithm> result;
    for (const std::string& word : split_list(text, ',')) {
        const auto algorithm = plan::parse_algorithm(word);
        if (!algorithm) {
            return std::unexpected("--algorithms: " + algorithm.error());
        }
        if (std::ranges::find(result, *algorithm) != result.end()) {
            return std::unexpected(fmt::format("--algorithms: {} is there twice", word));
        }
        result.push_back(*algorithm);
    }
    return result;
}

plan::CollectiveOptions options_of(const CollectiveQuestion& options, plan::TimePs step) {
    plan::CollectiveOptions result;
    constexpr double kPsPerUs = 1e6;
    result.step_us = static_cast<double>(step) / kPsPerUs;
    result.channels = options.channels;
    result.collnet = options.collnet;
    result.order =
        options.order == "random" ? plan::RankOrder::kRandom : plan::RankOrder::kTopology;
    result.rails_aligned = !options.rails_crossed;
    result.seed = options.seed;
    result.stack = options.stack == "mpi" ? plan::Stack::kHost : plan::Stack::kNccl;
    result.model = options.model == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    return result;
}

/// A size, and an algorithm that computes it.
struct Pick {
    std::uint64_t bytes = 0;
    plan::Algorithm algorithm = plan::Algorithm::kRing;
    std::optional<plan::Protocol> protocol = {};  ///< As NCCL would choose if unset.
};

/// Returns each size with each algorithm, or with the one that NCCL would choose if there are none.
std::vector<Pick> pick(const plan::CollectiveModel& model, plan::Op op,
                       const std::vector<std::uint64_t>& sizes,
                       const std::vector<plan::Algorithm>& algorithms,
                       std::optional<plan::Protocol> protocol) {
    std::vector<Pick> picks;
    for (const std::uint64_t bytes : sizes) {
        if (algorithms.empty()) {
            picks.push_back({bytes, model.choose(op, bytes, protocol).algorithm, protocol});
        }
        for (const plan::Algorithm algorithm : algorithms) {
            picks.push_back({bytes, algorithm, protocol});
        }
    }
    return picks;
}

/// Times what was picked. Adds to `notes` why an algorithm has no time.
std::vector<TimedRow> time_rows(plan::CollectiveModel& model, plan::Op op,
                                const std::vector<Pick>& picks, const Watch& watch,
                                std::vector<std::string>& notes) {
    std::vector<TimedRow> rows;
    for (std::size_t i = 0; i < picks.size(); ++i) {
        const auto& [bytes, algorithm, protocol] = picks[i];
        if (watch) {
            watch(i, picks.size(), plan::to_string(algorithm));
        }
        const auto timing = model.time(op, algorithm, bytes, protocol);
        if (timing) {
            rows.push_back({bytes, algorithm, *timing});
            continue;
        }
        const std::string note = fmt::format("{}: {}", plan::to_string(algorithm), timing.error());
        if (std::ranges::find(notes, note) == notes.end()) {
            notes.push_back(note);
        }
    }
    return rows;
}

std::vector<plan::Algorithm> algorithms_in(const std::vector<Pick>& picks) {
    std::vector<plan::Algorithm> result;
    for (const Pick& each : picks) {
        result.push_back(each.algorithm);
    }
    return result;
}

/// What a question asks for.
struct Asked {
    plan::Op op = plan::Op::kAllReduce;
    std::vector<std::uint64_t> sizes = {};
    std::vector<plan::Algorithm> algorithms = {};  ///< Empty: as NCCL would choose.
    plan::TimePs step = 0;
    std::optional<plan::Protocol> protocol = {};
};

std::expected<Asked, std::string> read_asked(const CollectiveQuestion& question) {
    const auto op = plan::parse_op(question.op);
    auto sizes = read_sizes(question.sizes);
    if (!op || !sizes) {
        return std::unexpected(!op ? op.error() : sizes.error());
    }
    auto algorithms = read_algorithms(question.algorithms, *op);
    if (!algorithms) {
        return std::unexpected(algorithms.error());
    }
    const auto step = plan::parse_time(question.step_time);
    if (!step) {
        return std::unexpected("--step-time: " + step.error());
    }
    if (const auto idle = find_idle_option(question, *op)) {
        return std::unexpected(*idle);
    }
    Asked asked{
        .op = *op, .sizes = *std::move(sizes), .algorithms = *std::move(algorithms), .step = *step};
    if (!question.protocol.empty()) {
        asked.protocol = *plan::parse_protocol(question.protocol);
    }
    return asked;
}

/// Adds what the times stand on.
void add_basis(const plan::CollectiveOptions& options, const plan::CollectiveModel& model,
               CollectiveReport& report) {
    report.assumptions = plan::assumptions_of(options.stack, options.model);
    std::map<plan::Algorithm, std::vector<plan::Question>> questions;
    for (const TimedRow& row : report.rows) {
        questions[row.algorithm].push_back({.stack = options.stack,
                                            .op = report.op,
                                            .algorithm = row.algorithm,
                                            .domains = model.layout().domains(),
                                            .bytes = row.bytes});
    }
    for (const auto& [algorithm, asked] : questions) {
        report.evidence.push_back(plan::show_evidence(asked));
    }
}

}  // namespace

std::expected<TimedCollective, Refusal> time_collective(const CollectiveQuestion& question,
                                                        const Watch& watch, bool exports) {
    const auto cluster = spec::find_cluster(question.cluster, question.nodes, question.planes);
    if (!cluster) {
        return std::unexpected(Refusal{cluster.error()});
    }
    const auto asked = read_asked(question);
    if (!asked) {
        return std::unexpected(Refusal{asked.error(), true});
    }
    const plan::CollectiveOptions options = options_of(question, asked->step);
    auto model = plan::CollectiveModel::make(*cluster, options);
    if (!model) {
        return std::unexpected(Refusal{model.error()});
    }
    const std::vector<Pick> picks =
        pick(**model, asked->op, asked->sizes, asked->algorithms, asked->protocol);
    if (const auto idle = find_idle_option(question, **model, algorithms_in(picks))) {
        return std::unexpected(Refusal{*idle, true});
    }
    if (exports && picks.size() != 1) {
        return std::unexpected(Refusal{
            "--export is for one size and one algorithm, as --sizes 64MiB --algorithms ring",
            true});
    }
    CollectiveReport report{.question = question, .op = asked->op, .ranks = (*model)->ranks()};
    if (question.cluster.contains('\n')) {  // The question has the whole cluster in it.
        report.question.cluster = cluster->name;
    }
    if (const auto& fault = (*model)->collnet_fault()) {
        report.notes.push_back(
            fmt::format("CollNet cannot start, and NCCL goes on without it: {}", *fault));
    }
    report.rows = time_rows(**model, asked->op, picks, watch, report.notes);
    if (report.rows.empty()) {
        return std::unexpected(Refusal{
            fmt::format("--algorithms {} with --op {} and --stack {}: {}", question.algorithms,
                        question.op, question.stack,
                        report.notes.empty() ? "there is nothing to time" : report.notes.back())});
    }
    for (const plan::Algorithm algorithm : asked->algorithms) {
        if (auto why = (*model)->find_no_choice(asked->op, algorithm)) {
            report.notes.push_back(*std::move(why));
        }
    }
    std::ranges::copy(plan::notes_of(*cluster), std::back_inserter(report.notes));
    add_basis(options, **model, report);
    return TimedCollective{std::move(report), *std::move(model)};
}

std::string to_json(const CollectiveReport& report) {
    Json list = Json::array();
    for (const TimedRow& row : report.rows) {
        const plan::Timing& timing = row.timing;
        list.push_back({{"bytes", row.bytes},
                        {"algorithm", plan::to_string(row.algorithm)},
                        {"protocol", plan::to_string(timing.protocol)},
                        {"us", timing.us},
                        {"algbw_gbs", timing.algbw},
                        {"busbw_gbs", timing.busbw},
                        {"software_us", timing.software_us},
                        {"fabric_us", timing.fabric_us},
                        {"nvlink_us", timing.nvlink_us},
                        {"scaled", timing.scaled}});
    }
    return json_text({{"cluster", report.question.cluster},
                      {"op", report.question.op},
                      {"ranks", report.ranks},
                      {"model", report.question.model},
                      {"rows", std::move(list)},
                      {"notes", report.notes},
                      {"assumptions", report.assumptions},
                      {"evidence", report.evidence}});
}

}  // namespace softib::answer
