// SPDX-License-Identifier: BSD-2-Clause
// The choice of an engine. Tori and dragonflies have engines that know their shape, and regular fat
// trees one that lets as few flows of a shift meet as can be. On other graphs, such as damaged
// trees or trees that have grown, no rule says which engine is the best, so several are tried, and
// what counts is the number of flows that meet on the busiest link.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/routing/balance.h"
#include "core/routing/engine.h"
#include "core/routing/hop_sets.h"
#include "core/routing/layers.h"
#include "core/routing/permutations.h"
#include "core/routing/sssp.h"
#include "core/routing/tree.h"
#include "core/routing/verifier.h"

namespace softib::routing {

namespace {

constexpr std::uint8_t kJoinedVls = 3;
constexpr std::uint32_t kNueSwitchesMax = 800;

/// Tries engines and keeps the best tables.
class Trial {
  public:
    Trial(const Graph& graph, const Options& options)
        : graph_(graph), options_(options), ports_(graph) {}

    /// Returns the flows on the busiest link, on average over all shifts and random permutations.
    double contention(const Tables& tables) const {
        Permutations permutations(graph_, tables, ports_);
        return permutations.shifts({}).mean + permutations.randoms({.random_samples = 32}).mean;
    }

    void add(const std::expected<Tables, Error>& tables) {
        if (!tables || (options_.adaptive && best_ && tables->groups.empty())) {
            return;
        }
        const double flows = contention(*tables);
        if ((!best_ || flows < least_) && verify(graph_, *tables, kSoundness).good()) {
            best_ = *tables;
            least_ = flows;
        }
    }

    /// Adds tables as they are, and again when their ports are balanced.
    void add_balanced(std::expected<Tables, Error> tables) {
        add(tables);
        if (tables && balance(graph_, tables->groups, tables->lfts) != 0) {
            tables->engine += ", balanced";
            add(tables);
        }
    }

    /// Adds shortest paths, balanced, on at most `vls_max` lanes.
    void add_layers(std::uint8_t vls_max) {
        const Neighbours neighbours(graph_);
        Tables tables{.engine = "dfsssp, balanced", .lfts = route_by_weights(graph_)};
        balance(graph_, shortest_hops(graph_, neighbours).port_groups(graph_, neighbours),
                tables.lfts);
        if (break_cycles(graph_, vls_max, tables)) {
            add(std::move(tables));
        }
    }

    std::optional<Tables> best() { return std::move(best_); }

  private:
    const Graph& graph_;
    const Options& options_;
    PortMap ports_;
    std::optional<Tables> best_;
    double least_ = 0;
};

bool is_regular_tree(const Graph& graph, const Options& options) {
    const Neighbours neighbours(graph);
    const auto roots = find_switches(graph, options.roots);
    const auto levels = roots ? find_levels(graph, neighbours, *roots) : std::nullopt;
    return levels && is_regular(graph, neighbours, *levels);
}

}  // namespace

std::expected<Tables, Error> route_auto(const Graph& graph, const Options& options) {
    Trial trial(graph, options);
    auto tree = route_with_ftree(graph, options);
    if (tree) {
        if (!may_balance(graph) || is_regular_tree(graph, options)) {
            return tree;
        }
        trial.add_balanced(std::move(tree));
        trial.add_balanced(route_with_updn(graph, options));
        trial.add_layers(1);
        return *trial.best();
    }
    // These engines refuse a graph that does not have their shape.
    for (const auto route : {route_with_dor, route_with_dragonfly}) {
        if (auto tables = route(graph, options)) {
            return tables;
        }
    }
    // For trees that are joined at their tops, up-down routes are the shortest. Nue is slow if
    // there are many switches.
    const bool joined = options.usable_vls() >= kJoinedVls && find_joined_trees(graph).has_value();
    if (joined || graph.switch_count() > kNueSwitchesMax) {
        return route_with_updn(graph, options);
    }
    if (!may_balance(graph)) {
        return route_with_nue(graph, options);
    }
    trial.add(route_with_nue(graph, options));
    trial.add_balanced(route_with_updn(graph, options));
    trial.add_layers(options.usable_vls());
    return *trial.best();
}

}  // namespace softib::routing
