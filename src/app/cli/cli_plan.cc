// SPDX-License-Identifier: BSD-2-Clause
// Subcommands that plan a cluster.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/cli_options.h"
#include "app/cli/plan/plan_commands.h"
#include "plan/collective/algorithms.h"

namespace softib::app {
namespace {

void add_cluster_operand(CLI::App& app, std::string& cluster) {
    app.add_option("cluster", cluster,
                   "a preset (softib plan presets), with a size as NAME:N, or a "
                   "file (TOML)")
        ->type_name("CLUSTER")
        ->required();
}

void add_cluster_flag(CLI::App& app, std::string& cluster, std::uint32_t& nodes) {
    app.add_option("--cluster", cluster,
                   "a preset (softib plan presets), with a size as NAME:N, or a file (TOML)")
        ->type_name("CLUSTER");
    app.add_option("--nodes", nodes, "take this many nodes of it (default: all)")
        ->type_name("N")
        ->check(whole_number(1, answer::kNodesMost));
}

void add_planes(CLI::App& app, std::uint32_t& planes) {
    app.add_option("--planes", planes,
                   "split each NIC over this many planes of their own switches (default: as the "
                   "cluster says)")
        ->type_name("N")
        ->check(whole_number(1, answer::kPlanesMost));
}

void add_html(CLI::App& app, std::string& html) {
    app.add_option("--html", html, "write a report with plots")->type_name("FILE");
}

void add_model(CLI::App& app, std::string& model) {
    only(app.add_option("--model", model, "how messages move (default: flow)"), answer::kModels);
}

Command add_presets(CLI::App& plan, PlanClusterOptions& options) {
    CLI::App* const sub = plan.add_subcommand("presets", "List clusters that exist, and GPUs");
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_plan_presets(options); }};
}

Command add_show(CLI::App& plan, PlanClusterOptions& options) {
    answer::ClusterQuestion& question = options.question;
    CLI::App* const sub = plan.add_subcommand(
        "show", "Show what a cluster is made of: switches, cables, LIDs, power, cost");
    add_cluster_operand(*sub, question.cluster);
    sub->add_option("--nodes", question.nodes, "take this many nodes of it")
        ->type_name("N")
        ->check(whole_number(1, answer::kNodesMost));
    add_planes(*sub, question.planes);
    sub->add_option("--prices", question.prices, "price ranges (TOML)")->type_name("FILE");
    add_json(*sub, options.json);
    return {sub, [&options] { return cmd_plan_show(options); }};
}

Command add_collective(CLI::App& plan, PlanCollectiveOptions& options) {
    answer::CollectiveQuestion& question = options.question;
    CLI::App* const sub =
        plan.add_subcommand("collective", "Time a collective operation over sizes and algorithms");
    add_cluster_flag(*sub, question.cluster, question.nodes);
    add_planes(*sub, question.planes);
    only(sub->add_option("--op", question.op, "what is computed (default: all-reduce)"),
         answer::kOperations);
    sub->add_option("--sizes", question.sizes,
                    "FROM:TO by powers of two, or SIZE,SIZE,... (default: 8:1G)")
        ->type_name("SIZES");
    std::string names;
    for (const plan::AlgorithmRow& row : plan::algorithm_rows()) {
        names += std::string(row.name) + ", ";
    }
    sub->add_option("--algorithms,--algorithm", question.algorithms,
                    "nccl (what NCCL would take), all, or of " + names +
                        "separated by commas "
                        "(default: nccl)")
        ->type_name("NAMES");
    only(sub->add_option("--protocol", question.protocol, "of NCCL (default: as NCCL would)"),
         answer::kProtocolNames);
    sub->add_flag("--collnet", question.collnet,
                  "NCCL has a SHARP plug-in, and NCCL_COLLNET_ENABLE is 1");
    sub->add_option("--channels", question.channels,
                    "between nodes (default: two for each NIC, or four at 800 Gb/s)")
        ->type_name("N")
        ->check(whole_number(1, answer::kChannelsMost));
    only(sub->add_option("--order", question.order, "of nodes (default: topology)"),
         answer::kOrders);
    sub->add_flag("--rails-crossed", question.rails_crossed,
                  "messages arrive at the NIC of the next rail");
    sub->add_option("--seed", question.seed, "of a random order (default: 1)")
        ->type_name("N")
        ->check(whole_number(0, UINT64_MAX));
    add_model(*sub, question.model);
    only(sub->add_option("--stack", question.stack,
                         "NCCL on GPUs, or an MPI with one rank a node (default: nccl)"),
         answer::kStacks);
    sub->add_option("--step-time", question.step_time,
                    "with --stack mpi: what a step costs the MPI beside a message (default: 0)")
        ->type_name("TIME");
    sub->add_option(
           "--export", options.exports,
           "write the messages of one size and algorithm: goal=FILE, chakra=FILE, csv=FILE; "
           "repeatable")
        ->type_name("FORMAT=FILE")
        ->expected(1)
        ->take_all();
    add_json(*sub, options.json);
    add_html(*sub, options.html);
    return {sub, [sub, &options] {
                options.question.given = given_options(*sub);
                return cmd_plan_collective(options);
            }};
}

