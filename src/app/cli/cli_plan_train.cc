// SPDX-License-Identifier: BSD-2-Clause
// Subcommands of `softib plan` about training.
#include <CLI/CLI.hpp>

#include <string>

#include "app/cli/cli_options.h"
#include "app/cli/plan/train_options.h"
#include "spec/description.h"

namespace softib::app {
namespace {

/// Sets a key, or tells CLI11 what is wrong with its value.
void take(spec::TrainQuestion& question, const spec::TrainKey& key, const std::string& value) {
    if (const auto done = set_train_key(question, key, value); !done) {
        throw CLI::ValidationError(spec::flag_name(key.name), done.error());
    }
}

void add_keys(CLI::App& app, spec::TrainQuestion& question, spec::TrainAsk ask) {
    add_train_keys(app, question, [ask](const spec::TrainKey& key) { return key.serves(ask); });
}

void add_checkpoints(CLI::App& app, answer::GoodputQuestion& question) {
    only(app.add_option("--checkpoint", question.checkpoint,
                        "whether the job waits while storage writes (default: sync)"),
         answer::kCheckpointings);
    app.add_option("--checkpoint-every", question.checkpoint_every,
                   "training between two (default: what loses least)")
        ->type_name("TIME");
    app.add_option("--checkpoint-size", question.checkpoint_size,
                   "of all GPUs together (default: 14 bytes a parameter)")
        ->type_name("SIZE");
    app.add_option("--storage", question.storage,
                   "rate of all nodes together (default: 62GB/s for 32 nodes)")
        ->type_name("RATE");
    app.add_option("--stall", question.stall,
                   "stop of the job for an asynchronous checkpoint (default: the copy over PCIe)")
        ->type_name("TIME");
    for (const char* const name :
         {"--checkpoint", "--checkpoint-every", "--checkpoint-size", "--storage", "--stall"}) {
        app.get_option(name)->group("Checkpoints");
    }
}

void add_failures(CLI::App& app, answer::GoodputQuestion& question) {
    app.add_option("--failures", question.failures,
                   "rates of failures (TOML), as share/softib/failures/failures.toml")
        ->type_name("FILE");
    app.add_option("--detect", question.detect, "until a failure is noticed (default: 1min)")
        ->type_name("TIME");
    app.add_option("--timeout", question.timeout, "until one is that hangs (default: 10min)")
        ->type_name("TIME");
    app.add_option("--restart", question.restart,
                   "from there to the first step, without reading the checkpoint (default: 10min)")
        ->type_name("TIME");
    app.add_option("--spares", question.spares, "spare nodes (default: what the job leaves)")
        ->type_name("N");
    only(app.add_option("--failover", question.failover,
                        "what goes on when a link fails: other planes of the NIC, other NICs of "
                        "the node (default: none)"),
         answer::kFailovers);
    for (const char* const name :
         {"--failures", "--detect", "--timeout", "--restart", "--spares", "--failover"}) {
        app.get_option(name)->group("Failures");
    }
}

Command add_goodput(CLI::App& plan, GoodputOptions& options) {
    answer::GoodputQuestion& question = options.question;
    CLI::App* const sub = plan.add_subcommand(
        "goodput", "simulate weeks with failures: effective time, what loses it, what would help");
    add_failures(*sub, question);
    add_checkpoints(*sub, question);
    sub->add_option("--weeks", question.weeks, "to simulate (default: 8)")
        ->type_name("N")
        ->check(whole_number(1, answer::kWeeksMost));
    sub->add_option("--runs", question.runs, "with other failures (default: 100)")
        ->type_name("N")
        ->check(whole_number(1, answer::kRunsMost));
    sub->add_option("--failure-seed", question.failure_seed, "of the first run (default: 1)")
        ->type_name("N")
        ->check(whole_number(0, UINT64_MAX));
    sub->add_option("--threads", question.threads, "that simulate (default: one a core)")
        ->type_name("N")
        ->check(whole_number(1, answer::kChannelsMost));
    sub->add_option("--prices", question.prices, "price ranges (TOML)")->type_name("FILE");
    only(sub->add_option("--sort", question.sort,
                         "what would help, by gain or by dollars for it (default: gain)"),
         answer::kRemedyOrders);
    add_train_keys(*sub, question.train, [](const spec::TrainKey& key) {
        return key.serves(spec::TrainAsk::kTrain) && !key.name.starts_with("export") &&
               (!key.writes || key.name == "html");
    });
    add_json(*sub, options.json);
    return {sub, [sub, &options] {
                options.question.given = given_options(*sub);
                return cmd_plan_goodput(options);
            }};
}

}  // namespace

void add_train_keys(CLI::App& app, spec::TrainQuestion& question,
                    const std::function<bool(const spec::TrainKey&)>& wanted) {
    for (const spec::TrainKey& key : spec::train_keys()) {
        if (!wanted(key)) {
            continue;
        }
        const std::string flag = spec::flag_name(key.name);
        const std::string help(key.help);
        CLI::Option* option = nullptr;
        if (key.operand.empty()) {
            option = app.add_flag_callback(
                flag, [&question, &key] { take(question, key, "true"); }, help);
        } else {
            const std::string names =
                key.letter == 0 ? flag : std::string{'-', key.letter, ','} + flag;
            option = app.add_option_function<std::vector<std::string>>(
                names,
                [&question, &key](const std::vector<std::string>& values) {
                    for (const std::string& value : values) {
                        take(question, key, value);
                    }
                },
                help);
            option->expected(1);
            if (key.name == "export") {
                option->take_all();
            }
            if (key.operand.find('|') != std::string_view::npos) {
                only(option, std::string(key.operand));
            } else {
                option->type_name(std::string(key.operand));
            }
            option->required(key.name == "model" || key.name == "cluster");
        }
        if (!key.group.empty()) {
            option->group(std::string(key.group));
        }
    }
}

std::vector<Command> add_training_commands(CLI::App& plan, Parsed& parsed) {
    TrainOptions& train = parsed.train;
    CLI::App* const step = plan.add_subcommand(
        "train", "estimate a training step: time, MFU, memory, what waits for what");
    add_keys(*step, train.question, spec::TrainAsk::kTrain);
    add_json(*step, train.json);
    CLI::App* const search =
        plan.add_subcommand("search", "find the quickest mappings of a model onto a cluster");
    add_keys(*search, train.question, spec::TrainAsk::kSearch);
    add_json(*search, train.json);
    CLI::App* const models = plan.add_subcommand("models", "list models with their parameters");
    add_json(*models, train.json);
    return {{step, [&train] { return cmd_plan_train(train); }},
            {search, [&train] { return cmd_plan_search(train); }},
            {models, [&train] { return cmd_plan_models(train); }},
            add_goodput(plan, parsed.goodput)};
}

}  // namespace softib::app
