// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/base/prng.h"
#include "plan/trace/group_work.h"

namespace softib::plan::trace {

Places::Places(const Cluster& cluster)
    : cluster_(cluster),
      domain_gpus_(cluster.domain_gpus()),
      node_has_nvlink_(domain_gpus_ >= cluster.gpus_per_node) {}

std::uint32_t Places::end_of(std::uint32_t gpu) const {
    const std::uint32_t node = gpu / cluster_.gpus_per_node;
    const std::uint32_t local = gpu % cluster_.gpus_per_node;
    return node * cluster_.nics_per_node() +
           local * cluster_.nics_per_node() / cluster_.gpus_per_node;
}

std::uint32_t Places::end_towards(std::uint32_t from, std::uint32_t to) const {
    if (!node_has_nvlink_) {
        return end_of(from);
    }
    const std::uint32_t nics = cluster_.nics_per_node();
    return from / cluster_.gpus_per_node * nics + end_of(to) % nics;
}

namespace {

constexpr std::uint32_t kNodesMost = 1U << 20;

std::expected<std::vector<std::uint32_t>, std::string> parse_nodes(std::string_view text) {
    std::vector<std::uint32_t> nodes;
    std::vector<bool> seen(kNodesMost);
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto number = [&](std::uint32_t& value) {
        const auto [next, error] = std::from_chars(at, end, value);
        const bool read = error == std::errc() && value < kNodesMost;
        at = next;
        return read;
    };
    for (;;) {
        std::uint32_t first = 0;
        bool sound = number(first);
        std::uint32_t last = first;
        if (sound && at != end && *at == '-') {
            ++at;
            sound = number(last) && last >= first;
        }
        if (!sound || (at != end && *at != ',')) {
            return std::unexpected(fmt::format(
                "placement '{}' must be linear, random, round-robin, or nodes as 0-3,8", text));
        }
        for (std::uint32_t node = first; node <= last; ++node) {
            if (seen[node]) {
                return std::unexpected(fmt::format("placement '{}' has node {} twice", text, node));
            }
            seen[node] = true;
            nodes.push_back(node);
        }
        if (at == end) {
            return nodes;
        }
        ++at;
    }
}

}  // namespace

std::expected<Placement, std::string> parse_placement(std::string_view text) {
    if (text == "linear") {
        return Placement{};
    }
    if (text == "random") {
        return Placement{.how = Placement::How::kRandom};
    }
    if (text == "round-robin") {
        return Placement{.how = Placement::How::kRoundRobin};
    }
    auto nodes = parse_nodes(text);
    if (!nodes) {
        return std::unexpected(nodes.error());
    }
    return Placement{.nodes = *std::move(nodes)};
}

std::expected<std::vector<std::uint32_t>, std::string> place(const Cluster& cluster,
                                                             std::uint32_t ranks,
                                                             const Placement& placement,
                                                             std::vector<bool>& taken) {
    const std::uint32_t per_node =
        placement.per_node == 0 ? cluster.gpus_per_node : placement.per_node;
    if (per_node > cluster.gpus_per_node) {
        return std::unexpected(fmt::format("a node has {} GPUs: it cannot take {} ranks",
                                           cluster.gpus_per_node, per_node));
    }
    std::vector<std::uint32_t> nodes = placement.nodes;
    if (nodes.empty()) {
        nodes.resize(cluster.nodes());
        std::iota(nodes.begin(), nodes.end(), 0U);
    }
    if (placement.how == Placement::How::kRandom) {
        Prng prng(placement.seed);
        for (std::size_t i = nodes.size(); i > 1; --i) {
            std::swap(nodes[i - 1], nodes[prng.below(i)]);
        }
    }
    taken.resize(cluster.gpus());
    // Free GPUs with their turn, node by node; for round-robin they are sorted by turn.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> free;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] >= cluster.nodes()) {
            return std::unexpected(
                fmt::format("there is no node {}: the cluster has {}", nodes[i], cluster.nodes()));
        }
        std::uint32_t turn = 0;
        for (std::uint32_t local = 0; local < cluster.gpus_per_node && turn < per_node; ++local) {
            const std::uint32_t gpu = nodes[i] * cluster.gpus_per_node + local;
            if (!taken[gpu]) {
                free.emplace_back(turn++, gpu);
            }
        }
    }
    if (placement.how == Placement::How::kRoundRobin) {
        std::ranges::stable_sort(free, {}, &std::pair<std::uint32_t, std::uint32_t>::first);
    }
    if (free.size() < ranks) {
        return std::unexpected(
            fmt::format("{} ranks need as many GPUs, and {} of the cluster's {} are free for them: "
                        "take a larger cluster or fewer ranks",
                        ranks, free.size(), cluster.gpus()));
    }
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        gpus.push_back(free[rank].second);
        taken[gpus.back()] = true;
    }
    return gpus;
}

}  // namespace softib::plan::trace
