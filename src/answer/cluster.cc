// SPDX-License-Identifier: BSD-2-Clause
#include "answer/cluster.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "answer/json_text.h"
#include "answer/topology.h"
#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"
#include "plan/cluster/presets.h"
#include "spec/cluster/cluster_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

Json gpu_json(const plan::Gpu& gpu) {
    Json peaks;
    for (const plan::Precision precision : plan::kPrecisions) {
        if (gpu.peak(precision) > 0) {
            peaks[plan::to_string(precision)] = gpu.peak(precision) / 1e12;
        }
    }
    return {{"name", gpu.name},
            {"tflops", std::move(peaks)},
            {"memory_bytes", gpu.memory_bytes},
            {"memory_gbs", gpu.memory_bytes_per_s / 1e9},
            {"power_w", gpu.power_w}};
}

Json range_json(const plan::Range& range) {
    return Json::array({std::round(range.low), std::round(range.high)});
}

Json cluster_json(const plan::Cluster& cluster, const plan::Bill& bill) {
    Json lines = Json::array();
    for (const plan::CostLine& line : bill.lines) {
        lines.push_back({{"what", line.what},
                         {"count", line.count},
                         {"each_usd", range_json(line.each)},
                         {"together_usd", range_json(line.together)}});
    }
    return {{"name", cluster.name},
            {"title", cluster.title},
            {"source", cluster.source},
            {"nodes", cluster.nodes()},
            {"gpus", cluster.gpus()},
            {"gpus_per_node", cluster.gpus_per_node},
            {"nics_per_node", cluster.nics_per_node()},
            {"gpu", gpu_json(cluster.gpu)},
            {"nvlink",
             {{"domain_gpus", cluster.nvlink.domain_gpus},
              {"gbs", cluster.nvlink.bytes_per_s / 1e9},
              {"nvls", cluster.nvlink.nvls}}},
            {"nic_gbs", cluster.nic_bytes_per_s() / 1e9},
            {"link_layer", plan::to_string(cluster.fabric.link_layer)},
            {"generation", topo::link_speed(cluster.fabric.spec.generation).name},
            {"planes", cluster.fabric.planes},
            {"failed_planes", cluster.fabric.failed_planes},
            {"notes", plan::notes_of(cluster)},
            {"cost",
             {{"lines", std::move(lines)},
              {"network_usd", range_json(bill.network_usd)},
              {"nodes_usd", range_json(bill.nodes_usd)},
              {"network_w", range_json(bill.network_w)},
              {"nodes_w", range_json(bill.nodes_w)}}},
            {"basis", kBasis}};
}

}  // namespace

std::expected<ClusterReport, Refusal> show(const ClusterQuestion& question) {
    if (question.cluster.empty()) {
        return std::unexpected(Refusal{"say which cluster: cluster = \"NAME\""});
    }
    auto cluster = spec::find_cluster(question.cluster, question.nodes, question.planes);
    if (!cluster) {
        return std::unexpected(Refusal{cluster.error()});
    }
    const auto prices = question.prices.empty()
                            ? std::expected<plan::Prices, std::string>(plan::default_prices())
                            : spec::load_prices(question.prices);
    if (!prices) {
        return std::unexpected(Refusal{prices.error()});
    }
    auto fabric = plan::counted_plane(*cluster);
    if (!fabric) {
        return std::unexpected(Refusal{fabric.error().message});
    }
    topo::Report report = topo::make_report(*fabric);
    if (cluster->fabric.link_layer == plan::LinkLayer::kRoce) {
        report.subnets.clear();  // Ethernet has no LIDs.
    }
    plan::Bill bill = plan::make_bill(*cluster, report, *prices);
    return ClusterReport{*std::move(cluster), *std::move(fabric), std::move(report),
                         std::move(bill)};
}

std::string to_json(const ClusterReport& shown) {
    Json whole = cluster_json(shown.cluster, shown.bill);
    whole["fabric"] = Json::parse(report_json(shown.fabric, shown.report));
    return json_text(whole);
}

std::string presets_json() {
    Json clusters = Json::array();
    for (const plan::Preset& preset : plan::presets()) {
        clusters.push_back({{"name", preset.name},
                            {"unit", preset.unit},
                            {"size_default", preset.size_default},
                            {"size_max", preset.size_max},
                            {"gpus", plan::find_preset(preset.name)->gpus()},
                            {"title", preset.title},
                            {"source", preset.source}});
    }
    Json gpus = Json::array();
    for (const plan::Gpu& gpu : plan::gpus()) {
        gpus.push_back(gpu_json(gpu));
    }
    return json_text({{"clusters", std::move(clusters)}, {"gpus", std::move(gpus)}});
}

}  // namespace softib::answer