Command add_compare(CLI::App& plan, PlanCompareOptions& options) {
    answer::CompareQuestion& question = options.question;
    CLI::App* const sub = plan.add_subcommand(
        "compare", "Compare networks for one cluster, or a model's training on several");
    only(sub->add_option("what", question.what, "what differs"), answer::kComparisons);
    add_cluster_flag(*sub, question.cluster, question.nodes);
    sub->add_option("--size", question.size, "of the operation (default: 1GB)")->type_name("SIZE");
    sub->add_option("--prices", question.prices, "price ranges (TOML)")->type_name("FILE");
    add_model(*sub, question.model);
    sub->add_option("--csv", options.csv, "write the rows as comma-separated values")
        ->type_name("FILE");
    add_json(*sub, options.json);
    add_html(*sub, options.html);
    CLI::Option* const train =
        sub->add_option("--train", question.train, "compare steps of training this model")
            ->type_name("MODEL");
    CLI::Option* const vary =
        sub->add_option("--vary", options.vary,
                        "a key of the cluster or of training, or clusters; repeatable")
            ->type_name("KEY=VALUE,...")
            ->expected(1)
            ->take_all();
    CLI::Option* const sort = sub->add_option(
        "--sort", question.sort, "by $/10^12 tokens, step, MFU, price or power (default: tokens)");
    only(sort, answer::kStepOrders);
    for (CLI::Option* const each : {train, vary, sort}) {
        each->group("Training");
    }
    add_train_keys(*sub, question.job, [](const spec::TrainKey& key) {
        return key.serves(spec::TrainAsk::kTrain) && !key.writes && key.name != "export_layers" &&
               key.name != "model" && key.name != "cluster";
    });
    return {sub, [sub, &options] {
                options.question.given = given_options(*sub);
                for (const std::string& each : options.vary) {
                    options.question.vary += (options.question.vary.empty() ? "" : ",") + each;
                }
                return cmd_plan_compare(options);
            }};
}

Command add_expect(CLI::App& plan, PlanExpectOptions& options) {
    answer::ExpectQuestion& question = options.question;
    CLI::App* const sub = plan.add_subcommand(
        "expect", "What nccl-tests, OSU and perftest should print, beside what they printed");
    sub->add_option("log", question.logs,
                    "what they printed; - is standard input (default: print all that is expected)")
        ->type_name("FILE");
    add_cluster_flag(*sub, question.cluster, question.nodes);
    sub->add_option("--per-node", question.per_node,
                    "ranks of NCCL on each node (default: one for each GPU)")
        ->type_name("N")
        ->check(whole_number(1, answer::kChannelsMost));
    sub->add_option("--benchmark", question.benchmark,
                    "programs, operations, nccl-tests, osu or perftest, separated by commas; with "
                    "a log, what a table without a name is (default: all)")
        ->type_name("NAMES");
    sub->add_option("--sizes", question.sizes,
                    "without a log: FROM:TO by powers of two, or SIZE,SIZE,... (default: "
                    "8,1K,32K,1M,32M,1G)")
        ->type_name("SIZES");
    sub->add_option("--algorithm", question.algorithm,
                    "what NCCL_ALGO says: names separated by commas (default: NCCL's choice)")
        ->type_name("NAMES");
    sub->add_option("--protocol", question.protocol,
                    "what NCCL_PROTO says: names separated by commas (default: NCCL's choice)")
        ->type_name("NAMES");
    sub->add_flag("--collnet", question.collnet,
                  "NCCL has a SHARP plug-in, and NCCL_COLLNET_ENABLE is 1");
    sub->add_option("--channels", question.channels, "between nodes (default: two for each NIC)")
        ->type_name("N")
        ->check(whole_number(1, answer::kChannelsMost));
    add_json(*sub, options.json);
    return {sub, [sub, &options] {
                options.question.given = given_options(*sub);
                return cmd_plan_expect(options);
            }};
}

