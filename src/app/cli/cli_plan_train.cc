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

/// Adds a flag for each key of a question. A key of files may be given several times.
void add_keys(CLI::App& app, spec::TrainQuestion& question, spec::TrainAsk ask) {
    for (const spec::TrainKey& key : spec::train_keys()) {
        if (!key.serves(ask)) {
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

}  // namespace

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
            {models, [&train] { return cmd_plan_models(train); }}};
}

}  // namespace softib::app
