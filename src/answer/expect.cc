// SPDX-License-Identifier: BSD-2-Clause
#include "answer/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "answer/sizes.h"
#include "core/base/nearest.h"
#include "plan/collective/algorithms.h"
#include "plan/collective/evidence.h"
#include "spec/cluster/cluster_file.h"
#include "spec/measured/log.h"
#include "spec/text_file.h"

namespace softib::answer {

namespace {

using plan::Benchmark;
using plan::Tool;

bool is_given(const ExpectQuestion& question, std::string_view option) {
    return std::ranges::find(question.given, option) != question.given.end();
}

std::string idle(std::string_view option, std::string_view needs) {
    return fmt::format("{} changes nothing here: it needs {}", option, needs);
}

/// Returns the benchmarks that names mean: programs, tools, operations of NCCL, or all.
std::expected<std::vector<const Benchmark*>, std::string> read_benchmarks(const std::string& text) {
    std::vector<const Benchmark*> found;
    for (const std::string& word : split_list(text, ',')) {
        const std::size_t before = found.size();
        for (const Benchmark& each : plan::benchmarks()) {
            const bool of_op = each.tool == Tool::kNcclTests &&
                               each.work == plan::Work::kOperation &&
                               word == plan::to_string(each.op);
            if ((word == "all" || word == each.name || word == plan::to_string(each.tool) ||
                 of_op) &&
                std::ranges::find(found, &each) == found.end()) {
                found.push_back(&each);
            }
        }
        if (found.size() == before) {
            std::vector<std::string_view> names{"all", "nccl-tests", "osu", "perftest"};
            std::ranges::transform(plan::benchmarks(), std::back_inserter(names), &Benchmark::name);
            return std::unexpected("--benchmark: " + unknown_name("benchmark", word, names));
        }
    }
    return found;
}

/// Reads what NCCL was told, and whether the cluster can do it.
std::expected<plan::Setting, std::string> read_setting(const ExpectQuestion& question) {
    plan::Setting setting{.collnet = question.collnet, .channels = question.channels};
    if (question.algorithm != "nccl") {
        for (const std::string& word : split_list(question.algorithm, ',')) {
            const auto algorithm = plan::parse_algorithm(word);
            if (!algorithm) {
                return std::unexpected("--algorithm: " + algorithm.error());
            }
            setting.algorithms.push_back(*algorithm);
        }
    }
    if (question.protocol != "nccl") {
        for (const std::string& word : split_list(question.protocol, ',')) {
            const auto protocol = plan::parse_protocol(word);
            if (!protocol) {
                return std::unexpected("--protocol: " + protocol.error());
            }
            setting.protocols.push_back(*protocol);
        }
    }
    return setting;
}

std::expected<plan::MeasuredLog, std::string> read_logs(const ExpectQuestion& question) {
    plan::MeasuredLog all;
    if (!question.text.empty() && std::ranges::find(question.logs, "-") == question.logs.end()) {
        auto log = spec::parse_log({"text", question.text});
        if (!log) {
            return log;
        }
        spec::append(all, *std::move(log));
    }
    for (const std::string& file : question.logs) {
        const auto text = file == "-" ? std::expected<std::string, std::string>(question.text)
                                      : spec::read_file(file);
        if (!text) {
            return std::unexpected(text.error());
        }
        auto log = spec::parse_log({file == "-" ? "standard input" : file, *text});
        if (!log) {
            return log;
        }
        spec::append(all, *std::move(log));
    }
    return all;
}

/// Returns the first option that changes nothing for these runs.
std::optional<std::string> find_idle(const ExpectQuestion& question,
                                     const std::vector<plan::Run>& runs, bool unnamed,
                                     bool measured) {
    const auto any = [&](auto has) { return std::ranges::any_of(runs, has); };
    const auto nccl = [](const plan::Run& run) {
        return run.table.benchmark->tool == Tool::kNcclTests;
    };
    const bool has_nccl = any(nccl);
    const bool asks_nodes = any([](const plan::Run& run) {
        return run.table.nodes == 0 && !run.table.benchmark->is_pair();
    });
    const bool asks_ranks =
        any([&](const plan::Run& run) { return nccl(run) && run.table.ranks == 0; });
    const struct {
        const char* option;
        bool acts;
        const char* needs;
    } rules[] = {
        {"--sizes", !measured, "no log: with one, its rows are the sizes"},
        {"--benchmark", !measured || unnamed, "a log that does not name its benchmark"},
        {"--nodes", asks_nodes, "a table of several nodes whose log does not name them"},
        {"--per-node", asks_ranks, "a table of nccl-tests whose log does not name its ranks"},
        {"--algorithm", has_nccl, "a table of nccl-tests"},
        {"--protocol", has_nccl, "a table of nccl-tests"},
        {"--collnet", any([&](const plan::Run& run) { return nccl(run) && run.nodes > 1; }),
         "a table of nccl-tests on several nodes"},
        {"--channels", any([&](const plan::Run& run) { return nccl(run) && run.nodes > 1; }),
         "a table of nccl-tests on several nodes"}};
    for (const auto& rule : rules) {
        if (!rule.acts && is_given(question, rule.option)) {
            return idle(rule.option, rule.needs);
        }
    }
    return std::nullopt;
}

/// Returns the run of a table. The error says which option tells what is not known.
std::expected<plan::Run, std::string> place_run(const ExpectQuestion& question,
                                                const plan::Cluster& cluster,
                                                plan::MeasuredTable table) {
    const bool nccl = table.benchmark->tool == Tool::kNcclTests;
    plan::Run run{.table = std::move(table)};
    if (run.table.benchmark->is_pair()) {
        run.nodes = 2;
        run.per_node = 1;
        return run;
    }
    run.nodes = run.table.nodes != 0  ? run.table.nodes
                : question.nodes != 0 ? question.nodes
                                      : cluster.nodes();
    run.per_node = 1;
    if (nccl) {
        run.per_node = run.table.ranks != 0     ? run.table.ranks / run.nodes
                       : question.per_node != 0 ? question.per_node
                                                : cluster.gpus_per_node;
        if (run.table.ranks != 0 && run.table.ranks % run.nodes != 0) {
            return std::unexpected(fmt::format(
                "{}:{}: {} ranks on {} nodes: the planner knows runs with as many ranks on each "
                "node",
                run.table.file, run.table.line, run.table.ranks, run.nodes));
        }
        if (run.per_node > cluster.gpus_per_node) {
            return std::unexpected(fmt::format(
                "{} ranks a node, and a node of {} has {} GPUs: take another --cluster, or say "
                "--per-node",
                run.per_node, cluster.name, cluster.gpus_per_node));
        }
    }
    return run;
}

/// Returns the tables that are expected without a log.
std::vector<plan::MeasuredTable> tables_of(const std::vector<const Benchmark*>& benchmarks,
                                           const std::vector<std::uint64_t>& sizes) {
    std::vector<plan::MeasuredTable> tables;
    for (const Benchmark* const benchmark : benchmarks) {
        plan::MeasuredTable table{.benchmark = benchmark};
        for (const std::uint64_t bytes : sizes) {
            table.rows.push_back({.bytes = bytes});
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

/// Returns whether NCCL found another kind of network than the cluster's.
bool is_other_network(const plan::Cluster& cluster, const plan::Fact& fact) {
    const bool ethernet = cluster.fabric.link_layer == plan::LinkLayer::kRoce;
    return fact.kind == (ethernet ? plan::FactKind::kInfiniBand : plan::FactKind::kRoce);
}

/// Adds notes about a log that may surprise: other GPUs than the cluster's, rows that are fast.
void add_notes(const plan::Cluster& cluster, ExpectReport& report) {
    std::size_t fast = 0;
    std::size_t wrong = 0;
    for (const plan::JudgedTable& table : report.diagnosis.tables) {
        if (!table.left_out.empty()) {
            report.notes.push_back(fmt::format("{}: nothing to compare with: {}",
                                               table.run.table.benchmark->name, table.left_out));
        }
        if (report.measured && table.run.table.nodes == 0 && report.question.nodes == 0 &&
            !table.run.table.benchmark->is_pair()) {
            report.notes.push_back(fmt::format(
                "{}:{}: the log does not name its nodes, which are taken as {}: say --nodes",
                table.run.table.file, table.run.table.line, table.run.nodes));
        }
        const std::string& gpu = table.run.table.gpu;
        const std::string note =
            fmt::format("the log's GPUs are '{}', and those of {} are {}: is --cluster right?", gpu,
                        cluster.name, cluster.gpu.name);
        if (!gpu.empty() && !gpu.contains(cluster.gpu.name) &&
            std::ranges::find(report.notes, note) == report.notes.end()) {
            report.notes.push_back(note);
        }
        for (const plan::JudgedRow& row : table.rows) {
            fast += row.verdict == plan::Verdict::kFast ? 1U : 0U;
            wrong += row.verdict == plan::Verdict::kWrong ? 1U : 0U;
        }
    }
    for (const plan::Fact& fact : report.diagnosis.facts) {
        if (is_other_network(cluster, fact)) {
            report.notes.push_back(
                fmt::format("{}: NCCL found {}, and {} has {}: is --cluster right?", fact.place,
                            fact.kind == plan::FactKind::kRoce ? "RoCE" : "InfiniBand",
                            cluster.name, plan::to_string(cluster.fabric.link_layer)));
        }
    }
    if (fast != 0) {
        report.notes.push_back(fmt::format(
            "rows that are faster than the interval: {}; is --cluster right, and is what NCCL was "
            "told the same (--algorithm, --collnet)?",
            fast));
    }
    if (wrong != 0) {
        report.notes.push_back(fmt::format(
            "rows with wrong values: {}; a GPU, a cable or a switch changes data: look at Xid "
            "errors in dmesg, at ECC counters and at symbol errors before all else",
            wrong));
    }
}

/// Adds what the expected values stand on.
void add_basis(ExpectReport& report) {
    std::map<plan::Algorithm, std::vector<plan::Question>> asked;
    bool nccl = false;
    bool hosts = false;
    for (const plan::JudgedTable& table : report.diagnosis.tables) {
        const Benchmark& benchmark = *table.run.table.benchmark;
        nccl = nccl || benchmark.tool == Tool::kNcclTests;
        hosts = hosts || benchmark.tool != Tool::kNcclTests;
        for (const plan::JudgedRow& row : table.rows) {
            if (benchmark.tool == Tool::kNcclTests && benchmark.op == plan::Op::kAllReduce) {
                asked[row.expected.algorithm].push_back({.op = benchmark.op,
                                                         .algorithm = row.expected.algorithm,
                                                         .domains = table.run.nodes,
                                                         .bytes = row.measured.bytes});
            }
        }
    }
    if (nccl) {
        report.assumptions = plan::assumptions_of(plan::Stack::kNccl, net::ModelKind::kFlow);
    }
    if (hosts) {
        report.assumptions.emplace_back(
            "hosts: one rank a node, the fastest algorithm that the planner knows, a queue pair "
            "that posts every 0.13 us; published latencies are 0.8 to 1.9 us");
    }
    report.assumptions.emplace_back(
        "interval: 10 % for a plateau and 25 % where latency takes part, as rows of "
        "docs/validation.md are met, and twice that where none is near ('assumed'); a row outside "
        "is off");
    for (const auto& [algorithm, questions] : asked) {
        report.evidence.push_back(plan::show_evidence(questions));
    }
}

/// Gives tables that the log does not name the benchmark of the question. The error names the
/// first that is still without one.
std::optional<std::string> name_tables(const std::vector<const Benchmark*>& benchmarks,
                                       std::vector<plan::MeasuredTable>& tables) {
    for (plan::MeasuredTable& table : tables) {
        if (table.benchmark != nullptr) {
            continue;
        }
        if (benchmarks.size() != 1 || benchmarks[0]->tool != Tool::kNcclTests) {
            return fmt::format(
                "{}:{}: the log does not say which benchmark this table is of: say it, as "
                "--benchmark all_gather_perf",
                table.file, table.line);
        }
        table.benchmark = benchmarks[0];
    }
    return std::nullopt;
}

}  // namespace

std::expected<ExpectReport, Refusal> expect(const ExpectQuestion& question,
                                            const plan::DiagnosisWatch& watch) {
    const auto misuse = [](std::string text) {
        return std::unexpected(Refusal{std::move(text), true});
    };
    if (question.cluster.empty()) {
        return misuse("say which cluster: --cluster NAME (see: softib plan presets)");
    }
    ExpectReport report{.question = question};
    report.measured = !question.logs.empty() || !question.text.empty();
    const auto benchmarks = read_benchmarks(question.benchmark);
    const auto sizes = read_sizes(question.sizes);
    auto setting = read_setting(question);
    if (!benchmarks || !sizes || !setting) {
        return misuse(!benchmarks ? benchmarks.error() : !sizes ? sizes.error() : setting.error());
    }
    plan::MeasuredLog log;
    bool unnamed = false;
    if (report.measured) {
        auto read = read_logs(question);
        if (!read) {
            return misuse(read.error());
        }
        log = *std::move(read);
        unnamed = std::ranges::any_of(log.tables, [](const plan::MeasuredTable& table) {
            return table.benchmark == nullptr;
        });
        if (const auto nameless = name_tables(*benchmarks, log.tables)) {
            return misuse(*nameless);
        }
    } else {
        log.tables = tables_of(*benchmarks, *sizes);
    }
    std::uint32_t nodes = question.nodes;
    for (const plan::MeasuredTable& table : log.tables) {
        nodes =
            std::max({nodes, table.nodes, report.measured && table.benchmark->is_pair() ? 2U : 0U});
    }
    const auto cluster = spec::find_cluster(question.cluster, nodes);
    if (!cluster) {
        return misuse(cluster.error());
    }
    setting->cluster = *cluster;
    std::vector<plan::Run> runs;
    for (plan::MeasuredTable& table : log.tables) {
        auto run = place_run(question, *cluster, std::move(table));
        if (!run) {
            return misuse(run.error());
        }
        runs.push_back(*std::move(run));
    }
    if (const auto unused = find_idle(question, runs, unnamed, report.measured)) {
        return misuse(*unused);
    }
    auto diagnosis = plan::diagnose(*setting, std::move(runs), std::move(log.facts), watch);
    if (!diagnosis) {
        return misuse(diagnosis.error());
    }
    report.diagnosis = *std::move(diagnosis);
    if (question.cluster.contains('\n')) {  // The question has the whole cluster in it.
        report.question.cluster = cluster->name;
    }
    report.notes = std::move(log.notes);
    add_notes(*cluster, report);
    std::ranges::copy(plan::notes_of(*cluster), std::back_inserter(report.notes));
    add_basis(report);
    return report;
}

}  // namespace softib::answer
