// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/engine.h"

#include <algorithm>
#include <array>

#include "core/routing/tree.h"

namespace softib::routing {

namespace {

constexpr std::array kEngines{
    Engine{"auto", "what suits the fabric's shape: ftree, dor, dragonfly, updn or nue",
           route_by_shape},
    Engine{"minhop", "shortest paths, least used port; may have credit loops", route_with_minhop},
    Engine{"updn", "up then down from the roots; trees and anything near one", route_with_updn},
    Engine{"ftree", "fat trees: no contention for shift permutations", route_with_ftree},
    Engine{"dor", "tori and meshes: dimension by dimension, 2 VLs", route_with_dor},
    Engine{"dragonfly", "dragonflies: local, global, local, 2 VLs", route_with_dragonfly},
    Engine{"nue", "any topology with any number of VLs, no credit loops", route_with_nue},
};

}  // namespace

std::expected<Tables, Error> route_by_shape(const Graph& graph, const Options& options) {
    // These engines refuse a graph that does not have their shape.
    for (const auto route : {route_with_ftree, route_with_dor, route_with_dragonfly}) {
        if (auto tables = route(graph, options)) {
            return tables;
        }
    }
    // For trees that are joined at their tops, up-down routes are the shortest. For all other
    // graphs nue is the best, but slow if there are many switches.
    constexpr std::uint8_t kJoinedVls = 3;
    constexpr std::uint32_t kSwitchesMax = 800;
    const bool joined = options.usable_vls() >= kJoinedVls && find_joined_trees(graph).has_value();
    return joined || graph.switch_count() > kSwitchesMax ? route_with_updn(graph, options)
                                                         : route_with_nue(graph, options);
}

std::vector<std::uint8_t> Options::sls() const {
    std::vector<std::uint8_t> result;
    for (std::uint8_t vl = 0; vl < usable_vls(); ++vl) {
        result.push_back(vl);
    }
    return result;
}

std::span<const Engine> engines() {
    return kEngines;
}

const Engine* find_engine(std::string_view name) {
    const auto found = std::ranges::find(kEngines, name, &Engine::name);
    return found == kEngines.end() ? nullptr : &*found;
}

}  // namespace softib::routing
