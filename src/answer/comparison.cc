// SPDX-License-Identifier: BSD-2-Clause
#include "answer/comparison.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

#include "answer/idle_options.h"
#include "answer/json_text.h"
#include "answer/training_comparison.h"
#include "plan/serve/kv.h"
#include "plan/units.h"
#include "spec/cluster/cluster_file.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

constexpr char kCompareCluster[] = "superpod-h100:2";
/// Returns the bytes of the KV cache of 128k tokens of Llama 3.1 70B.
std::uint64_t kv_cache_bytes() {
    constexpr double kTokens = 131072;
    return static_cast<std::uint64_t>(kTokens *
                                      plan::kv_bytes_per_token(*plan::find_model("llama3.1-70b")));
}

}  // namespace

std::expected<plan::Comparison, Refusal> compare(const CompareQuestion& question,
                                                 const Watch& watch) {
    if (const auto idle = find_idle_option(question)) {
        return std::unexpected(Refusal{*idle, true});
    }
    auto cluster = spec::find_cluster(question.cluster.empty() ? kCompareCluster : question.cluster,
                                      question.nodes, question.job.planes);
    if (!cluster) {
        return std::unexpected(Refusal{cluster.error()});
    }
    if (question.train.empty()) {
        if (const auto idle = find_idle_option(question, *cluster)) {
            return std::unexpected(Refusal{*idle, true});
        }
        if (question.what.empty()) {
            return std::unexpected(
                Refusal{fmt::format("say what differs: {}", kComparisons), true});
        }
    }
    plan::CompareRequest request;
    request.cluster = *std::move(cluster);
    request.model = question.model == "packet" ? net::ModelKind::kPacket : net::ModelKind::kFlow;
    if (question.what == "kv-cache") {
        request.bytes = kv_cache_bytes();
    }
    if (!question.prices.empty()) {
        auto prices = spec::load_prices(question.prices);
        if (!prices) {
            return std::unexpected(Refusal{prices.error()});
        }
        request.prices = *std::move(prices);
    }
    if (!question.train.empty()) {
        return compare_training(question, request.cluster, request.prices, watch);
    }
    if (!question.size.empty()) {
        const auto size = plan::parse_size(question.size);
        if (!size || *size == 0) {
            return std::unexpected(
                Refusal{fmt::format("--size {}: write a size as 1GB", question.size), true});
        }
        request.bytes = *size;
    }
    request.progress = watch;
    auto comparison = plan::compare(question.what, request);
    if (!comparison) {
        return std::unexpected(Refusal{comparison.error(), true});
    }
    return *std::move(comparison);
}

std::string to_json(const plan::Comparison& comparison) {
    Json rows = Json::array();
    for (const plan::ComparisonRow& row : comparison.rows) {
        Json values = Json::object();
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            values[comparison.columns[i]] = row.values[i];
        }
        rows.push_back({{"name", row.name}, {"values", std::move(values)}, {"note", row.note}});
        if (!row.mapping.empty()) {
            rows.back()["mapping"] = row.mapping;
        }
    }
    return json_text(
        {{"title", comparison.title}, {"rows", std::move(rows)}, {"notes", comparison.notes}});
}

}  // namespace softib::answer
