// SPDX-License-Identifier: BSD-2-Clause
#include "answer/idle_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "plan/collective/algorithms.h"
#include "spec/description.h"

namespace softib::answer {

namespace {

struct Rule {
    const char* option;
    bool acts;
    std::string needs;
};

std::optional<std::string> first_idle(const std::vector<std::string>& given,
                                      const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) {
        if (!rule.acts && std::ranges::find(given, rule.option) != given.end()) {
            return fmt::format("{} changes nothing here: it needs {}", rule.option, rule.needs);
        }
    }
    return {};
}

/// Returns the names of the algorithms for which `has` is true: "ring, tree or pat".
template <typename Has>
std::string names_with(Has has) {
    std::vector<const char*> names;
    for (const plan::AlgorithmRow& row : plan::algorithm_rows()) {
        if (has(row)) {
            names.push_back(row.name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", names[i]);
    }
    return text;
}

}  // namespace

std::optional<std::string> find_idle_option(const CollectiveQuestion& options, plan::Op op) {
    const bool nccl = options.stack == "nccl";
    const bool sums = plan::computes(plan::Algorithm::kSharp, op);
    return first_idle(options.given,
                      {{"--seed", options.order == "random", "--order random"},
                       {"--step-time", !nccl, "--stack mpi"},
                       {"--protocol", nccl, "--stack nccl"},
                       {"--channels", nccl, "--stack nccl"},
                       {"--rails-crossed", nccl, "--stack nccl"},
                       {"--collnet", nccl && sums && options.algorithms == "nccl",
                        "--algorithms nccl and an operation in which switches can aggregate"},
                       {"--stack", nccl || options.algorithms != "nccl",
                        "--algorithms, since NCCL does not choose for an MPI: all, or some of " +
                            names_with([](const plan::AlgorithmRow& row) {
                                return row.on_hosts != nullptr || row.hosts_aggregate;
                            })}});
}

std::optional<std::string> find_idle_option(const CollectiveQuestion& options,
                                            const plan::CollectiveModel& model,
                                            const std::vector<plan::Algorithm>& algorithms) {
    const bool hosts = options.stack == "mpi";
    const bool leaves = model.layout().domains() > 1;
    const auto any = [&](auto has) {
        return std::ranges::any_of(
            algorithms, [&](plan::Algorithm algorithm) { return has(plan::row_of(algorithm)); });
    };
    const auto sends = [hosts](const plan::AlgorithmRow& row) {
        return hosts ? row.on_hosts != nullptr : row.between != nullptr;
    };
    const auto has_channels = [](const plan::AlgorithmRow& row) { return row.has_channels; };
    const auto has_protocols = [](const plan::AlgorithmRow& row) { return row.has_protocols; };
    const bool messages = leaves && any(sends);
    const std::string several =
        "several NVLink domains and an algorithm whose messages cross the network, as " +
        names_with(sends);
    return first_idle(
        options.given,
        {{"--protocol", any(has_protocols) || options.protocol == "Simple",
          "an algorithm with LL and LL128: " + names_with(has_protocols)},
         {"--channels", leaves && any(has_channels),
          "several NVLink domains and an algorithm with channels: " + names_with(has_channels)},
         {"--order", messages && options.op != "all-to-all",
          several + "; in an all-to-all every node sends to every other"},
         {"--step-time", messages, several},
         {"--planes", messages, several},
         {"--rails-crossed", messages && model.layout().nics_per_domain() > 1,
          several + ", and several NICs a domain"},
         {"--model", messages, several},
         {"--collnet", model.considers_collnet(*plan::parse_op(options.op)),
          "an operation that NCCL leaves to switches with this many GPUs in a domain: "
          "all-reduce"}});
}

std::optional<std::string> find_idle_option(const CompareQuestion& options,
                                            const plan::Cluster& cluster) {
    const bool crosses = options.what != "kv-cache" || cluster.nodes() > cluster.domain_nodes();
    return first_idle(options.given,
                      {{"--model", crosses, "nodes of two NVLink domains, with a fabric between"}});
}

std::optional<std::string> find_idle_option(const CompareQuestion& options) {
    const bool costs = options.what != "kv-cache" && options.what != "sharp";
    const bool trains = !options.train.empty();
    const bool of_training = options.what == "nvlink-domain" || options.what == "experts";
    if (of_training && !trains) {
        return fmt::format("{} compares training steps: it needs --train MODEL", options.what);
    }
    if (!trains) {
        for (const std::string_view key : options.job.given) {
            return fmt::format("{} changes nothing here: it needs --train MODEL",
                               spec::flag_name(std::string(key)));
        }
    }
    constexpr char kTrain[] = "--train MODEL";
    constexpr char kNetworks[] = "a comparison of networks, without --train";
    return first_idle(
        options.given,
        {{"--prices", costs || trains, "a comparison of costs, as topology or oversubscription"},
         {"--vary", trains, kTrain},
         {"--sort", trains, kTrain},
         {"--size", !trains, kNetworks},
         {"--model", !trains, std::string(kNetworks) + "; --network times exchanges"}});
}

}  // namespace softib::answer
