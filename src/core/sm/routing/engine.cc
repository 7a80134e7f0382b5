// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/routing/engine.h"

#include <algorithm>
#include <array>

namespace softib::sm::routing {

namespace {

constexpr std::array kEngines{
    Engine{"minhop", "shortest paths, least used port; may have credit loops", route_with_minhop},
    Engine{"updn", "up then down from the roots; trees and anything near one", route_with_updn},
    Engine{"ftree", "fat trees: no contention for shift permutations", route_with_ftree},
    Engine{"dor", "tori and meshes: dimension by dimension, 2 VLs", route_with_dor},
    Engine{"dragonfly", "dragonflies: local, global, local, 2 VLs", route_with_dragonfly},
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

}  // namespace softib::sm::routing