Command add_validate(CLI::App& plan, PlanValidateOptions& options) {
    CLI::App* const sub =
        plan.add_subcommand("validate", "Compare the planner with published measurements");
    add_json(*sub, options.json);
    sub->add_flag("--markdown", options.markdown, "as a page of documentation");
    sub->add_flag("--errors", options.errors,
                  "the errors of measured steps alone, each without itself, as the planner keeps "
                  "them (TOML)");
    return {sub, [&options] { return cmd_plan_validate(options); }};
}

Command add_calibrate(CLI::App& plan, PlanCalibrateOptions& options) {
    CLI::App* const sub = plan.add_subcommand(
        "calibrate", "Time the kernels of this machine's GPU, and write rates for --rates");
    sub->add_option("-o,--output", options.output, "write the rates there (default: print them)")
        ->type_name("FILE");
    sub->add_option("--cluster", options.question.cluster,
                    "the GPU is that of this cluster (default: known by its name)")
        ->type_name("CLUSTER");
    CLI::Option* const device = sub->add_option(
        "--device", options.device, "what is measured: cuda, cuda:N or cpu (default: cuda)");
    device->type_name("DEVICE");
    CLI::Option* const python = sub->add_option("--python", options.python,
                                                "the Python that has PyTorch (default: python3)");
    python->type_name("PROGRAM");
    sub->add_flag("--quick", options.quick, "time fewer kernels, for a shorter time");
    sub->add_flag("--program", options.program,
                  "print the program that measures, to run it on another machine");
    sub->add_option("--measurements", options.question.measurements,
                    "measure nothing: take what that program wrote")
        ->type_name("FILE");
    add_json(*sub, options.json);
    return {sub, [device, python, &options] {
                options.device_given = device->count() != 0;
                options.python_given = python->count() != 0;
                return cmd_plan_calibrate(options);
            }};
}

Command add_plan(CLI::App& app, Parsed& parsed) {
    CLI::App* const plan =
        app.add_subcommand("plan", "Plan a GPU cluster: components, collectives, training");
    plan->require_subcommand(1);
    PlanOptions& options = parsed.plan;
    const auto actions = std::make_shared<std::vector<Command>>(std::vector<Command>{
        add_presets(*plan, options.presets), add_show(*plan, options.show),
        add_collective(*plan, options.collective), add_compare(*plan, options.compare),
        add_serve(*plan, options.serve), add_expect(*plan, options.expect),
        add_validate(*plan, options.validate), add_calibrate(*plan, options.calibrate)});
    std::ranges::move(add_training_commands(*plan, parsed), std::back_inserter(*actions));
    return {plan, [actions] {
                return std::ranges::find_if(*actions,
                                            [](const Command& each) { return each.app->parsed(); })
                    ->act();
            }};
}

}  // namespace

std::vector<std::string> given_options(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* const option : app.get_options()) {
        if (option->count() != 0) {
            names.push_back(option->get_name());
        }
    }
    return names;
}

std::span<const Subcommand> planning_subcommands() {
    static constexpr Subcommand kAll[]{{"plan", add_plan}};
    return kAll;
}

}  // namespace softib::app
