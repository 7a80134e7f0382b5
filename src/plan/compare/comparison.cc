// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/base/nearest.h"
#include "core/topo/report.h"
#include "core/topo/spec.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/collective_model.h"
#include "plan/collective/evidence.h"
#include "plan/compare/changes.h"
#include "plan/compare/variants.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

/// Adds a note if rows i and i + `apart`, whose fabrics differ only above the leaf switches, are
/// equally fast.
void explain_equal_rows(Comparison& result, std::size_t apart, const CompareRequest& request) {
    for (std::size_t i = apart; i < result.rows.size(); ++i) {
        const std::vector<double>& one = result.rows[i - apart].values;
        const std::vector<double>& other = result.rows[i].values;
        if (one.size() != result.columns.size() || other.size() != one.size()) {
            return;
        }
        for (std::size_t c = 0; c + kCounts.size() < one.size(); ++c) {
            if (std::abs(one[c] - other[c]) > 0.001 * one[c]) {
                return;
            }
        }
    }
    result.notes.push_back(
        fmt::format("the levels above the leaf switches make no difference: the {} nodes meet at "
                    "leaf switches, "
                    "rail by rail; take more --nodes to see one",
                    request.cluster.nodes()));
}

}  // namespace

Comparison compare_oversubscription(const CompareRequest& request) {
    Comparison result = compare_variants("Oversubscription of leaves", "down:up",
                                         tapered(request.cluster), request);
    explain_equal_rows(result, 1, request);
    return result;
}

Comparison compare_topology(const CompareRequest& request) {
    const std::vector<Variant> variants = of_shapes(request.cluster);
    return compare_variants("Topologies for the same hosts", "topology", variants, request);
}

Comparison compare_generation(const CompareRequest& request) {
    const std::vector<Variant> variants = of_generations(request.cluster);
    Comparison result = compare_variants("Generations of links", "generation", variants, request);
    result.notes.emplace_back(
        "each generation has switches of its own radix and PCIe that is fast "
        "enough; a channel copies no faster with it");
    return result;
}

Comparison compare_link_layer(const CompareRequest& request) {
    const std::vector<Variant> variants = of_link_layers(request.cluster);
    Comparison result = compare_variants("InfiniBand and RoCE", "network", variants, request);
    constexpr std::size_t kLayers = 2;
    explain_equal_rows(result, kLayers, request);
    result.notes.emplace_back(
        request.model == net::ModelKind::kPacket
            ? "InfiniBand: credits, switches choose among equal ports; RoCE: PFC, ECN with DCQCN, "
              "and a hash of the connection chooses among equal ports"
            : "InfiniBand: switches choose among equal ports; RoCE: one route for each "
              "destination, headers and gaps of Ethernet, no loss; the model packet has PFC, ECN "
              "and hashes");
    return result;
}

Comparison compare_sharp(const CompareRequest& request) {
    constexpr std::array kHow{Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical,
                              Algorithm::kSharp};
    Comparison result{.title = "All-reduce with and without SHARP", .first_column = "size"};
    for (const Algorithm how : kHow) {
        result.columns.push_back(fmt::format("{} us", to_string(how)));
    }
    result.columns.emplace_back("sharp gains");
    Cluster cluster = request.cluster;
    cluster.fabric.sharp = true;
    CollectiveOptions options;
    options.model = request.model;
    const auto model = CollectiveModel::make(cluster, options);
    if (!model) {
        result.rows.push_back({.name = cluster.name, .note = model.error()});
        return result;
    }
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t bytes = 1024; bytes < request.bytes; bytes *= 8) {
        sizes.push_back(bytes);
    }
    sizes.push_back(request.bytes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        ComparisonRow row{.name = show_size(sizes[i]), .bytes = sizes[i]};
        if (request.progress) {
            request.progress(i, sizes.size(), row.name);
        }
        double host = INFINITY;
        for (const Algorithm how : kHow) {
            const auto timing = (*model)->time(Op::kAllReduce, how, sizes[i]);
            if (!timing) {
                row.values.clear();
                row.note = timing.error();
                break;
            }
            row.values.push_back(timing->us);
            host = how == Algorithm::kSharp ? host : std::min(host, timing->us);
        }
        if (!row.values.empty()) {
            row.values.push_back(host / row.values.back());
        }
        result.rows.push_back(std::move(row));
    }
    result.notes.push_back(
        fmt::format("{} GPUs of {}; a SAT for each rail", cluster.gpus(), cluster.name));
    for (const Algorithm how : kHow) {
        std::vector<Question> questions;
        for (const std::uint64_t bytes : sizes) {
            questions.push_back({.algorithm = how, .domains = domains_of(cluster), .bytes = bytes});
        }
        add_evidence(result, questions);
    }
    add_assumptions(result, request.model);
    return result;
}

