// SPDX-License-Identifier: BSD-2-Clause
#include "spec/train/question.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/base/nearest.h"
#include "spec/cluster/cluster_file.h"
#include "spec/cluster/rates_file.h"
#include "spec/model/model_file.h"
#include "spec/scenario/toml_file.h"
#include "spec/text_file.h"

namespace softib::spec {

namespace {

/// The most GPUs of a domain with which NCCL takes CollNet for an all-reduce.
constexpr std::uint32_t kCollnetGpusMost = 8;

const TrainKey* find_key(std::string_view name) {
    const auto keys = train_keys();
    const auto found = std::ranges::find_if(keys, [&](const TrainKey& key) {
        return std::ranges::equal(key.name, name,
                                  [](char a, char b) { return a == b || (a == '_' && b == '-'); });
    });
    return found == keys.end() ? nullptr : &*found;
}

std::string quoted(std::string_view key) {
    return fmt::format("'{}'", key);
}

/// Reads one key. A switch that is false is as one that was not said.
Result take_key(TrainQuestion& question, const SaidKey& said,
                std::span<const std::string_view> others) {
    const TrainKey* const key = find_key(said.name);
    if (key == nullptr) {
        std::vector<std::string_view> names{"ask"};
        names.insert(names.end(), others.begin(), others.end());
        std::ranges::transform(train_keys(), std::back_inserter(names), &TrainKey::name);
        return std::unexpected(unknown_name("key", said.name, names));
    }
    if (std::ranges::find(question.given, key->name) != question.given.end()) {
        return std::unexpected(fmt::format("'{}' is there twice", key->name));
    }
    if (key->writes) {
        return std::unexpected(
            fmt::format("'{}' is for the command, which writes files: softib plan train --{} FILE",
                        key->name, key->name));
    }
    if (!said.value || (key->operand.empty() && !said.is_switch)) {
        return std::unexpected(
            fmt::format("'{}' must be {}", key->name,
                        key->operand.empty() ? "true or false" : "a text or a number"));
    }
    if (key->operand.empty() && *said.value == "false") {
        return {};
    }
    if (const Result done = set_train_key(question, *key, *said.value); !done) {
        return std::unexpected(fmt::format("'{}' {}", key->name, done.error()));
    }
    return {};
}

/// Returns the text of a key's value. That of the table [cluster] or [model] is a description.
std::optional<std::string> text_or_description(const toml::key& key, const toml::node& node) {
    const toml::table* const table = node.as_table();
    if (table != nullptr && (key == "cluster" || key == "model" || key == "train")) {
        std::ostringstream text;
        toml::table lines = *table;
        lines.is_inline(false);
        if (!lines.empty()) {  // That would be written as "{}".
            text << toml::toml_formatter(lines);
        }
        text << "\n";
        return text.str();
    }
    return text_of(node);
}

/// Returns that a key was given which changes nothing with the model or on the GPUs of the job.
std::optional<std::string> find_idle_key(const TrainQuestion& question, const plan::Job& job,
                                         TrainAsk ask) {
    const bool train = ask == TrainAsk::kTrain;
    const std::uint32_t stages = job.mapping.virtual_stages();
    const bool one_replica = train && job.mapping.replicas() == 1;
    const struct {
        std::string_view key;
        bool idle;
        std::string why;
    } rules[] = {
        {"zero", one_replica, fmt::format("all {} GPUs are one replica", job.mapping.gpus)},
        {"no_overlap_dp", one_replica,
         fmt::format("all {} GPUs are one replica", job.mapping.gpus)},
        {"overlap_dp", one_replica, fmt::format("all {} GPUs are one replica", job.mapping.gpus)},
        {"hsdp", train && job.mapping.instances() == 1,
         fmt::format("all {} ranks with the same parameters are one group",
                     job.mapping.replicas())},
        {"etp", job.model.experts == 0, job.model.name + " has no experts"},
        {"uneven", train && job.model.layers % stages == 0,
         fmt::format("the {} layers divide among {} stages", job.model.layers, stages)},
        {"collnet", job.cluster.domain_gpus() > kCollnetGpusMost,
         fmt::format("NCCL leaves no all-reduce to switches with more than {} GPUs in a domain",
                     kCollnetGpusMost)},
        {"collnet", train && question.wish.says_mapping() && job.mapping.zero != 0,
         fmt::format("with zero {} gradients are reduce-scattered, for which NICs send as much",
                     job.mapping.zero)},
        {"collnet", one_replica, fmt::format("all {} GPUs are one replica", job.mapping.gpus)},
        {"collnet", job.mapping.gpus <= job.cluster.domain_gpus(),
         "the job is within one NVLink domain"},
        {"overlap_ep", job.model.experts == 0, job.model.name + " has no experts"},
        {"cuda_graphs", job.model.experts == 0,
         job.model.name + " has no experts, and hosts keep up with dense layers"},
    };
    for (const auto& [key, idle, why] : rules) {
        if (idle && std::ranges::find(question.given, key) != question.given.end()) {
            return fmt::format("{} changes nothing here: {}; leave it out", key, why);
        }
    }
    return std::nullopt;
}

}  // namespace

Result set_train_key(TrainQuestion& question, const TrainKey& key, const std::string& value) {
    question.given.push_back(key.name);
    question.wish.given.push_back(key.name);
    return key.set(question, value);
}

Result check_question(const TrainQuestion& question, TrainAsk ask,
                      std::string (*shown)(std::string_view key)) {
    for (const TrainKey& key : train_keys()) {
        if (std::ranges::find(question.given, key.name) == question.given.end()) {
            continue;
        }
        const std::string_view why = !key.serves(ask)      ? key.why
                                     : key.idle != nullptr ? key.idle(question, ask)
                                                           : "";
        if (!why.empty()) {
            return std::unexpected(
                fmt::format("{} changes nothing here: {}; leave it out", shown(key.name), why));
        }
    }
    return {};
}

std::string in_folder(std::string name, const std::string& folder) {
    const bool is_file = name.ends_with(".toml") || name.find('/') != std::string::npos;
    return is_file && !is_description(name) ? (std::filesystem::path(folder) / name).string()
                                            : name;
}

std::expected<std::vector<SaidKey>, std::string> said_keys(std::string_view text,
                                                           const std::string& file) {
    const auto table = parse_toml(text, file);
    if (!table) {
        return std::unexpected(table.error());
    }
    std::vector<SaidKey> keys;
    for (auto&& [name, node] : *table) {
        if (name != "ask") {
            keys.push_back({std::string(name.str()), text_or_description(name, node),
                            node.is_boolean(), place(file, name.source())});
        }
    }
    return keys;
}

std::optional<std::string> asked_for(std::string_view text, const std::string& file) {
    const auto table = parse_toml(text, file);
    const toml::node* const ask = table ? table->get("ask") : nullptr;
    return ask == nullptr ? std::nullopt : text_of(*ask);
}

std::expected<TrainQuestion, std::string> parse_question(std::string_view text, TrainAsk ask,
                                                         const std::string& file,
                                                         const std::string& folder) {
    const auto said = said_keys(text, file);
    return said ? question_of(*said, ask, file, folder, {}) : std::unexpected(said.error());
}

std::expected<TrainQuestion, std::string> question_of(const std::vector<SaidKey>& said,
                                                      TrainAsk ask, const std::string& file,
                                                      const std::string& folder,
                                                      std::span<const std::string_view> others) {
    TrainQuestion question;
    for (const SaidKey& key : said) {
        if (const Result taken = take_key(question, key, others); !taken) {
            return std::unexpected(fmt::format("{}: {}", key.place, taken.error()));
        }
    }
    for (const std::string* needed : {&question.model, &question.cluster}) {
        if (needed->empty()) {
            return std::unexpected(fmt::format("{}: say which {}: {} = \"NAME\"", file,
                                               needed == &question.model ? "model" : "cluster",
                                               needed == &question.model ? "model" : "cluster"));
        }
    }
    question.model = in_folder(question.model, folder);
    question.cluster = in_folder(question.cluster, folder);
    question.rates = question.rates.empty() ? "" : in_folder("./" + question.rates, folder);
    if (const Result checked = check_question(question, ask, quoted); !checked) {
        return std::unexpected(fmt::format("{}: {}", file, checked.error()));
    }
    return question;
}

std::expected<plan::Job, std::string> job_of(const TrainQuestion& question, TrainAsk ask) {
    // A wrong model is told before a wrong cluster.
    if (const auto model = named_model(question.model); !model) {
        return std::unexpected(model.error());
    }
    auto cluster = find_cluster(question.cluster, 0, question.planes);
    return cluster ? job_of(question, ask, *std::move(cluster)) : std::unexpected(cluster.error());
}

std::expected<plan::Job, std::string> job_of(const TrainQuestion& question, TrainAsk ask,
                                             plan::Cluster cluster) {
    auto model = named_model(question.model);
    if (!model) {
        return std::unexpected(model.error());
    }
    if (!question.rates.empty()) {
        auto rates = load_rates(question.rates);
        if (!rates) {
            return std::unexpected(rates.error());
        }
        if (rates->compute_capability > cluster.gpu.compute_capability) {
            return std::unexpected(fmt::format(
                "{} has rates of GPUs of compute capability {}, and {} has {}", question.rates,
                rates->compute_capability, cluster.gpu.name, cluster.gpu.compute_capability));
        }
        cluster.gpu.rates = *std::move(rates);
    }
    if (question.collnet && !cluster.fabric.sharp) {
        return std::unexpected(
            fmt::format("collnet changes nothing here: the switches of {} do not aggregate; set "
                        "sharp in its fabric",
                        cluster.name));
    }
    cluster.fabric.collnet = question.collnet;
    const plan::JobWish wish = plan::with_defaults(question.wish);
    plan::Job job = ask == TrainAsk::kTrain
                        ? plan::job_to_time(*std::move(model), std::move(cluster), wish)
                        : plan::job_to_search(*std::move(model), std::move(cluster), wish);
    if (const auto idle = find_idle_key(question, job, ask)) {
        return std::unexpected(*idle);
    }
    return job;
}

}  // namespace softib::spec
