// SPDX-License-Identifier: BSD-2-Clause
// Subcommands of `softib plan` about training.
#include <CLI/CLI.hpp>

#include "app/cli/cli_options.h"
#include "app/cli/plan/train_options.h"

namespace softib::app {
namespace {

void add_count(CLI::App& app, const char* flag, std::uint32_t& value, const char* help,
               const char* group) {
    app.add_option(flag, value, help)
        ->type_name("N")
        ->check(CLI::Range(1U, 100'000'000U).description(""))
        ->group(group);
}

/// Adds the options that `train` and `search` share. If a degree of parallelism is not given,
/// `train` takes 1 and `search` tries several.
void add_mapping(CLI::App& app, TrainOptions& train) {
    app.add_option("-m,--model", train.model, "a model of 'softib plan models', or a file (TOML)")
        ->type_name("MODEL")
        ->required();
    app.add_option("-c,--cluster", train.cluster,
                   "a cluster of 'softib plan presets', with a size as superpod-h100:16, or a file "
                   "(TOML)")
        ->type_name("CLUSTER")
        ->required();
    const char* const map = "Mapping";
    add_count(app, "--gpus", train.gpus, "GPUs of the job (default: all that divide)", map);
    add_count(app, "--tp", train.tp, "tensor parallelism (default: 1; search tries all)", map);
    add_count(app, "--pp", train.pp, "pipeline stages (default: as --tp)", map);
    add_count(app, "--interleave", train.interleave, "chunks of a stage (default: as --tp)", map);
    add_count(app, "--cp", train.cp, "context parallelism (default: as --tp)", map);
    add_count(app, "--ep", train.ep, "expert parallelism (default: as --tp)", map);
    app.add_option("--zero", train.zero,
                   "what replicas divide: 0 nothing, 1 optimizer, 2 gradients too, 3 all (FSDP) "
                   "(default: 1; search tries all)")
        ->type_name("0..3")
        ->check(CLI::Range(0, 3).description(""))
        ->group(map);
    app.add_flag("--uneven", train.uneven, "stages may differ by a layer")->group(map);
    const char* const batch = "Batch";
    add_count(app, "--batch", train.batch, "sequences of a step (default: about 4 Mi tokens)",
              batch);
    add_count(app, "--micro-batch", train.micro_batch, "sequences of one (default: as --tp)",
              batch);
    add_count(app, "--sequence", train.sequence, "tokens of a sequence (default: the model's)",
              batch);
    const char* const work = "Framework";
    CLI::Option* const recompute =
        app.add_option("--recompute", train.recompute,
                       "activations that are computed again (default: none; search tries all)");
    only(recompute, "none|selective|full");
    recompute->group(work);
    CLI::Option* const attention =
        app.add_option("--attention", train.attention, "fused or not (default: flash)");
    only(attention, "flash|unfused");
    attention->group(work);
    CLI::Option* const precision =
        app.add_option("--precision", train.precision, "of matrix products (default: bf16)");
    only(precision, "bf16|fp16|fp8");
    precision->group(work);
    CLI::Option* const hidden =
        app.add_option("--tp-overlap", train.tp_overlap,
                       "tensor parallelism's exchanges that are hidden (default: backward)");
    only(hidden, "none|backward|all");
    hidden->group(work);
    app.add_option("--grad-bytes", train.grad_bytes, "of a gradient (default: 4)")
        ->type_name("2|4")
        ->check(CLI::IsMember({2U, 4U}).description(""))
        ->group(work);
    app.add_flag("--no-sequence-parallel", train.no_sequence_parallel,
                 "keep whole what lies between matrices")
        ->group(work);
    app.add_flag("--no-overlap-dp", train.no_overlap_dp,
                 "send gradients and parameters while nothing computes")
        ->group(work);
    app.add_flag("--no-overlap-pp", train.no_overlap_pp, "stages wait while they send")
        ->group(work);
    app.add_flag("--overlap-ep", train.overlap_ep,
                 "hide experts' exchanges behind another micro-batch")
        ->group(work);
    app.add_option("--comm-sms", train.comm_sms,
                   "multiprocessors of a GPU that only communicate (default: 0)")
        ->type_name("N")
        ->group(work);
    add_json(app, train.json);
}

/// Adds the options for how exchanges are timed and where ranks are.
void add_network(CLI::App& app, TrainOptions& train) {
    const char* const group = "Network";
    CLI::Option* const network = app.add_option(
        "--network", train.network,
        "how exchanges are timed: by rates alone, or on a model of the fabric (default: flow)");
    only(network, "analytic|flow|packet");
    network->group(group);
    CLI::Option* const order = app.add_option("--rank-order", train.rank_order,
                                              "from neighbours to far (default: tp-cp-dp-pp)");
    only(order, "tp-cp-dp-pp|tp-cp-pp-dp");
    order->group(group);
    CLI::Option* const placement = app.add_option(
        "--placement", train.placement, "of the job's nodes on the fabric (default: topology)");
    only(placement, "topology|random");
    placement->group(group);
    app.add_option("--seed", train.seed, "of a random placement (default: 1)")
        ->type_name("N")
        ->group(group);
    app.add_flag("--rails-crossed", train.rails_crossed,
                 "messages arrive at the NIC of the next rail")
        ->group(group);
}

}  // namespace

std::vector<Command> add_training_commands(CLI::App& plan, Parsed& parsed) {
    TrainOptions& train = parsed.train;
    CLI::App* const step = plan.add_subcommand(
        "train", "estimate a training step: time, MFU, memory, what waits for what");
    add_mapping(*step, train);
    add_network(*step, train);
    step->add_option("--tokens", train.tokens,
                     "also tell days and GPU-hours for them, as 300B, 15T")
        ->type_name("N");
    step->add_option("--trace", train.trace, "write the timeline (Chrome trace JSON)")
        ->type_name("FILE");
    step->add_option("--export", train.exports,
                     "write what ranks send each other: goal=FILE, chakra=FILE, csv=FILE; "
                     "repeatable")
        ->type_name("FORMAT=FILE")
        ->expected(1)
        ->take_all();
    step->add_option(
            "--export-layers", train.export_layers,
            "put what N layers exchange within a pass together; 0: leave it in the time of "
            "passes (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(0, 1024).description(""));
    step->add_option("--html", train.html, "write a report with the timeline")->type_name("FILE");
    CLI::App* const search =
        plan.add_subcommand("search", "find the quickest mappings of a model onto a cluster");
    add_mapping(*search, train);
    add_network(*search, train);
    search->add_option("-n,--top", train.top, "how many to show (default: 10)")
        ->type_name("N")
        ->check(CLI::Range(1, 1000).description(""));
    search->add_option("--threads", train.threads, "that try mappings (default: one a core)")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    CLI::App* const models = plan.add_subcommand("models", "list models with their parameters");
    add_json(*models, train.json);
    return {{step, [&train] { return cmd_plan_train(train); }},
            {search, [&train] { return cmd_plan_search(train); }},
            {models, [&train] { return cmd_plan_models(train); }}};
}

}  // namespace softib::app