namespace {

/// Returns whether some rail of a cluster has NICs at several leaf switches, so that traffic
/// between nodes crosses the switches above.
bool crosses_leaves(const Cluster& cluster) {
    const auto fabric = modelled_plane(cluster);
    if (!fabric) {
        return false;
    }
    for (const topo::Host& host : fabric->hosts) {
        for (std::size_t rail = 0; rail < host.hcas.size(); ++rail) {
            const auto leaf_of = [&](const topo::Host& of) {
                return fabric->node(of.hcas[rail]).ports[1].peer;
            };
            if (leaf_of(host) != leaf_of(fabric->hosts.front())) {
                return true;
            }
        }
    }
    return false;
}

/// Returns whether a leaf switch has fewer cables up without the first switch above than NICs that
/// send to another leaf while every node sends to the one half of all nodes on.
bool feels_a_loss(const Cluster& cluster) {
    const auto fabric = modelled_plane(cluster);
    if (!fabric) {
        return false;
    }
    const std::vector<topo::Host>& hosts = fabric->hosts;
    const auto is_spine = [&](topo::NodeIndex node) {
        return node != topo::kNoNode && fabric->node(node).kind == topo::NodeKind::kSwitch;
    };
    std::optional<topo::NodeIndex> lost;
    std::map<topo::NodeIndex, int> spare;  // Cables up that are left, less NICs that need one.
    for (std::size_t h = 0; h < hosts.size(); ++h) {
        const topo::Host& peer = hosts[(h + hosts.size() / 2) % hosts.size()];
        for (std::size_t rail = 0; rail < hosts[h].hcas.size(); ++rail) {
            const topo::NodeIndex leaf = fabric->node(hosts[h].hcas[rail]).ports[1].peer;
            const auto [found, added] = spare.try_emplace(leaf, 0);
            for (const topo::PortLink& link : fabric->node(leaf).ports) {
                if (added && is_spine(link.peer)) {
                    lost = lost.value_or(link.peer);
                    found->second += link.peer != *lost ? 1 : 0;
                }
            }
            found->second -= fabric->node(peer.hcas[rail]).ports[1].peer != leaf ? 1 : 0;
        }
    }
    return lost && std::ranges::any_of(spare, [](const auto& leaf) { return leaf.second < 0; });
}

/// Returns a number of nodes, more than the cluster has and if possible the least, at which the
/// loss of a switch above the leaves slows traffic down; 0 if none was found.
std::uint32_t least_nodes_that_feel_a_loss(const Cluster& cluster) {
    constexpr std::uint32_t kNodesMost = 2048;
    constexpr std::uint32_t kStep = 64;  // From here on, sizes are tried in larger steps.
    for (std::uint32_t nodes = cluster.nodes() + 1; nodes <= kNodesMost;
         nodes += nodes < cluster.nodes() + kStep ? 1 : kStep) {
        const Cluster larger = with_nodes(cluster, nodes);
        if (!find_cut_domain(larger) && feels_a_loss(larger)) {
            return nodes;
        }
    }
    return 0;
}

/// Returns what to do where the loss of a switch above the leaves has no effect.
std::string how_to_feel_a_loss(const Cluster& cluster) {
    const std::uint32_t least = least_nodes_that_feel_a_loss(cluster);
    return least == 0 ? "take a cluster with a tree, as hgx-h200:64"
                      : fmt::format("take at least --nodes {}", least);
}

/// Returns why no failure above the leaf switches can have an effect; std::nullopt if one can.
std::optional<std::string> find_no_spine(const CompareRequest& request) {
    const Cluster& cluster = request.cluster;
    const auto fabric = modelled_plane(cluster);
    if (!fabric || crosses_leaves(cluster)) {
        const bool any = fabric && std::ranges::any_of(fabric->nodes, [](const topo::Node& node) {
                             return node.kind == topo::NodeKind::kSwitch && node.level == 1;
                         });
        return !fabric || any ? std::nullopt
                              : std::optional(fmt::format(
                                    "the fabric of {} ({}) has no switches above its leaves that "
                                    "could fail; take a cluster with a tree, as hgx-h200:64",
                                    cluster.name, topo::to_string(cluster.fabric.spec.shape)));
    }
    return fmt::format(
        "the {} nodes of {} meet at leaf switches, rail by rail, so that no switch above them "
        "carries anything; {}",
        cluster.nodes(), cluster.name, how_to_feel_a_loss(cluster));
}

/// Returns why leaf switches of the cluster cannot have fewer cables up; std::nullopt if they can.
std::optional<std::string> find_no_taper(const CompareRequest& request) {
    const auto fabric = modelled_plane(with_taper(request.cluster, 2));
    return fabric ? std::nullopt : std::optional(fabric.error().message);
}

std::optional<std::string> find_no_sharp(const CompareRequest& request) {
    const Cluster& cluster = request.cluster;
    if (cluster.fabric.link_layer == LinkLayer::kRoce) {
        return fmt::format(
            "the switches of {} are Ethernet's, which do not aggregate: take a "
            "cluster with InfiniBand, as superpod-h100:2",
            cluster.name);
    }
    return std::nullopt;
}

std::optional<std::string> find_no_pair(const CompareRequest& request) {
    const Cluster& cluster = request.cluster;
    return cluster.nodes() < 2 ? std::optional(
                                     "a KV cache goes from one node to another: take "
                                     "--nodes 2 or more")
                               : find_cut_domain(cluster);
}

}  // namespace

