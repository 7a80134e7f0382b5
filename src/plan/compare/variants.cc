// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "core/topo/report.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/collective_model.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

/// An operation that is timed on each variant, with its column.
struct Probe {
    const char* column;
    Op op;
    Algorithm algorithm;
    RankOrder order;
};

constexpr std::array kProbes{
    Probe{"all-reduce ring GB/s", Op::kAllReduce, Algorithm::kRing, RankOrder::kTopology},
    Probe{"ring, random nodes GB/s", Op::kAllReduce, Algorithm::kRing, RankOrder::kRandom},
    Probe{"hierarchical GB/s", Op::kAllReduce, Algorithm::kHierarchical, RankOrder::kTopology},
    Probe{"all-to-all GB/s", Op::kAllToAll, Algorithm::kDirect, RankOrder::kTopology},
};

/// Returns the values of the last columns.
std::expected<std::vector<double>, std::string> count_fabric(const Variant& variant,
                                                             const Prices& prices) {
    const Cluster& cluster = variant.cluster;
    const auto fabric = fabric_of(variant);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    double cables = 0;
    for (const topo::Node& node : fabric->nodes) {
        cables += static_cast<double>(std::ranges::count_if(
            node.ports, [](const topo::PortLink& link) { return link.peer != topo::kNoNode; }));
    }
    const Bill bill = make_bill(cluster, topo::make_report(*fabric), prices);
    const double switches = static_cast<double>(fabric->count(topo::NodeKind::kSwitch));
    return std::vector{switches * cluster.fabric.planes, cables / 2, bill.network_usd.low / 1e6,
                       bill.network_usd.high / 1e6, bill.network_w.high / 1e3};
}

std::expected<std::vector<double>, std::string> probe_variant(const Variant& variant,
                                                              const CompareRequest& request) {
    std::vector<double> values;
    // Models are shared by operations, since routing takes most of the time.
    std::map<RankOrder, std::unique_ptr<CollectiveModel>> models;
    for (const Probe& probe : kProbes) {
        std::unique_ptr<CollectiveModel>& model = models[probe.order];
        if (model == nullptr) {
            CollectiveOptions options;
            options.order = probe.order;
            options.model = request.model;
            options.failures = variant.failures;
            auto made = CollectiveModel::make(variant.cluster, options);
            if (!made) {
                return std::unexpected(made.error());
            }
            model = *std::move(made);
        }
        const auto timing =
            model->time(probe.op, probe.algorithm, request.bytes, Protocol::kSimple);
        if (!timing) {
            return std::unexpected(timing.error());
        }
        values.push_back(timing->busbw);
    }
    const auto halves = models[RankOrder::kTopology]->across_halves(request.bytes);
    if (!halves) {
        return std::unexpected(halves.error());
    }
    values.push_back(*halves);
    const auto counts = count_fabric(variant, request.prices);
    if (!counts) {
        return std::unexpected(counts.error());
    }
    values.insert(values.end(), counts->begin(), counts->end());
    return values;
}

}  // namespace

std::expected<topo::Fabric, topo::Error> fabric_of(const Variant& variant) {
    auto fabric = counted_plane(variant.cluster);
    for (std::size_t i = 0; fabric && i < fabric->nodes.size(); ++i) {
        topo::Node& node = fabric->nodes[i];
        if (node.kind == topo::NodeKind::kSwitch && node.level == 0) {
            node.ports.resize(std::max<std::size_t>(node.ports.size(), variant.leaf_ports + 1));
        }
    }
    return fabric;
}

std::uint32_t domains_of(const Cluster& cluster) {
    return cluster.gpus() / cluster.domain_gpus();
}

void add_evidence(Comparison& result, const std::vector<Question>& questions) {
    result.notes.push_back(show_evidence(questions));
}

void add_assumptions(Comparison& result, net::ModelKind model) {
    for (std::string& assumption : assumptions_of(Stack::kNccl, model)) {
        result.notes.push_back(std::move(assumption));
    }
}

Comparison compare_variants(std::string title, std::string first_column,
                            const std::vector<Variant>& variants, const CompareRequest& request) {
    Comparison result{.title = std::move(title), .first_column = std::move(first_column)};
    for (const Probe& probe : kProbes) {
        result.columns.emplace_back(probe.column);
    }
    result.columns.emplace_back("half to half GB/s");
    result.columns.insert(result.columns.end(), kCounts.begin(), kCounts.end());
    for (std::size_t i = 0; i < variants.size(); ++i) {
        if (request.progress) {
            request.progress(i, variants.size(), variants[i].name);
        }
        ComparisonRow row{.name = variants[i].name, .note = variants[i].note};
        if (auto values = probe_variant(variants[i], request)) {
            row.values = *std::move(values);
        } else {
            row.note = values.error();
        }
        result.rows.push_back(std::move(row));
    }
    result.notes.push_back(fmt::format(
        "busbw as nccl-tests defines it, {} on {} GPUs of {}; protocol Simple, two channels a NIC; "
        "half to half: of each NIC, while every node sends to the one half of all nodes on",
        show_size(request.bytes), request.cluster.gpus(), request.cluster.name));
    for (const Probe& probe : kProbes) {
        if (probe.order == RankOrder::kTopology) {
            add_evidence(result, {{.op = probe.op,
                                   .algorithm = probe.algorithm,
                                   .domains = domains_of(request.cluster),
                                   .bytes = request.bytes}});
        }
    }
    add_assumptions(result, request.model);
    result.notes.emplace_back(
        "M$ and kW: switches, NICs and cables, by ranges of low confidence; give your own with "
        "--prices");
    return result;
}

}  // namespace softib::plan
