// SPDX-License-Identifier: BSD-2-Clause
// The transfer of a KV cache between two nodes, over NVLink and over rails.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/link/rate.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/evidence.h"
#include "plan/collective/nccl_parts.h"
#include "plan/compare/comparison.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

/// Returns the row of a transfer between two nodes of one NVLink domain: the same part on each GPU.
ComparisonRow nvlink_row(const CompareRequest& request) {
    const Cluster& cluster = request.cluster;
    const double rate = nvlink_rate(cluster) * cluster.gpus_per_node;
    const double seconds =
        static_cast<double>(request.bytes) / rate + cluster.nvlink.latency_us * 1e-6;
    const double reached = static_cast<double>(request.bytes) / seconds;
    return {.name = "NVLink",
            .values = {seconds, reached / 1e9,
                       reached / (cluster.nvlink.bytes_per_s * cluster.gpus_per_node)},
            .note = fmt::format("between nodes of one domain of {} GPUs, on all {} GPUs of a node",
                                cluster.nvlink.domain_gpus, cluster.gpus_per_node)};
}

/// Adds a row for 1, 2, 4 ... rails between nodes of different NVLink domains.
void add_rails(Comparison& result, const CompareRequest& request) {
    const Cluster& cluster = request.cluster;
    CollectiveOptions options;
    options.model = request.model;
    const auto model = CollectiveModel::make(cluster, options);
    if (!model) {
        result.rows.push_back({.name = cluster.name, .note = model.error()});
        return;
    }
    const std::uint32_t all = cluster.nics_per_node();
    for (std::uint32_t rails = 1; rails <= all;
         rails = rails < all ? std::min(2 * rails, all) : all + 1) {
        ComparisonRow row{.name = std::to_string(rails)};
        if (request.progress) {
            request.progress(rails - 1, all, row.name);
        }
        const auto us = (*model)->send_between_nodes(request.bytes, rails);
        if (us) {
            const double rate = static_cast<double>(request.bytes) / *us / 1e3;
            const double link_rate =
                64e12 / link::ps_per_block(cluster.fabric.spec.generation, topo::Width::k4x);
            row.values = {*us / 1e6, rate,
                          rate * 1e9 / (rails * link_rate * cluster.fabric.speed_factor())};
        } else {
            row.note = us.error();
        }
        result.rows.push_back(std::move(row));
    }
    result.notes.push_back(assumptions_of(Stack::kHost, request.model).front());
    result.notes.push_back(
        fmt::format("between nodes 0 and {}, with nothing else on the network; nearest rows of "
                    "docs/validation.md: B14, L2 (ib_write_bw between two hosts)",
                    (*model)->far_node()));
}

}  // namespace

Comparison compare_kv_cache(const CompareRequest& request) {
    Comparison result{.title = "KV cache from a prefill node to a decode node",
                      .first_column = "rails",
                      .columns = {"seconds", "GB/s", "of the links"}};
    const Cluster& cluster = request.cluster;
    const std::uint32_t domain = cluster.domain_nodes();
    if (domain > 1) {
        result.rows.push_back(nvlink_row(request));
        result.notes.emplace_back(
            "model of NVLink: the rate that NCCL reaches, and its latency; no published "
            "measurement "
            "validates it");
    }
    if (domain > 1 && cluster.nodes() <= domain) {
        result.notes.push_back(
            fmt::format("{} within the NVLink domain that has all {} nodes of {}: the transfer "
                        "takes no NIC",
                        show_size(request.bytes), cluster.nodes(), cluster.name));
        return result;
    }
    add_rails(result, request);
    result.notes.push_back(fmt::format("{} by RDMA WRITEs, the same part on each rail of {}{}",
                                       show_size(request.bytes), cluster.name,
                                       domain > 1 ? ", between nodes of two NVLink domains" : ""));
    result.notes.emplace_back(
        "Mooncake reports 87 GB/s on 4 rails of 200 Gb/s and 190 GB/s on 8 of 400 Gb/s: an engine "
        "that copies or allocates on the way does not reach the links");
    return result;
}

}  // namespace softib::plan