Comparison compare_failed_spine(const CompareRequest& request) {
    std::vector<Variant> variants{{"none", request.cluster}};
    const auto fabric = modelled_plane(request.cluster);
    std::vector<net::Failure> failures;
    for (std::uint32_t i = 0; fabric && i < fabric->nodes.size() && failures.size() < 2; ++i) {
        const topo::Node& node = fabric->nodes[i];
        if (node.kind == topo::NodeKind::kSwitch && node.level == 1) {
            failures.push_back({.what = {.node = i, .port = 0}, .at = 0});
            variants.push_back(
                {failures.size() == 1 ? node.name : variants.back().name + ", " + node.name,
                 request.cluster, failures});
        }
    }
    Comparison result =
        compare_variants("Switches above the leaves that have failed", "failed", variants, request);
    if (!feels_a_loss(request.cluster)) {
        result.notes.push_back(
            fmt::format("while half of the {} nodes send to the other half, the switches that are "
                        "left carry it all; to see a loss, {}",
                        request.cluster.nodes(), how_to_feel_a_loss(request.cluster)));
    }
    return result;
}

std::expected<Comparison, std::string> compare(std::string_view what,
                                               const CompareRequest& request) {
    struct Known {
        std::string_view name;
        Comparison (*make)(const CompareRequest&);
        /// Returns why the rows could not differ; nullptr: they can.
        std::optional<std::string> (*refuse)(const CompareRequest&) = nullptr;
    };
    constexpr Known kAll[] = {{"oversubscription", compare_oversubscription, find_no_taper},
                              {"topology", compare_topology},
                              {"generation", compare_generation},
                              {"link-layer", compare_link_layer},
                              {"sharp", compare_sharp, find_no_sharp},
                              {"failed-spine", compare_failed_spine, find_no_spine},
                              {"kv-cache", compare_kv_cache, find_no_pair},
                              {"planes", compare_planes}};
    std::vector<std::string_view> names;
    for (const Known& known : kAll) {
        if (known.name == what) {
            if (auto why = known.refuse != nullptr ? known.refuse(request) : std::nullopt) {
                return std::unexpected(*std::move(why));
            }
            Comparison made = known.make(request);
            if (std::ranges::all_of(made.rows, &std::vector<double>::empty,
                                    &ComparisonRow::values)) {
                return std::unexpected(made.rows.front().note);
            }
            if (what != "generation") {  // Its rows have PCIe that is fast enough.
                std::ranges::copy(notes_of(request.cluster), std::back_inserter(made.notes));
            }
            return made;
        }
        names.push_back(known.name);
    }
    return std::unexpected(unknown_name("comparison", what, names));
}

}  // namespace softib::plan
