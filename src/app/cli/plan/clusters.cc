// SPDX-License-Identifier: BSD-2-Clause
// `softib plan presets` and `softib plan show`.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

#include "app/cli/commands.h"
#include "app/cli/json_text.h"
#include "app/cli/plan/plan_commands.h"
#include "app/cli/topo_report.h"
#include "app/fabric/term.h"
#include "core/topo/report.h"
#include "core/topo/spec.h"
#include "plan/cluster/presets.h"
#include "plan/cluster/prices.h"
#include "spec/cluster/cluster_file.h"

namespace softib::app {

namespace {

using Json = nlohmann::ordered_json;

std::string size_text(const plan::Preset& preset) {
    return fmt::format("{} ({} by default, {} at most)", preset.unit, preset.size_default,
                       preset.size_max);
}

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

std::string dollars(const plan::Range& range) {
    const auto one = [](double usd) {
        return usd >= 1e6   ? fmt::format("{:.2f} M$", usd / 1e6)
               : usd >= 1e4 ? fmt::format("{:.0f} k$", usd / 1e3)
                            : fmt::format("{:.0f} $", usd);
    };
    return fmt::format("{} to {}", one(range.low), one(range.high));
}

std::string kilowatts(const plan::Range& range) {
    return fmt::format("{:.1f} to {:.1f} kW", range.low / 1e3, range.high / 1e3);
}

Json range_json(const plan::Range& range) {
    return Json::array({std::round(range.low), std::round(range.high)});
}

/// What the figures of a cluster are worth.
constexpr std::array kBasis{
    "switches and cables are counted in the fabric that `softib up` would make; nearest rows of "
    "docs/validation.md: T1, T2 (SuperPODs of H100), T4 (Meta's RoCE cluster)",
    "no published figure validates what a network costs and consumes"};

std::string cluster_text(const plan::Cluster& cluster) {
    const plan::NvLink& nvlink = cluster.nvlink;
    std::string text =
        fmt::format("{}: {}\nsource: {}\n\n", cluster.name, cluster.title, cluster.source);
    text += fmt::format("nodes      {} with {} {} and {} NICs each: {} GPUs\n", cluster.nodes(),
                        cluster.gpus_per_node, cluster.gpu.name, cluster.nics_per_node(),
                        cluster.gpus());
    text += fmt::format("GPU        {:.0f} TFLOP/s BF16, {:.0f} GiB at {:.0f} GB/s\n",
                        cluster.gpu.peak(plan::Precision::kBf16) / 1e12,
                        static_cast<double>(cluster.gpu.memory_bytes) / (1U << 30),
                        cluster.gpu.memory_bytes_per_s / 1e9);
    text += fmt::format("NVLink     {} GPUs a domain, {:.0f} GB/s each{}\n", nvlink.domain_gpus,
                        nvlink.bytes_per_s / 1e9, nvlink.nvls ? ", NVLS" : "");
    text += fmt::format("NIC        {:.1f} GB/s of data over {} {}{}\n",
                        cluster.nic_bytes_per_s() / 1e9, plan::to_string(cluster.fabric.link_layer),
                        topo::link_speed(cluster.fabric.spec.generation).name,
                        cluster.fabric.sharp ? ", SHARP" : "");
    for (const std::string& note : plan::notes_of(cluster)) {
        text += note + "\n";
    }
    return text + "\n";
}

std::string bill_text(const plan::Bill& bill) {
    std::string text = "\n";
    Table table({"cost", "COUNT", "EACH", "TOGETHER"});
    for (const plan::CostLine& line : bill.lines) {
        table.row({line.what, fmt::format("{:.0f}", line.count), dollars(line.each),
                   dollars(line.together)});
    }
    text += table.text();
    text +=
        fmt::format("\nnetwork    {}, {}\n", dollars(bill.network_usd), kilowatts(bill.network_w));
    text += fmt::format("nodes      {}, {}\n", dollars(bill.nodes_usd), kilowatts(bill.nodes_w));
    text += "Prices are ranges of low confidence: give your own with --prices FILE.\n\n";
    for (const char* const sentence : kBasis) {
        text += fmt::format("- {}\n", sentence);
    }
    return text;
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

int cmd_plan_presets(const PlanClusterOptions& options) {
    if (options.json) {
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
        fmt::print("{}", json_text({{"clusters", std::move(clusters)}, {"gpus", std::move(gpus)}}));
        return 0;
    }
    Table clusters({"PRESET", "GPUS", "SIZE IN", "WHAT"});
    for (const plan::Preset& preset : plan::presets()) {
        clusters.row({preset.name, std::to_string(plan::find_preset(preset.name)->gpus()),
                      size_text(preset), preset.title});
    }
    Table gpus({"GPU", "BF16 TFLOP/s", "FP8", "MEMORY", "NVLINK GB/s"});
    for (const plan::Gpu& gpu : plan::gpus()) {
        gpus.row({gpu.name, fmt::format("{:.0f}", gpu.peak(plan::Precision::kBf16) / 1e12),
                  fmt::format("{:.0f}", gpu.peak(plan::Precision::kFp8) / 1e12),
                  fmt::format("{:.0f} GiB", static_cast<double>(gpu.memory_bytes) / (1U << 30)),
                  fmt::format("{:.0f}", plan::nvlink_of(gpu).bytes_per_s / 1e9)});
    }
    fmt::print(
        "{}\n{}\nA size stands behind the name: superpod-h100:16. See: softib plan show "
        "NAME\n",
        clusters.text(), gpus.text());
    return 0;
}

int cmd_plan_show(const PlanClusterOptions& options) {
    const auto cluster = spec::find_cluster(options.cluster, options.nodes);
    if (!cluster) {
        return fail_describing(cluster.error());
    }
    const auto prices = options.prices.empty()
                            ? std::expected<plan::Prices, std::string>(plan::default_prices())
                            : spec::load_prices(options.prices);
    if (!prices) {
        return fail(prices.error());
    }
    const auto fabric = topo::generate(cluster->fabric.spec);
    if (!fabric) {
        return fail(fabric.error().message);
    }
    const topo::Report report = topo::make_report(*fabric);
    const plan::Bill bill = plan::make_bill(*cluster, report, *prices);
    if (options.json) {
        Json whole = cluster_json(*cluster, bill);
        whole["fabric"] = Json::parse(report_json(*fabric, report));
        fmt::print("{}", json_text(whole));
        return 0;
    }
    fmt::print("{}{}{}", cluster_text(*cluster), topo::render_report(*fabric, report),
               bill_text(bill));
    return 0;
}

}  // namespace softib::app
