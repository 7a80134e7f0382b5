// SPDX-License-Identifier: BSD-2-Clause
// The subcommand of `softib plan` about serving.
#include <CLI/CLI.hpp>

#include <string>

#include "app/cli/cli_options.h"
#include "app/cli/plan/plan_commands.h"
#include "plan/cluster/recipe.h"

namespace softib::app {
namespace {

constexpr char kLengths[] = "TOKENS|uniform:LOW:HIGH|exp:MEAN|lognormal:MEAN:SIGMA";

CLI::Option* add_number(CLI::App& app, const char* name, std::uint32_t& number, std::uint32_t most,
                        const char* help) {
    return app.add_option(name, number, help)->type_name("N")->check(whole_number(1, most));
}

void add_pools(CLI::App& app, answer::ServeQuestion& question) {
    add_number(app, "--prefill", question.prefill, answer::kNodesMost,
               "nodes that compute prompts (default: 1)");
    add_number(app, "--decode", question.decode, answer::kNodesMost,
               "nodes that compute answers (default: 1)");
    add_number(app, "--prefill-tp", question.prefill_tp, answer::kRailsMost,
               "GPUs of an instance of the prefill pool (default: all of a node)");
    add_number(app, "--decode-tp", question.decode_tp, answer::kRailsMost,
               "GPUs of an instance of the decode pool (default: all of a node)");
    app.add_option("--precision", question.precision,
                   "of matrix products and weights: " + std::string(plan::recipe_names()) +
                       " (default: bf16)")
        ->type_name("RECIPE");
    only(app.add_option("--kv-precision", question.kv_precision, "of KV caches (default: bf16)"),
         answer::kKvPrecisions);
    add_number(app, "--batch", question.batch, answer::kBatchMost,
               "most answers that a decode instance computes at once (default: 256)");
}

void add_load(CLI::App& app, answer::ServeQuestion& question) {
    app.add_option("--rate", question.rate,
                   "requests a second, at random times (Poisson; default: 1)")
        ->type_name("R");
    app.add_option("--prompt", question.prompt, "tokens of a prompt (default: 4096)")
        ->type_name(kLengths);
    app.add_option("--answer", question.answer, "tokens of an answer (default: 256)")
        ->type_name(kLengths);
    app.add_option("--reuse", question.reuse,
                   "part of a prompt whose KV cache the prefill pool has already (default: 0)")
        ->type_name("PART");
    app.add_option("--decode-reuse", question.decode_reuse,
                   "part whose KV cache the decode pool has, so that it is not sent (default: 0)")
        ->type_name("PART");
    app.add_flag("--stream", question.stream,
                 "KV caches travel layer by layer while the prompt is computed (default: after)");
}

}  // namespace

Command add_serve(CLI::App& plan, PlanServeOptions& options) {
    answer::ServeQuestion& question = options.question;
    CLI::App* const sub = plan.add_subcommand(
        "serve", "Serve a model by pools of prefill and decode nodes: times to tokens");
    sub->add_option("--model", question.model, "a model (softib plan models), or a file (TOML)")
        ->type_name("MODEL")
        ->required();
    sub->add_option("--cluster", question.cluster,
                    "a preset (softib plan presets), with a size as NAME:N, or a file (TOML)")
        ->type_name("CLUSTER")
        ->required();
    add_pools(*sub, question);
    add_load(*sub, question);
    add_number(*sub, "--rails", question.rails, answer::kRailsMost,
               "NICs of a node that carry KV caches (default: 1, 2, 4 ... all, one row each)");
    add_number(*sub, "--requests", question.requests, answer::kRequestsMost,
               "requests of a run (default: 2000)");
    sub->add_option("--seed", question.seed, "of the first run (default: 1)")
        ->type_name("N")
        ->check(whole_number(0, UINT64_MAX));
    add_number(*sub, "--seeds", question.seeds, answer::kSeedsMost,
               "runs, each with a seed of its own (default: 3)");
    only(sub->add_option("--network", question.network, "how KV caches move (default: flow)"),
         answer::kModels);
    add_json(*sub, options.json);
    sub->add_option("--html", options.html, "write a report with plots")->type_name("FILE");
    return {sub, [sub, &options] {
                options.question.given.clear();
                for (const CLI::Option* const option : sub->get_options()) {
                    if (option->count() != 0) {
                        options.question.given.push_back(option->get_name());
                    }
                }
                return cmd_plan_serve(options);
            }};
}

}  // namespace softib::app
