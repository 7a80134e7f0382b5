// SPDX-License-Identifier: BSD-2-Clause
#include "answer/training_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "answer/train.h"
#include "core/topo/report.h"
#include "plan/compare/changes.h"
#include "plan/compare/variants.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"
#include "spec/model/model_file.h"
#include "spec/value.h"

namespace softib::answer {

namespace {

constexpr std::size_t kVariantsMost = 1000;

/// A job and its cluster in one row.
struct Trained {
    std::vector<std::string> names = {};
    plan::Variant variant = {};
    spec::TrainQuestion job = {};
    std::string fault = {};  ///< Why this row cannot be; empty: it may.
};

/// What rows differ in. Returns the rows that one becomes.
struct Dimension {
    std::string key = {};
    std::function<std::vector<Trained>(const Trained&)> spread = {};
};

std::string quoted_key(std::string_view key) {
    return fmt::format("{}", key);
}

std::vector<Trained> with_variants(const Trained& one, const std::vector<plan::Variant>& variants) {
    std::vector<Trained> rows;
    for (const plan::Variant& variant : variants) {
        Trained& row = rows.emplace_back(one);
        row.names.push_back(variant.name);
        row.variant = variant;
    }
    return rows;
}

/// Returns clusters whose NVLink domains are one, two, four ... nodes, and up to 144 GPUs.
std::vector<plan::Variant> of_domains(const plan::Cluster& cluster) {
    std::set<std::uint32_t> sizes{cluster.nvlink.domain_gpus};
    for (const std::uint32_t nodes : {1U, 2U, 4U, 8U, 9U, 18U, 36U}) {
        if (nodes * cluster.gpus_per_node <= 144) {
            sizes.insert(nodes * cluster.gpus_per_node);
        }
    }
    std::vector<plan::Variant> variants;
    for (const std::uint32_t size : sizes) {
        plan::Variant& variant =
            variants.emplace_back(plan::Variant{fmt::format("{} GPUs", size), cluster});
        variant.cluster.nvlink.domain_gpus = size;
        variant.note = size == cluster.nvlink.domain_gpus ? "as it is" : "";
    }
    return variants;
}

/// Returns rows with experts over 2, 4, 8 ... ranks, inside a domain and across several.
std::vector<Trained> with_experts(const Trained& one, std::uint32_t experts) {
    const std::uint32_t domain = one.variant.cluster.domain_gpus();
    std::vector<Trained> rows;
    for (std::uint32_t ep = 1; ep <= experts; ep *= 2) {
        if (experts % ep != 0 || ep > one.variant.cluster.gpus()) {
            continue;
        }
        Trained& row = rows.emplace_back(one);
        row.names.push_back(fmt::format("ep {}", ep));
        row.job.wish.ep = ep;
        row.variant.note =
            ep <= domain ? "inside an NVLink domain"
                         : fmt::format("across {} NVLink domains", (ep + domain - 1) / domain);
    }
    return rows;
}

/// Returns a row in which NCCL sends all itself, and one in which switches add up all-reduces.
std::vector<Trained> with_sharp(const Trained& one) {
    std::vector<Trained> rows(2, one);
    rows[0].names.emplace_back("without SHARP");
    rows[1].names.emplace_back("with SHARP");
    rows[1].job.collnet = true;
    rows[1].job.given.push_back("collnet");
    plan::ClusterFabric& fabric = rows[1].variant.cluster.fabric;
    fabric.sharp = fabric.link_layer == plan::LinkLayer::kInfiniBand;
    return rows;
}

std::expected<Dimension, Refusal> named_dimension(const CompareQuestion& question) {
    using Of = std::vector<plan::Variant> (*)(const plan::Cluster&);
    const struct {
        std::string_view name;
        Of of;
        const char* key;
    } known[] = {{"oversubscription", plan::tapered, "down:up"},
                 {"topology", plan::of_shapes, "topology"},
                 {"generation", plan::of_generations, "generation"},
                 {"link-layer", plan::of_link_layers, "network"},
                 {"planes", plan::of_planes, "planes"},
                 {"nvlink-domain", of_domains, "NVLink domain"}};
    for (const auto& [name, of, key] : known) {
        if (name == question.what) {
            return Dimension{key, [of](const Trained& one) {
                                 return with_variants(one, of(one.variant.cluster));
                             }};
        }
    }
    if (question.what == "sharp") {
        if (question.job.collnet) {
            return std::unexpected(Refusal{
                "--collnet changes nothing here: sharp compares with and without it", true});
        }
        return Dimension{"network", with_sharp};
    }
    if (question.what == "experts") {
        const auto model = spec::named_model(question.train);
        if (!model) {
            return std::unexpected(Refusal{model.error()});
        }
        if (model->experts == 0) {
            return std::unexpected(Refusal{
                fmt::format("experts: {} has none; take a model as qwen3-30b-a3b", model->name),
                true});
        }
        return Dimension{"experts over", [experts = model->experts](const Trained& one) {
                             return with_experts(one, experts);
                         }};
    }
    return std::unexpected(Refusal{
        fmt::format(
            "{} changes nothing with --train: a step does not feel it here; take "
            "generation, oversubscription, topology, link-layer, sharp, planes, nvlink-domain, "
            "experts, or --vary",
            question.what),
        true});
}

/// Splits "a=1,2,b=3" into keys and their values.
std::expected<std::vector<std::pair<std::string, std::vector<std::string>>>, Refusal> read_vary(
    const std::string& text) {
    std::vector<std::pair<std::string, std::vector<std::string>>> keys;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        std::string part = text.substr(at, end - at);
        at = end + 1;
        if (const std::size_t is = part.find('='); is != part.npos) {
            keys.emplace_back(part.substr(0, is), std::vector<std::string>{});
            part = part.substr(is + 1);
        }
        if (keys.empty() || keys.back().first.empty() || part.empty()) {
            return std::unexpected(Refusal{
                fmt::format("--vary must be KEY=VALUE,VALUE,... as generation=NDR,XDR, not '{}'",
                            text),
                true});
        }
        keys.back().second.push_back(part);
    }
    return keys;
}

const spec::TrainKey* train_key(const std::string& name) {
    std::string wanted = name;
    std::ranges::replace(wanted, '-', '_');
    for (const spec::TrainKey& key : spec::train_keys()) {
        if (key.name == wanted && key.for_train && !key.writes && key.name != "model" &&
            key.name != "cluster" && key.name != "planes" && key.name != "export_layers") {
            return &key;
        }
    }
    return nullptr;
}

/// Sets one varied key of a row, or says why it cannot have this value.
void set_value(Trained& row, const std::string& key, const std::string& value,
               std::uint32_t nodes) {
    const auto take = [&](auto cluster) {
        if (cluster) {
            row.variant.cluster = *std::move(cluster);
        } else {
            row.fault = cluster.error();
        }
    };
    if (key == "cluster") {
        take(spec::find_cluster(value, nodes, row.job.planes));
    } else if (key == "model") {
        row.job.model = value;
    } else if (const spec::TrainKey* const known = train_key(key)) {
        if (known->operand.empty()) {
            if (value != "true" && value != "false") {
                row.fault = fmt::format("'{}' must be true or false", key);
            }
            if (value != "true") {
                return;
            }
        }
        if (const auto set = spec::set_train_key(row.job, *known, value); !set) {
            row.fault = fmt::format("'{}' {}", key, set.error());
        } else if (const auto acts =
                       spec::check_question(row.job, spec::TrainAsk::kTrain, quoted_key);
                   !acts) {
            row.fault = acts.error();
        }
    } else {
        take(spec::change_cluster(std::move(row.variant.cluster), key, value));
    }
}

std::expected<Dimension, Refusal> varied_dimension(const CompareQuestion& question,
                                                   const std::string& name,
                                                   const std::vector<std::string>& values) {
    std::string key = name;
    if (name != "cluster" && name != "model" && train_key(name) == nullptr) {
        std::vector<std::string_view> others{"cluster", "model"};
        for (const spec::TrainKey& each : spec::train_keys()) {
            if (train_key(std::string(each.name)) != nullptr) {
                others.push_back(each.name);
            }
        }
        auto found = spec::find_cluster_key(name, others);
        if (!found) {
            return std::unexpected(Refusal{"--vary: " + found.error(), true});
        }
        key = *std::move(found);
    } else if (const auto* const known = train_key(name);
               known != nullptr &&
               std::ranges::find(question.job.given, known->name) != question.job.given.end()) {
        return std::unexpected(
            Refusal{fmt::format("--vary: {} is given too; leave one of them out", name), true});
    }
    return Dimension{name, [key, values, nodes = question.nodes](const Trained& one) {
                         std::vector<Trained> rows;
                         for (const std::string& value : values) {
                             Trained& row = rows.emplace_back(one);
                             row.names.push_back(value);
                             if (row.fault.empty()) {
                                 set_value(row, key, value, nodes);
                             }
                         }
                         return rows;
                     }};
}

/// Returns what rows differ in: first whole clusters, whose keys the others change.
std::expected<std::vector<Dimension>, Refusal> dimensions_of(const CompareQuestion& question) {
    std::vector<Dimension> dimensions;
    if (!question.vary.empty()) {
        auto keys = read_vary(question.vary);
        if (!keys) {
            return std::unexpected(keys.error());
        }
        std::ranges::stable_partition(*keys,
                                      [](const auto& key) { return key.first == "cluster"; });
        for (const auto& [name, values] : *keys) {
            auto dimension = varied_dimension(question, name, values);
            if (!dimension) {
                return std::unexpected(dimension.error());
            }
            dimensions.push_back(*std::move(dimension));
        }
    }
    if (!question.what.empty()) {
        auto dimension = named_dimension(question);
        if (!dimension) {
            return std::unexpected(dimension.error());
        }
        dimensions.push_back(*std::move(dimension));
    }
    if (dimensions.empty()) {
        return std::unexpected(
            Refusal{"say what differs: generation, oversubscription, topology, link-layer, sharp, "
                    "nvlink-domain, "
                    "experts, or --vary KEY=VALUE,VALUE,...",
                    true});
    }
    return dimensions;
}

/// Returns the values of a row's columns.
std::expected<std::vector<double>, std::string> values_of(const Trained& row,
                                                          const StepReport& report,
                                                          const plan::Prices& prices,
                                                          double tokens) {
    plan::Variant bought = row.variant;
    const std::uint32_t gpus = report.mapping.gpus;
    const std::uint32_t nodes =
        (gpus + bought.cluster.gpus_per_node - 1) / bought.cluster.gpus_per_node;
    if (nodes < bought.cluster.nodes()) {
        bought.cluster = plan::with_nodes(std::move(bought.cluster), nodes);
    }
    const auto fabric = plan::fabric_of(bought);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    const plan::Bill bill = plan::make_bill(bought.cluster, topo::make_report(*fabric), prices);
    plan::Range price = bill.nodes_usd;
    price += bill.network_usd;
    const plan::Range token =
        plan::running_cost(bill, gpus, prices).all() * (1e12 / report.step.tokens_per_s);
    std::vector<double> values{token.low,
                               token.high,
                               report.step.seconds,
                               report.interval.low,
                               report.interval.high,
                               100 * report.step.mfu,
                               report.step.tokens_per_s,
                               price.low / 1e6,
                               price.high / 1e6,
                               (bill.nodes_w.high + bill.network_w.high) / 1e3};
    if (tokens > 0) {
        values.push_back(tokens / report.step.tokens_per_s / 86'400);
    }
    return values;
}

const std::vector<std::string> kStepColumns{"$/10^12 tokens from",
                                            "$/10^12 tokens to",
                                            "step s",
                                            "step s from",
                                            "step s to",
                                            "MFU %",
                                            "tokens/s",
                                            "M$ from",
                                            "M$ to",
                                            "kW to"};

/// Sorts rows by a column; those without values stay behind the others.
void sort_rows(plan::Comparison& comparison, const std::string& order) {
    const struct {
        std::string_view name;
        std::size_t column;
        bool falls;
    } orders[] = {{"tokens", 0, false},
                  {"step", 2, false},
                  {"mfu", 5, true},
                  {"price", 7, false},
                  {"power", 9, false}};
    const auto* const found =
        std::ranges::find(orders, order, [](const auto& o) { return o.name; });
    std::ranges::stable_sort(comparison.rows, [&](const auto& a, const auto& b) {
        if (a.values.empty() || b.values.empty() || found == std::end(orders)) {
            return !a.values.empty() && b.values.empty();
        }
        const double one = a.values[found->column];
        const double other = b.values[found->column];
        return found->falls ? one > other : one < other;
    });
}

void add_notes(plan::Comparison& comparison, const CompareQuestion& question, bool chooses) {
    comparison.notes.emplace_back(
        chooses ? "each row has the quickest mapping that fits there, by rates and latencies"
                : "all rows have the mapping that was given");
    comparison.notes.push_back(fmt::format(
        "exchanges timed by {}; the interval of a step: 4 of 5 measured steps of its kind lie in "
        "theirs, while rows of one table differ less",
        question.job.network == "analytic"
            ? "rates and latencies"
            : "the " + question.job.network + " model of the fabric"));
    comparison.notes.emplace_back(
        "costs: nodes and network of the job's GPUs over the years of their use, energy and "
        "hosting, all as ranges of low confidence; give your own with --prices. Nothing fails: "
        "divide by the effective time of 'softib plan goodput'");
    if (question.what == "generation") {
        comparison.notes.emplace_back("each generation has PCIe that is fast enough");
    }
    if (question.what == "nvlink-domain") {
        comparison.notes.emplace_back(
            "a node costs the same in each domain, since prices know no NVSwitches between nodes");
    }
}

std::expected<std::vector<Trained>, Refusal> rows_of(const CompareQuestion& question,
                                                     const plan::Cluster& cluster,
                                                     const std::vector<Dimension>& dimensions) {
    std::vector<Trained> rows(1);
    rows.front().variant.cluster = cluster;
    rows.front().job = question.job;
    rows.front().job.model = question.train;
    for (const Dimension& dimension : dimensions) {
        std::vector<Trained> spread;
        for (const Trained& row : rows) {
            std::ranges::move(dimension.spread(row), std::back_inserter(spread));
        }
        rows = std::move(spread);
        if (rows.size() > kVariantsMost) {
            return std::unexpected(
                Refusal{fmt::format("more than {} rows: vary fewer values", kVariantsMost), true});
        }
    }
    return rows;
}

}  // namespace

std::expected<plan::Comparison, Refusal> compare_training(const CompareQuestion& question,
                                                          const plan::Cluster& cluster,
                                                          const plan::Prices& prices,
                                                          const Watch& watch) {
    const auto model = spec::named_model(question.train);
    if (!model) {
        return std::unexpected(Refusal{model.error()});
    }
    const auto dimensions = dimensions_of(question);
    if (!dimensions) {
        return std::unexpected(dimensions.error());
    }
    const auto rows = rows_of(question, cluster, *dimensions);
    if (!rows) {
        return std::unexpected(rows.error());
    }
    const bool chooses = !question.job.wish.says_mapping();
    plan::Comparison result{.title = fmt::format("Training {}", model->name),
                            .columns = kStepColumns};
    for (const Dimension& each : *dimensions) {
        result.first_column += (result.first_column.empty() ? "" : ", ") + each.key;
    }
    if (question.job.tokens > 0) {
        result.columns.emplace_back("days");
    }
    for (std::size_t i = 0; i < rows->size(); ++i) {
        const Trained& trained = (*rows)[i];
        plan::ComparisonRow& row = result.rows.emplace_back(
            plan::ComparisonRow{.name = fmt::format("{}", fmt::join(trained.names, ", ")),
                                .note = trained.variant.note});
        if (watch) {
            watch(i, rows->size(), row.name);
        }
        if (!trained.fault.empty()) {
            row.note = trained.fault;
            continue;
        }
        const auto timed = time_step(trained.job, trained.variant.cluster, chooses);
        auto values = timed ? values_of(trained, timed->report, prices, question.job.tokens)
                            : std::unexpected(timed.error());
        if (!values) {
            row.note = values.error();
            continue;
        }
        row.values = *std::move(values);
        if (trained.job.collnet && timed->report.mapping.zero != 0) {
            row.note = "gradients are reduce-scattered, for which NICs send as much with SHARP";
        }
        row.mapping =
            fmt::format("{} GPUs, {}, batch {}", timed->report.mapping.gpus,
                        plan::describe(timed->report.mapping), timed->report.mapping.batch);
    }
    if (std::ranges::all_of(result.rows, &std::vector<double>::empty,
                            &plan::ComparisonRow::values)) {
        return std::unexpected(Refusal{result.rows.front().note});
    }
    sort_rows(result, question.sort);
    add_notes(result, question, chooses);
    return result;
}

}  // namespace softib::answer
