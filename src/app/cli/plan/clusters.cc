// SPDX-License-Identifier: BSD-2-Clause
// `softib plan presets` and `softib plan show`.
#include <fmt/format.h>

#include <string>

#include "answer/cluster.h"
#include "app/cli/plan/plan_commands.h"
#include "app/fabric/term.h"
#include "core/topo/report.h"
#include "plan/cluster/presets.h"
#include "plan/cluster/prices.h"

namespace softib::app {

namespace {

std::string size_text(const plan::Preset& preset) {
    return fmt::format("{} ({} by default, {} at most)", preset.unit, preset.size_default,
                       preset.size_max);
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
    const plan::ClusterFabric& fabric = cluster.fabric;
    text +=
        fmt::format("NIC        {:.1f} GB/s of data over {} {}{}\n",
                    cluster.nic_bytes_per_s() / 1e9, plan::to_string(fabric.link_layer),
                    topo::link_speed(fabric.spec.generation).name, fabric.sharp ? ", SHARP" : "");
    if (fabric.planes > 1) {
        text += fmt::format(
            "planes     {} of {:g} Gb/s for each NIC{}; one of them, at the rate of all:\n",
            fabric.planes, 1.0 * topo::link_speed(fabric.spec.generation).gbps / fabric.planes,
            fabric.failed_planes == 0 ? "" : fmt::format(", {} failed", fabric.failed_planes));
    }
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
    for (const char* const sentence : answer::kBasis) {
        text += fmt::format("- {}\n", sentence);
    }
    return text;
}

}  // namespace

int cmd_plan_presets(const PlanClusterOptions& options) {
    if (options.json) {
        fmt::print("{}", answer::presets_json());
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
                  fmt::format("{:.0f}", plan::sold(gpu).nvlink.bytes_per_s / 1e9)});
    }
    fmt::print(
        "{}\n{}\nA size stands behind the name: superpod-h100:16. See: softib plan show "
        "NAME\n",
        clusters.text(), gpus.text());
    return 0;
}

int cmd_plan_show(const PlanClusterOptions& options) {
    const auto shown = answer::show(options.question);
    if (!shown) {
        return refuse(shown.error());
    }
    if (options.json) {
        fmt::print("{}", answer::to_json(*shown));
        return 0;
    }
    fmt::print("{}{}{}", cluster_text(shown->cluster),
               topo::render_report(shown->fabric, shown->report), bill_text(shown->bill));
    return 0;
}

}  // namespace softib::app
