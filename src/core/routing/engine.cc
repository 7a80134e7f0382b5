// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/engine.h"

#include <algorithm>
#include <array>

namespace softib::routing {

namespace {

constexpr std::array kEngines{
    Engine{"auto", "what suits the fabric's shape, or lets the fewest flows meet", route_auto},
    Engine{"minhop", "shortest paths, least used port; may have credit loops", route_with_minhop},
    Engine{"updn", "up then down from the roots; trees and anything near one", route_with_updn},
    Engine{"ftree", "fat trees: no contention for shift permutations", route_with_ftree},
    Engine{"dor", "tori and meshes: dimension by dimension, 2 VLs", route_with_dor},
    Engine{"torus-2QoS", "dor with two levels of quality of service, 4 VLs", route_with_torus_2qos},
    Engine{"dragonfly", "dragonflies: local, global, local, 2 VLs", route_with_dragonfly},
    Engine{"dfsssp", "any topology: shortest paths by weight, on as many VLs as needed",
           route_with_dfsssp},
    Engine{"lash", "any topology: one shortest path for each pair, on as many VLs as needed",
           route_with_lash},
    Engine{"nue", "any topology with any number of VLs, no credit loops", route_with_nue},
};

}  // namespace

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
