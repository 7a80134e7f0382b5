// SPDX-License-Identifier: BSD-2-Clause
#include "answer/description.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

#include "answer/json_text.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"
#include "spec/cluster/cluster_file.h"
#include "spec/model/model_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kBytesPerGib = 1U << 30;

Json rates_json(const plan::Gpu& gpu) {
    Json rates;
    for (const plan::Precision precision : plan::kPrecisions) {
        rates[plan::to_string(precision)] = gpu.peak(precision) / 1e12;
    }
    rates["memory_gib"] = static_cast<double>(gpu.memory_bytes) / kBytesPerGib;
    rates["memory_gbs"] = gpu.memory_bytes_per_s / 1e9;
    rates["sms"] = gpu.sms;
    rates["power_w"] = gpu.power_w;
    return rates;
}

Json fabric_json(const plan::ClusterFabric& fabric) {
    const topo::Spec& spec = fabric.spec;
    Json json = {
        {"link_layer", fabric.link_layer == plan::LinkLayer::kRoce ? "roce" : "infiniband"},
        {"engine", fabric.engine},
        {"adaptive", fabric.adaptive},
        {"sharp", fabric.sharp},
        {"mtu", fabric.mtu},
        {"cable_m", fabric.cable_m},
        {"topology", topo::to_string(spec.shape)},
        {"planes", fabric.planes},
        {"failed_planes", fabric.failed_planes},
        {"generation", topo::link_speed(spec.generation).name},
        {"radix", spec.radix},
        {"levels", spec.levels},
        {"oversubscription", topo::to_string(spec.oversubscription)},
        {"spine_oversubscription", topo::to_string(spec.spine_oversubscription)},
        {"hosts_per_switch", spec.hosts_per_switch},
        {"groups", spec.groups},
        {"switches_per_group", spec.switches_per_group},
        {"subnets", spec.subnets},
        {"routers", spec.routers}};
    if (!spec.dimensions.empty()) {
        json["dimensions"] = spec.dimensions;
    }
    return json;
}

Json keys_json(const plan::Cluster& cluster) {
    return {{"name", cluster.name},
            {"title", cluster.title},
            {"source", cluster.source},
            {"gpu", cluster.gpu.name},
            {"nodes", cluster.nodes()},
            {"gpus", cluster.gpus()},
            {"gpus_per_node", cluster.gpus_per_node},
            {"nics_per_node", cluster.nics_per_node()},
            {"node_power_w", cluster.node_power_w},
            {"gpu_rates", rates_json(cluster.gpu)},
            {"nvlink",
             {{"domain_gpus", cluster.nvlink.domain_gpus},
              {"gbs", cluster.nvlink.bytes_per_s / 1e9},
              {"latency_us", cluster.nvlink.latency_us},
              {"nvls", cluster.nvlink.nvls}}},
            {"pcie",
             {{"gbs", cluster.pcie.bytes_per_s / 1e9}, {"latency_us", cluster.pcie.latency_us}}},
            {"fabric", fabric_json(cluster.fabric)}};
}

Json keys_json(const plan::Model& model) {
    Json json;
    for (const spec::ModelKey& key : spec::keys_of(model)) {
        std::visit([&](const auto& value) { json[std::string(key.name)] = value; }, key.value);
    }
    json["parameters"] = plan::total_parameters(model);
    json["active_parameters"] = plan::active_parameters(model);
    return json;
}

}  // namespace

std::expected<Described, Refusal> describe(const DescribeQuestion& question) {
    if (question.cluster.empty() == question.model.empty()) {
        return std::unexpected(Refusal{"say which: cluster = \"NAME\" or model = \"NAME\""});
    }
    if (!question.model.empty()) {
        auto model = spec::named_model(question.model);
        return model ? std::expected<Described, Refusal>(*std::move(model))
                     : std::unexpected(Refusal{model.error()});
    }
    auto cluster = spec::find_cluster(question.cluster);
    return cluster ? std::expected<Described, Refusal>(*std::move(cluster))
                   : std::unexpected(Refusal{cluster.error()});
}

std::string to_json(const Described& described) {
    return json_text(std::visit([](const auto& what) { return keys_json(what); }, described));
}

}  // namespace softib::answer
